/**
 * Requests through a relay (oblivious HTTP: RFC 9458, RFC 9292): the relay sees the sender and not the
 * request; the server's gateway sees the request and not the sender.
 */

import { expand, extract } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { Aes128Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from "@hpke/core";

import { type Bytes, bigEndian, concat, FieldError, fromBase64, toNumber, utf8 } from "./bytes.ts";
import { signatureHolds } from "./ed25519.ts";
import { type RandomSource, systemRandom } from "./random.ts";

export const OHTTP_KEYS_TYPE = "application/ohttp-keys";
export const OHTTP_REQUEST_TYPE = "message/ohttp-req";
export const OHTTP_RESPONSE_TYPE = "message/ohttp-res";
/** Header of the answer with a gateway's keys: the server's signature of them, in base64. */
export const KEY_SIGNATURE_HEADER = "Panapp-Key-Signature";

/** Lengths of padded requests, so that all requests of a recipe have one length. */
const CLASSES = [1024, 4 * 1024, 32 * 1024];
const [KEM, KDF, AEAD] = [0x20, 1, 1] as const;
const KEY_BYTES = 16;
const NONCE_BYTES = 12;
const EPHEMERAL_BYTES = 32;
const HEADER_BYTES = 7;
export const SECRET_BYTES = KEY_BYTES;
/** Bytes of a capsule beyond the padded request in it: header, encapsulated key, tag. */
const OVERHEAD_BYTES = HEADER_BYTES + EPHEMERAL_BYTES + 16;
/** Of the shortest capsules. */
export const LEAST_CAPSULE_BYTES = CLASSES[0]! + OVERHEAD_BYTES;
const [REQUEST, RESPONSE] = [0, 1] as const;

/** A gateway's key. */
export interface GatewayKey {
  readonly id: number;
  readonly publicKey: Bytes;
}

/** A request as the server behind the gateway gets it. Names of headers in lower case. */
export interface InnerRequest {
  readonly method: string;
  /** Host of the server, with its port if it is not the usual one. */
  readonly authority: string;
  /** With its query. */
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly content: Bytes;
}

/** The server's answer. */
export interface InnerResponse {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly content: Bytes;
}

/** A sealed request, and what opens the one answer to it. */
export interface Capsule {
  readonly body: Bytes;
  /** The secret that opens the answer later (`openAnswer`): 16 bytes. */
  readonly secret: Bytes;
  /** @throws CapsuleError the answer was altered, or answers another request. */
  open(answer: Bytes): Promise<InnerResponse>;
}

/** Keys that are not the server's, or an answer that does not open. */
export class CapsuleError extends Error {
  override name = "CapsuleError";
}

/**
 * The gateway's key that this client seals to.
 *
 * @param encoded the body of `application/ohttp-keys`, perhaps fetched through the relay.
 * @param signature the header `KEY_SIGNATURE_HEADER`.
 * @param verificationKey the server's Ed25519 key, pinned beforehand, 32 bytes.
 * @throws CapsuleError the keys are not signed by this server, or none can be used.
 */
export function readGatewayKeys(encoded: Bytes, signature: string, verificationKey: Bytes): GatewayKey {
  let signed: Bytes;
  try {
    signed = fromBase64("signature", signature, 64);
  } catch {
    throw new CapsuleError("the gateway's keys are not signed");
  }
  const message = concat(utf8("panapp-ohttp-keys-1\n"), encoded);
  if (!signatureHolds(verificationKey, signed, message)) {
    throw new CapsuleError("the gateway's keys are not signed by the server");
  }
  const list = new Reader(encoded);
  while (list.remaining > 0) {
    const config = new Reader(list.take(list.uint(2)));
    const id = config.uint(1);
    if (config.uint(2) !== KEM) {
      continue;
    }
    const publicKey = config.take(32);
    const algorithms = new Reader(config.take(config.uint(2)));
    while (algorithms.remaining > 0) {
      const [kdf, aead] = [algorithms.uint(2), algorithms.uint(2)];
      if (kdf === KDF && aead === AEAD) {
        return { id, publicKey };
      }
    }
  }
  throw new CapsuleError("the gateway's keys cannot be used");
}

/**
 * Seal a request to a gateway. Every attempt is sealed anew, so that the relay cannot distinguish it from
 * another request.
 *
 * @param atLeast bytes without padding, if the requests of a recipe have several lengths. @param random the
 * browser's generator by default; given bytes in tests only, because they open the capsule. @throws
 * FieldError the request is longer than any that a gateway takes.
 */
export async function sealRequest(
  key: GatewayKey,
  request: InnerRequest,
  { atLeast = 0, random = systemRandom }: { atLeast?: number; random?: RandomSource } = {},
): Promise<Capsule> {
  const header = concat(bigEndian(key.id, 1), bigEndian(KEM, 2), bigEndian(KDF, 2), bigEndian(AEAD, 2));
  const suite = new CipherSuite({
    kem: new DhkemX25519HkdfSha256(),
    kdf: new HkdfSha256(),
    aead: new Aes128Gcm(),
  });
  const sender = await suite.createSenderContext({
    recipientPublicKey: await suite.kem.deserializePublicKey(key.publicKey.slice().buffer),
    info: concat(utf8("message/bhttp request\0"), header).buffer,
    ekm: random.bytes(EPHEMERAL_BYTES).buffer,
  });
  const sealed = new Uint8Array(await sender.seal(padded(encodeRequest(request), atLeast).buffer));
  const enc = new Uint8Array(sender.enc);
  const secret = new Uint8Array(await sender.export(utf8("message/bhttp response").buffer, KEY_BYTES));
  const body = concat(header, enc, sealed);
  return { body, secret, open: (answer) => openAnswer(body, secret, answer) };
}

/**
 * The answer to a capsule that is already sealed, perhaps by a page that was reloaded since.
 *
 * @throws CapsuleError the answer was altered, or answers another request.
 */
export async function openAnswer(body: Bytes, secret: Bytes, answer: Bytes): Promise<InnerResponse> {
  const enc = body.slice(HEADER_BYTES, HEADER_BYTES + EPHEMERAL_BYTES);
  return decodeResponse(await opened(answer, enc, secret));
}

/** RFC 9458, section 4.4. */
async function opened(answer: Bytes, enc: Bytes, secret: Bytes): Promise<Bytes> {
  const extracted = extract(sha256, secret, concat(enc, answer.slice(0, KEY_BYTES)));
  const key = concat(expand(sha256, extracted, utf8("key"), KEY_BYTES));
  const iv = concat(expand(sha256, extracted, utf8("nonce"), NONCE_BYTES));
  const imported = await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["decrypt"]);
  try {
    const content = await crypto.subtle.decrypt({ name: "AES-GCM", iv }, imported, answer.slice(KEY_BYTES));
    return new Uint8Array(content);
  } catch {
    throw new CapsuleError("the answer does not open");
  }
}

function padded(message: Bytes, atLeast: number): Bytes {
  const length = CLASSES.find((bytes) => bytes >= Math.max(message.length, atLeast));
  if (length === undefined) {
    throw new FieldError("request", `must have at most ${CLASSES.at(-1)} bytes`);
  }
  return concat(message, new Uint8Array(length - message.length));
}

/** With a known length (RFC 9292, section 3.1). */
function encodeRequest({ method, authority, path, headers, content }: InnerRequest): Bytes {
  const control = [method, "https", authority, path].map((part) => sized(utf8(part)));
  const fields = headers.flatMap(([name, value]) => [sized(utf8(name)), sized(utf8(value))]);
  return concat(variable(REQUEST), ...control, sized(concat(...fields)), sized(content), variable(0));
}

function decodeResponse(encoded: Bytes): InnerResponse {
  const reader = new Reader(encoded);
  if (reader.variable() !== RESPONSE) {
    throw new CapsuleError("the gateway's answer is none of a known length");
  }
  const status = reader.variable();
  if (status < 200 || status > 599) {
    throw new CapsuleError(`the gateway's answer has the status ${status}`);
  }
  const fields = new Reader(reader.take(reader.variable()));
  const headers: [string, string][] = [];
  const latin = (bytes: Bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  while (fields.remaining > 0) {
    headers.push([latin(fields.take(fields.variable())), latin(fields.take(fields.variable()))]);
  }
  return { status, headers, content: reader.take(reader.variable()) };
}

function sized(content: Bytes): Bytes {
  return concat(variable(content.length), content);
}

/** A number of one, two or four bytes (RFC 9000, section 16). */
function variable(value: number): Bytes {
  const exponent = [6, 14, 30].findIndex((bits) => value < 2 ** bits);
  const width = 2 ** exponent;
  return bigEndian((BigInt(exponent) << BigInt(8 * width - 2)) | BigInt(value), width);
}

/** A position in bytes. CapsuleError if they are cut short. */
class Reader {
  #at = 0;

  constructor(private readonly content: Bytes) {}

  get remaining(): number {
    return this.content.length - this.#at;
  }

  take(length: number): Bytes {
    if (length > this.remaining) {
      throw new CapsuleError("a message is cut short");
    }
    this.#at += length;
    return this.content.slice(this.#at - length, this.#at);
  }

  uint(width: number): number {
    return Number(toNumber(this.take(width)));
  }

  variable(): number {
    const first = this.uint(1);
    const rest = 2 ** (first >> 6) - 1;
    return (first & 0x3f) * 256 ** rest + this.uint(rest);
  }
}
