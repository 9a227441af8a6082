/**
 * The public log's hashes and entries, in the form that its site serves (C2SP, tlog-tiles; RFC 6962, section
 * 2.1).
 */

import { sha256 } from "@noble/hashes/sha2.js";

import { type Bytes, concat } from "./bytes.ts";
import { treeHash } from "./signed_note.ts";
import { ANY_TYPE, NoAnswerError, type Way } from "./way.ts";

export const HASH_BYTES = 32;
/** Hashes in a tile, and the levels between one tile and the next one above. */
export const [WIDTH, HEIGHT] = [256, 8] as const;
/** A bundle has 256 entries of up to 64 KiB. */
const BUNDLE_BYTES = WIDTH * 64 * 1024;
const LENGTH_BYTES = 2;
const NOT_FOUND = 404;

/** The site does not have these hashes. */
export class GoneError extends NoAnswerError {}

/** The largest power of two below a number. */
export function powerBelow(size: number): number {
  let power = 1;
  while (2 * power < size) {
    power *= 2;
  }
  return power;
}

/** The hashes of a tile, in order. */
export function hashesIn(tile: Bytes): Bytes[] {
  return Array.from({ length: tile.length / HASH_BYTES }, (_, at) =>
    tile.slice(at * HASH_BYTES, (at + 1) * HASH_BYTES),
  );
}

/** Root over hashes: of neighbours, level by level; one without a neighbour goes up unchanged. */
export function rootOf(hashes: readonly Bytes[]): Bytes {
  if (hashes.length === 0) {
    return concat(sha256(new Uint8Array(0)));
  }
  let level = hashes;
  while (level.length > 1) {
    level = Array.from({ length: Math.ceil(level.length / 2) }, (_, at) => {
      const [left, right] = [level[2 * at]!, level[2 * at + 1]];
      return right === undefined ? left : treeHash("node", left, right);
    });
  }
  return level[0]!;
}

/** The tree of the first `size` entries. */
export class Tiles {
  readonly #kept = new Map<string, Promise<Bytes>>();

  constructor(
    readonly way: Way,
    readonly size: number,
  ) {}

  /** Hashes of a tile. @throws NoAnswerError; GoneError if the site has no such tile. */
  async tile(level: number, index: number): Promise<Bytes> {
    const content = await this.#content(`${level}`, level, index);
    if (content.length !== this.#width(level, index) * HASH_BYTES) {
      throw new NoAnswerError("a tile of the log does not have its length");
    }
    return content;
  }

  /** The entries of a bundle. @throws NoAnswerError */
  async bundle(index: number): Promise<Bytes[]> {
    const content = await this.#content("entries", 0, index);
    const found: Bytes[] = [];
    let at = 0;
    while (at + LENGTH_BYTES <= content.length) {
      const end = at + LENGTH_BYTES + content[at]! * 256 + content[at + 1]!;
      found.push(content.slice(at + LENGTH_BYTES, end));
      at = end;
    }
    if (at !== content.length || found.length !== this.#width(0, index)) {
      throw new NoAnswerError("a bundle of entries is malformed");
    }
    return found;
  }

  /** Hash of a complete subtree: over the entries from index·2^level on, 2^level of them. */
  async node(level: number, index: number): Promise<Bytes> {
    const [above, within] = [Math.floor(level / HEIGHT), level % HEIGHT];
    const first = index * 2 ** within;
    const tile = await this.kept(above, Math.floor(first / WIDTH));
    const place = (first % WIDTH) * HASH_BYTES;
    return rootOf(hashesIn(tile.slice(place, place + HASH_BYTES * 2 ** within)));
  }

  /** Hash over the entries from `start` on, without the one at `end` and later ones. */
  async range(start: number, end: number): Promise<Bytes> {
    const size = end - start;
    const power = powerBelow(size);
    if (size === 1 || size === 2 * power) {
      return this.node(Math.round(Math.log2(size)), start / size);
    }
    return treeHash("node", await this.range(start, start + power), await this.range(start + power, end));
  }

  /** As `tile`, fetched once. */
  kept(level: number, index: number): Promise<Bytes> {
    const name = `${level}/${index}`;
    const tile = this.#kept.get(name) ?? this.tile(level, index);
    this.#kept.set(name, tile);
    return tile;
  }

  #width(level: number, index: number): number {
    return Math.min(WIDTH, Math.floor(this.size / WIDTH ** level) - index * WIDTH);
  }

  async #content(kind: string, level: number, index: number): Promise<Bytes> {
    const width = this.#width(level, index);
    const path = `/log/tile/${kind}/${numberPath(index)}${width === WIDTH ? "" : `.p/${width}`}`;
    const { status, content } = await this.way.ask({ path, accept: ANY_TYPE, most: BUNDLE_BYTES });
    if (status === NOT_FOUND) {
      throw new GoneError("the site does not have the hashes of its log");
    }
    if (status !== 200) {
      throw new NoAnswerError(`the log is not served: the site answers ${status}`);
    }
    return content;
  }
}

/** A number in groups of three digits, all but the last behind an x: 1234067 is x001/x234/067. */
function numberPath(number: number): string {
  const digits = `${number}`;
  const groups = digits.padStart(3 * Math.ceil(digits.length / 3), "0").match(/.{3}/g)!;
  return groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join("/");
}
