/** A recipe's place in the site's public log (C2SP, tlog-proof, tlog-checkpoint, tlog-policy). */

import { sha256 } from "@noble/hashes/sha2.js";

import { type Bytes, concat, equal, fromBase64, toHex, utf8 } from "./bytes.ts";
import { canonicalJson } from "./document.ts";
import { signatureHolds } from "./ed25519.ts";
import type { ServedRecipe } from "./recipe.ts";
import {
  base64Of,
  cosignedAt,
  LogError,
  parseNote,
  parseNumber,
  parseVerifierKey,
  requireSigned,
  TooFewWitnessesError,
  treeHash,
  type VerifierKey,
} from "./signed_note.ts";

const FIRST_LINE = "c2sp.org/tlog-proof@v1";
const MOST_PROOF_HASHES = 63;
const HASH_BYTES = 32;
const LONGEST_POLICY = 64 * 1024;
const NOBODY = "none";
/** How far a witness's clock may be ahead of the device's, in seconds. */
const EARLY = 86_400;

interface Group {
  readonly threshold: number;
  readonly members: readonly string[];
}

/** The trusted logs and witnesses, and how many of these must have signed. */
export interface Policy {
  readonly logs: readonly VerifierKey[];
  readonly witnesses: ReadonlyMap<string, VerifierKey>;
  readonly groups: ReadonlyMap<string, Group>;
  readonly quorum: string;
}

/** The recipe's place in the log, and the witnesses that signed. */
export interface Logged extends Checkpoint {
  readonly index: bigint;
  /** The checkpoint with its signatures. */
  readonly note: string;
  /** Names of the policy's witnesses that have signed. */
  readonly witnesses: readonly string[];
}

/** Read a policy. LogError names the first line that is not as it must be. */
export function parsePolicy(text: string): Policy {
  if (text.length > LONGEST_POLICY) {
    throw new LogError(`a policy must have at most ${LONGEST_POLICY} characters`);
  }
  const logs: VerifierKey[] = [];
  const witnesses = new Map<string, VerifierKey>();
  const groups = new Map<string, Group>();
  const grouped = new Set<string>();
  let quorum: string | undefined;
  const isNew = (name: string) => name !== NOBODY && !witnesses.has(name) && !groups.has(name);

  const read: Record<string, (words: string[]) => boolean> = {
    log([key, ...url]) {
      const read = parseVerifierKey(key ?? "");
      const known = logs.some((other) => equal(other.key, read.key));
      logs.push(read);
      return read.kind === "log" && !known && url.length <= 1;
    },
    witness([name = "", key = "", ...url]) {
      const read = parseVerifierKey(key);
      const known = [...witnesses.values()].some((other) => equal(other.key, read.key));
      const fits = isNew(name) && read.kind === "witness" && !known && url.length <= 1;
      witnesses.set(name, read);
      return fits;
    },
    group([name = "", rule = "", ...members]) {
      const threshold = { any: 1, all: members.length }[rule] ?? Number(rule);
      const fits = isNew(name) && /^(?:any|all|[1-9][0-9]*)$/.test(rule) && threshold <= members.length;
      const free = members.every((member) => !isNew(member) && member !== NOBODY && !grouped.has(member));
      const distinct = new Set(members).size === members.length;
      members.forEach((member) => grouped.add(member));
      groups.set(name, { threshold, members });
      return fits && free && distinct && members.length > 0;
    },
    quorum([name = "", ...others]) {
      const fits = quorum === undefined && others.length === 0 && (name === NOBODY || !isNew(name));
      quorum = name;
      return fits;
    },
  };

  text.split("\n").forEach((line, at) => {
    const [keyword, ...words] = line.split(/[ \t]+/).filter((word) => word !== "");
    if (keyword === undefined || keyword.startsWith("#")) {
      return;
    }
    const place = `line ${at + 1} of the policy`;
    let fits = false;
    try {
      fits = Object.hasOwn(read, keyword) && read[keyword]!(words);
    } catch (error) {
      throw error instanceof LogError ? new LogError(`${place}: ${error.message}`) : error;
    }
    if (!fits) {
      throw new LogError(`${place} is not as it must be`);
    }
  });
  if (quorum === undefined) {
    throw new LogError("a policy must have a line: quorum NAME");
  }
  return { logs, witnesses, groups, quorum };
}

/**
 * Check that a recipe is in a log that the policy accepts. `requireContinues` checks that this log continues
 * what was already seen of it.
 *
 * @param served its identifier and signature are checked here, too.
 * @param proof the answer of `/api/v1/recipes/ID/proof/`.
 * @param now seconds since 1970. A witness's signature of more than a day later does not count.
 * @throws TooFewWitnessesError there may be more later.
 * @throws LogError anything else that does not hold.
 */
export function requireLogged(served: ServedRecipe, proof: string, policy: Policy, now: number): Logged {
  const { entry, index, path, note: encoded } = parseProof(proof);
  const note = parseNote(encoded);
  const { origin, size, root } = parseCheckpoint(note.text);
  const keys = policy.logs.filter(({ name }) => name === origin);
  requireSigned(note, keys);

  const signed = new Set<string>();
  for (const [name, key] of policy.witnesses) {
    const time = cosignedAt(note, key);
    if (time !== undefined && time <= BigInt(Math.trunc(now) + EARLY)) {
      signed.add(name);
    }
  }
  if (policy.quorum !== NOBODY && !hasSigned(policy, policy.quorum, signed)) {
    const known = [...signed].join(", ") || NOBODY;
    throw new TooFewWitnessesError(`the quorum is not reached; witnesses that signed: ${known}`);
  }
  requireIncluded(treeHash("leaf", entry), index, size, path, root);
  requireEntryOf(served, entry);
  requireSite(served, keys);
  return { origin, index, size, root, note: encoded, witnesses: [...signed] };
}

function hasSigned(policy: Policy, name: string, signed: ReadonlySet<string>): boolean {
  const group = policy.groups.get(name);
  if (group === undefined) {
    return signed.has(name);
  }
  return group.members.filter((member) => hasSigned(policy, member, signed)).length >= group.threshold;
}

/** The entry states that exactly this recipe was published. */
function requireEntryOf(served: ServedRecipe, entry: Bytes): void {
  let members: Record<string, unknown>;
  try {
    members = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(entry));
  } catch {
    throw new LogError("the entry in the proof is not a JSON object");
  }
  // In its one form no field occurs twice, so all readers read the same.
  if (typeof members !== "object" || members === null || !equal(canonicalJson(members), entry)) {
    throw new LogError("the entry in the proof is not canonical JSON");
  }
  if (members.action !== "recipe_published" || members.subject !== served.id) {
    throw new LogError("the proof is of another entry of the log");
  }
}

/** The recipe is signed by a key of the log. */
function requireSite(served: ServedRecipe, keys: readonly VerifierKey[]): void {
  const canonical = canonicalJson(served.document);
  if (toHex(sha256(canonical)) !== served.id) {
    throw new LogError("the identifier is not the SHA-256 of the recipe");
  }
  const message = concat(utf8(`${served.document.format}\n`), canonical);
  const signature = fromBase64("signature", served.signature, 64);
  if (!keys.some(({ key }) => signatureHolds(key, signature, message))) {
    throw new LogError("the recipe is not signed by the site of this log");
  }
}

interface Proof {
  readonly entry: Bytes;
  readonly index: bigint;
  readonly path: readonly Bytes[];
  readonly note: string;
}

function parseProof(document: string): Proof {
  const end = document.indexOf("\n\n");
  const [first, ...lines] = document.slice(0, end).split("\n");
  if (end < 0 || first !== FIRST_LINE) {
    throw new LogError(`a proof must begin with ${FIRST_LINE}`);
  }
  const [extra = "", index = "", ...path] = lines;
  if (!extra.startsWith("extra ") || !index.startsWith("index ") || path.length > MOST_PROOF_HASHES) {
    throw new LogError("a proof must have an entry, an index, and hashes");
  }
  return {
    entry: base64Of("the entry in the proof", extra.slice(6)),
    index: parseNumber("a proof's index", index.slice(6)),
    path: path.map((line) => base64Of("a line of a proof", line, HASH_BYTES)),
    note: document.slice(end + 2),
  };
}

/** The content that a log signed: its name, its number of entries, and the hash over them. */
export interface Checkpoint {
  readonly origin: string;
  readonly size: bigint;
  readonly root: Bytes;
}

/** Read the text of a note of a log. */
export function parseCheckpoint(text: string): Checkpoint {
  const lines = text.split("\n").slice(0, -1);
  if (lines.length < 3 || lines.includes("")) {
    throw new LogError("a checkpoint must have a line each for origin, size and root");
  }
  const [origin, size, root] = lines;
  return {
    origin: origin!,
    size: parseNumber("a checkpoint's size", size!),
    root: base64Of("a checkpoint's root", root!, HASH_BYTES),
  };
}

/** RFC 9162, section 2.1.3.2. */
function requireIncluded(
  leaf: Bytes,
  index: bigint,
  size: bigint,
  path: readonly Bytes[],
  root: Bytes,
): void {
  if (index >= size) {
    throw new LogError("the entry lies outside of the tree");
  }
  let [place, last, found] = [index, size - 1n, leaf];
  for (const sibling of path) {
    if (last === 0n) {
      throw new LogError("the proof is too long");
    }
    if ((place & 1n) === 1n || place === last) {
      found = treeHash("node", sibling, found);
      while ((place & 1n) === 0n && place !== 0n) {
        [place, last] = [place >> 1n, last >> 1n];
      }
    } else {
      found = treeHash("node", found, sibling);
    }
    [place, last] = [place >> 1n, last >> 1n];
  }
  if (last !== 0n || !equal(found, root)) {
    throw new LogError("the proof leads to another root");
  }
}
