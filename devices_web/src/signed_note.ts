/** Texts with signatures below (C2SP, signed-note and tlog-cosignature): what logs and witnesses sign. */

import { sha256 } from "@noble/hashes/sha2.js";

import { type Bytes, bigEndian, concat, equal, fromBase64, toHex, toNumber, utf8 } from "./bytes.ts";
import { isPrimeOrder, signatureHolds } from "./ed25519.ts";

const LONGEST_NOTE = 1024 * 1024;
const MOST_SIGNATURES = 100;
const ED25519 = 1;
const COSIGNATURE = 4;
const ID_BYTES = 4;
const TIME_BYTES = 8;
const SIGNATURE_BYTES = 64;

/** Something about the public log that does not hold. */
export class LogError extends Error {
  override name = "LogError";
}

/** A proof with the signatures of too few witnesses; there may be more of them later. */
export class TooFewWitnessesError extends LogError {
  override name = "TooFewWitnessesError";
}

/** A public key with the name of its holder. */
export interface VerifierKey {
  readonly name: string;
  readonly kind: "log" | "witness";
  readonly key: Bytes;
  /** Four bytes that name the key, together with its holder's name. */
  readonly identifier: Bytes;
}

interface Signature {
  readonly name: string;
  readonly identifier: Bytes;
  readonly content: Bytes;
}

/** A text and its signatures, none of them checked. The text ends with a newline. */
export interface Note {
  readonly text: string;
  readonly signatures: readonly Signature[];
}

/** Base64 in its one spelling; LogError with `what` for any other spelling. */
export function base64Of(what: string, text: string, length?: number): Bytes {
  try {
    return fromBase64(what, text, length);
  } catch (error) {
    throw new LogError((error as Error).message);
  }
}

/** A key as one line: `name+identifier+base64`. */
export function parseVerifierKey(text: string): VerifierKey {
  const [name = "", identifier = "", ...rest] = text.split("+");
  const material = base64Of("a verifier key", rest.join("+"));
  const [kind, key] = [material[0], material.slice(1)];
  const expected = sha256(concat(utf8(`${name}\n`), material)).slice(0, ID_BYTES);
  if (name === "" || /[\s\0-\x1f]/.test(name) || key.length !== 32 || toHex(expected) !== identifier) {
    throw new LogError("a verifier key must look like name+identifier+base64");
  }
  if (kind !== ED25519 && kind !== COSIGNATURE) {
    throw new LogError("a verifier key must be of a log (1) or a witness (4)");
  }
  if (!isPrimeOrder(key)) {
    throw new LogError("a verifier key must be an Ed25519 key of prime order, in its one encoding");
  }
  return { name, kind: kind === ED25519 ? "log" : "witness", key, identifier: concat(expected) };
}

/** A note as it travels. */
export function parseNote(encoded: string): Note {
  const end = encoded.lastIndexOf("\n\n");
  if (encoded.length > LONGEST_NOTE || end < 0 || !encoded.endsWith("\n") || end + 2 === encoded.length) {
    throw new LogError("a note must have signatures below an empty line");
  }
  const text = encoded.slice(0, end + 1);
  const lines = encoded.slice(end + 2, -1).split("\n");
  if (lines.length > MOST_SIGNATURES || /[\0-\x09\x0b-\x1f]/.test(text)) {
    throw new LogError("a note must not have control characters, nor too many signatures");
  }
  return { text, signatures: lines.map(parseSignature) };
}

function parseSignature(line: string): Signature {
  const match = /^— ([^\s+]+) ([^ ]+)$/.exec(line);
  if (match === null) {
    throw new LogError("a line below a note must be — name base64");
  }
  const content = base64Of("a signature", match[2]!);
  if (content.length <= ID_BYTES) {
    throw new LogError("a signature must not be empty");
  }
  return { name: match[1]!, identifier: content.slice(0, ID_BYTES), content: content.slice(ID_BYTES) };
}

function signaturesBy(note: Note, key: VerifierKey): Signature[] {
  return note.signatures.filter(
    ({ name, identifier }) => name === key.name && equal(identifier, key.identifier),
  );
}

function verify(key: VerifierKey, signature: Bytes, message: Bytes): void {
  const right = signature.length === SIGNATURE_BYTES;
  if (!right || !signatureHolds(key.key, signature, message)) {
    throw new LogError(`the signature of ${key.name} does not hold`);
  }
}

/** LogError unless one of these logs has signed, and all of their signatures hold. */
export function requireSigned(note: Note, keys: readonly VerifierKey[]): void {
  let checked = 0;
  for (const key of keys) {
    for (const { content } of signaturesBy(note, key)) {
      verify(key, content, utf8(note.text));
      checked++;
    }
  }
  if (checked === 0) {
    throw new LogError("no log that the policy knows has signed the checkpoint");
  }
}

/** When a witness signed, at the latest, in seconds since 1970; undefined if it did not. */
export function cosignedAt(note: Note, key: VerifierKey): bigint | undefined {
  let latest: bigint | undefined;
  for (const { content } of signaturesBy(note, key)) {
    const time = toNumber(content.slice(0, TIME_BYTES));
    if (time < 1n || time >= 1n << 63n) {
      throw new LogError(`the signature of ${key.name} does not hold`);
    }
    const message = utf8(`cosignature/v1\ntime ${time}\n${note.text}`);
    verify(key, content.slice(TIME_BYTES), message);
    latest = latest === undefined || time > latest ? time : latest;
  }
  return latest;
}

/** A number of at most 63 bits, in its one spelling. */
export function parseNumber(what: string, text: string): bigint {
  if (!/^(?:0|[1-9][0-9]{0,18})$/.test(text) || BigInt(text) >= 1n << 63n) {
    throw new LogError(`${what} must be a number below 2^63 without leading zeros`);
  }
  return BigInt(text);
}

/** The hash over two subtrees, or of an entry, of a Merkle tree (RFC 6962, section 2.1). */
export function treeHash(kind: "leaf" | "node", ...parts: readonly Uint8Array[]): Bytes {
  return concat(sha256(concat(bigEndian(kind === "leaf" ? 0 : 1, 1), ...parts)));
}
