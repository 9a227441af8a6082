/**
 * What a browser remembers of public logs, over all recipes: the newest checkpoint of each, and one that
 * contradicts it. A site could else show a log of its own with each recipe.
 */

import { type Bytes, equal } from "./bytes.ts";
import { type Checkpoint, type Logged, parseCheckpoint } from "./log.ts";
import { LogError, parseNote, treeHash } from "./signed_note.ts";
import { GoneError, powerBelow, Tiles } from "./tiles.ts";
import type { Way } from "./way.ts";

/** Notes, in the form that servers sent. */
export interface Remembered {
  readonly newest: string;
  readonly against?: string;
}

/** If that is kept. */
export interface LogMemory {
  /** Replace the stored notes of a log by what `change` returns, under a lock. */
  update(
    origin: string,
    change: (known: Remembered | undefined) => Promise<Remembered>,
  ): Promise<Remembered>;
}

/**
 * Check that a log continues its known checkpoint, and remember the larger of both.
 *
 * @param way to the site whose log has the larger checkpoint. @throws LogError the log contradicts itself;
 * both checkpoints are kept, and the log is refused from then on. @throws NoAnswerError the hashes that show
 * it cannot be fetched.
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

/** Whether the tree of one checkpoint begins with that of another, by hashes that the site serves. */
async function begins(older: Checkpoint, newer: Checkpoint, way: Way, grown: boolean): Promise<boolean> {
  const [old, size] = [Number(older.size), Number(newer.size)];
  if (!Number.isSafeInteger(size)) {
    throw new LogError(`the log ${newer.origin} is larger than any that this client reads`);
  }
  try {
    return continues(older, newer, await consistencyProof(new Tiles(way, size), old));
  } catch (error) {
    // A smaller checkpoint, of a site that lost what it had shown.
    if (error instanceof GoneError && !grown) {
      return false;
    }
    throw error;
  }
}

/** RFC 6962, section 2.1.2. Empty if `old` is 0, or as large as the tree. */
async function consistencyProof(tiles: Tiles, old: number): Promise<Bytes[]> {
  if (old === 0 || old === tiles.size) {
    return [];
  }
  const path: Bytes[] = [];
  let [start, end, known] = [0, tiles.size, true];
  while (old !== end) {
    const middle = start + powerBelow(end - start);
    if (old <= middle) {
      path.push(await tiles.range(middle, end));
      end = middle;
    } else {
      path.push(await tiles.range(start, middle));
      [start, known] = [middle, false];
    }
  }
  if (!known) {
    path.push(await tiles.range(start, end));
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
