/**
 * What a browser remembers of public logs, over all recipes: the newest checkpoint of each, and one that
 * contradicts it. A site could else show a log of its own with each recipe.
 */

import { type Bytes, equal } from "./bytes.ts";
import { type Checkpoint, type Logged, parseCheckpoint } from "./log.ts";
import { LogError, parseNote, treeHash } from "./signed_note.ts";
import { ANY_TYPE, NoAnswerError, type Way } from "./way.ts";

const HASH_BYTES = 32;
/** Hashes in a tile, and by how many levels one tile stands above another. */
const [WIDTH, HEIGHT] = [256, 8] as const;
const NOT_FOUND = 404;

/** Notes, as they came. */
export interface Remembered {
  readonly newest: string;
  readonly against?: string;
}

/** Where that is kept. */
export interface LogMemory {
  /** Keep what `change` makes of what was kept of a log, while nobody else looks. */
  update(
    origin: string,
    change: (known: Remembered | undefined) => Promise<Remembered>,
  ): Promise<Remembered>;
}

/**
 * Check that a log continues what was seen of it, and remember the larger of both.
 *
 * @param way to the site, of whose log the larger checkpoint is.
 * @throws LogError the log contradicts itself; both checkpoints are kept, and it is refused from now on.
 * @throws NoAnswerError the hashes that show it cannot be had now.
 */
export async function requireContinues(logged: Logged, memory: LogMemory, way: Way): Promise<void> {
  const { against } = await memory.update(logged.origin, async (known) => {
    if (known === undefined) {
      return { newest: logged.note };
    }
    if (known.against !== undefined) {
      return known;
    }
    const before = parseCheckpoint(parseNote(known.newest).text);
    const grown = logged.size >= before.size;
    const [older, newer] = grown ? [before, logged] : [logged, before];
    if (!(await begins(older, newer, way, grown))) {
      return { ...known, against: logged.note };
    }
    return logged.size > before.size ? { newest: logged.note } : known;
  });
  if (against !== undefined) {
    throw new LogError(`the log ${logged.origin} contradicts what it showed this browser before`);
  }
}

/** Whether the tree of one checkpoint begins with that of another, by hashes that the site serves now. */
async function begins(older: Checkpoint, newer: Checkpoint, way: Way, grown: boolean): Promise<boolean> {
  const tiles = new Map<string, Promise<Bytes>>();
  const [old, size] = [Number(older.size), Number(newer.size)];
  if (!Number.isSafeInteger(size)) {
    throw new LogError(`the log ${newer.origin} is larger than any that this client reads`);
  }
  const nodes: Nodes = async (level, index) => {
    const [above, within] = [Math.floor(level / HEIGHT), level % HEIGHT];
    const first = index * 2 ** within;
    const number = Math.floor(first / WIDTH);
    const width = Math.min(WIDTH, Math.floor(size / WIDTH ** above) - number * WIDTH);
    const path = `/log/tile/${above}/${numberPath(number)}${width === WIDTH ? "" : `.p/${width}`}`;
    if (!tiles.has(path)) {
      tiles.set(path, tile(way, path, width));
    }
    const place = (first % WIDTH) * HASH_BYTES;
    return subtreeHash((await tiles.get(path)!).slice(place, place + HASH_BYTES * 2 ** within));
  };
  try {
    return continues(older, newer, await consistencyProof(nodes, old, size));
  } catch (error) {
    // A smaller checkpoint, of a site that no longer has what it had shown.
    if (error instanceof GoneError && !grown) {
      return false;
    }
    throw error;
  }
}

/** The site does not have these hashes. */
class GoneError extends NoAnswerError {}

async function tile(way: Way, path: string, width: number): Promise<Bytes> {
  const { status, content } = await way.ask({ path, accept: ANY_TYPE });
  if (status === NOT_FOUND) {
    throw new GoneError("the site does not have the hashes of its log");
  }
  if (status !== 200 || content.length !== width * HASH_BYTES) {
    throw new NoAnswerError(`the hashes of the log are not served: ${status}, ${content.length} bytes`);
  }
  return content;
}

/** A number in groups of three digits, all but the last behind an x: 1234067 is x001/x234/067. */
function numberPath(number: number): string {
  const digits = `${number}`;
  const groups = digits.padStart(3 * Math.ceil(digits.length / 3), "0").match(/.{3}/g)!;
  return groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join("/");
}

/** Hash of a complete subtree: over the entries from index·2^level on, 2^level of them. */
type Nodes = (level: number, index: number) => Promise<Bytes>;

/** Root over 2^n hashes of one level, one after another. */
function subtreeHash(hashes: Bytes): Bytes {
  if (hashes.length === HASH_BYTES) {
    return hashes;
  }
  const half = hashes.length / 2;
  return treeHash("node", subtreeHash(hashes.slice(0, half)), subtreeHash(hashes.slice(half)));
}

function powerBelow(size: number): number {
  let power = 1;
  while (2 * power < size) {
    power *= 2;
  }
  return power;
}

async function rangeHash(nodes: Nodes, start: number, end: number): Promise<Bytes> {
  const size = end - start;
  const power = powerBelow(size);
  if (size === 1 || size === 2 * power) {
    return nodes(Math.round(Math.log2(size)), start / size);
  }
  const left = await rangeHash(nodes, start, start + power);
  return treeHash("node", left, await rangeHash(nodes, start + power, end));
}

/** RFC 6962, section 2.1.2. Empty where `old` is 0 or `size`. */
async function consistencyProof(nodes: Nodes, old: number, size: number): Promise<Bytes[]> {
  if (old === 0 || old === size) {
    return [];
  }
  const path: Bytes[] = [];
  let [start, end, known] = [0, size, true];
  while (old !== end) {
    const middle = start + powerBelow(end - start);
    if (old <= middle) {
      path.push(await rangeHash(nodes, middle, end));
      end = middle;
    } else {
      path.push(await rangeHash(nodes, start, middle));
      [start, known] = [middle, false];
    }
  }
  if (!known) {
    path.push(await rangeHash(nodes, start, end));
  }
  return path.reverse();
}

/** Whether one tree begins with another (RFC 9162, section 2.1.4.2). Every tree begins with the empty one. */
function continues(older: Checkpoint, newer: Checkpoint, proof: readonly Bytes[]): boolean {
  if (older.size === 0n) {
    return true;
  }
  if (older.size === newer.size) {
    return equal(older.root, newer.root);
  }
  // A whole subtree is known by its hash already: the proof leaves it out.
  const whole = (older.size & (older.size - 1n)) === 0n;
  const [first, ...others] = whole ? [older.root, ...proof] : proof;
  let [place, last] = [older.size - 1n, newer.size - 1n];
  while ((place & 1n) === 1n) {
    [place, last] = [place >> 1n, last >> 1n];
  }
  let [oldFound, newFound] = [first!, first!];
  for (const sibling of others) {
    if ((place & 1n) === 1n || place === last) {
      [oldFound, newFound] = [treeHash("node", sibling, oldFound), treeHash("node", sibling, newFound)];
      while ((place & 1n) === 0n && place !== 0n) {
        [place, last] = [place >> 1n, last >> 1n];
      }
    } else {
      newFound = treeHash("node", newFound, sibling);
    }
    [place, last] = [place >> 1n, last >> 1n];
  }
  return equal(oldFound, older.root) && equal(newFound, newer.root);
}
