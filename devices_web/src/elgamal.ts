/**
 * Lifted ElGamal on secp256k1, the same as `panprivacy.encryption.elgamal`.
 *
 * With generator G and public key H, an encryption of m with randomness r is (r·G, r·H + m·G). Encrypting,
 * replacing and rerandomizing are one path: add r·(G, H) to a public source, or to what is there. Arithmetic
 * of big numbers takes a time that depends on them. So both results are computed, and one is selected by a
 * mask over its bytes: the secret decides nothing else.
 */

import { normalizeZ } from "@noble/curves/abstract/curve.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";

import { type Bytes, bigEndian, concat, FieldError, fromHex, select, toNumber } from "./bytes.ts";
import { type RandomSource, systemRandom } from "./random.ts";
import type { Bit } from "./response.ts";

const { Point } = secp256k1;
type Point = InstanceType<typeof Point>;

const ORDER = Point.Fn.ORDER;
const POINT_BYTES = 33;
const SCALAR_BYTES = 32;

/** Most bytes of one piece of a byte string: an x-coordinate also holds a mark and a counter. */
const LONGEST_PIECE = SCALAR_BYTES - 2;
const COUNTERS = 256;

/** Added to any noise, so that a multiple by it and by the sum is never at infinity. */
const OFFSET = 1n << 128n;

export const SCHEME = "elgamal-secp256k1";
/** The scheme in encoded configurations. */
export const SCHEME_CODE = 1;

/** One encryption, in 66 bytes: two compressed points. */
export type Ciphertext = Bytes;

interface Pair {
  readonly first: Point;
  readonly second: Point;
}

/** What devices encrypt bits to: the key of one server, or of two together. */
export interface EncryptionKey {
  /** Bytes of one encoded ciphertext. */
  readonly ciphertextBytes: number;
  /** Whether ciphertexts belong to one report, so that its nonce is drawn first. */
  readonly bindsNonce: boolean;
  /** The key to encrypt with in the report with this nonce (16 bytes). */
  boundTo(nonce: Bytes): EncryptionKey;
  /** A fresh encryption of a bit. */
  encrypt(bit: Bit, random: RandomSource): Ciphertext;
  /** A fresh encryption of `bit` if `replace` is 1, else `ciphertext` rerandomized. Same work for both. */
  replaceOrRerandomize(replace: Bit, bit: Bit, ciphertext: Ciphertext, random: RandomSource): Ciphertext;
  /** `right` if `choice` is 1, else `left`, rerandomized. Same work for both. */
  rerandomizeOneOf(choice: Bit, left: Ciphertext, right: Ciphertext, random: RandomSource): Ciphertext;
  /**
   * One encryption of the sum of the plaintexts and of `noise` (below 2^127 in absolute value).
   *
   * @throws FieldError ciphertexts of this key are not added on devices.
   */
  sumWithNoise(ciphertexts: readonly Ciphertext[], noise: number, random: RandomSource): Ciphertext;
  /**
   * A ciphertext that can be added to others.
   *
   * @throws FieldError as `sumWithNoise`.
   */
  opened(ciphertext: Ciphertext): Summand;
  rerandomizedSum(sum: Summand, random: RandomSource): Ciphertext;
  /** FieldError naming `ciphertexts` unless these bytes are a ciphertext. */
  require(ciphertext: Bytes): void;
}

/**
 * A ciphertext to add to others, or a sum of such, not rerandomized.
 *
 * The coordinates of its points are scaled at random, X : Y : Z with Z ≠ 1. So the numbers that are computed
 * with after a choice do not depend on it: without the scale, an intruder who knows the ciphertexts would know
 * these numbers, and how long it takes to compute with them.
 */
export class Summand {
  /** @internal */
  readonly pair: Pair;

  /** @internal */
  constructor(pair: Pair) {
    this.pair = pair;
  }

  plus(other: Summand): Summand {
    const { first, second } = other.pair;
    return new Summand({ first: this.pair.first.add(first), second: this.pair.second.add(second) });
  }

  /** `other` if `choice` is 1, else this one. Same work for both. */
  or(choice: Bit, other: Summand): Summand {
    const chosen = select(choice, this.#coordinates(), other.#coordinates());
    const [a, b, c, d, e, f] = Array.from({ length: 6 }, (_, at) =>
      toNumber(chosen.subarray(at * SCALAR_BYTES, (at + 1) * SCALAR_BYTES)),
    );
    return new Summand({ first: new Point(a!, b!, c!), second: new Point(d!, e!, f!) });
  }

  encoded(): Ciphertext {
    return encode(this.pair);
  }

  #coordinates(): Bytes {
    const { first, second } = this.pair;
    const all = [first.X, first.Y, first.Z, second.X, second.Y, second.Z];
    return concat(...all.map((coordinate) => Point.Fp.toBytes(coordinate)));
  }
}

/** The public key of one server. */
export class ElGamalKey implements EncryptionKey {
  readonly ciphertextBytes = 2 * POINT_BYTES;
  readonly bindsNonce = false;
  readonly #point: Point;
  readonly #sources: readonly [Pair, Pair];
  readonly #encodedSources: readonly [Ciphertext, Ciphertext];

  /** @param point the key's point H, encoded. FieldError naming `public_key` if it is none. */
  constructor(point: Bytes) {
    try {
      this.#point = Point.fromBytes(point);
    } catch {
      throw new FieldError("public_key", "must be a compressed point of secp256k1");
    }
    const one = this.#point.add(Point.BASE);
    if (one.is0()) {
      throw new FieldError("public_key", "has a private key that anyone can guess");
    }
    this.#sources = [
      { first: Point.BASE, second: this.#point },
      { first: Point.BASE, second: one },
    ];
    this.#encodedSources = [encode(this.#sources[0]), encode(this.#sources[1])];
  }

  /** From the field of a recipe's document. FieldError naming `field`. */
  static fromMember(field: string, member: unknown): ElGamalKey {
    const { scheme, point, ...others } = (member ?? {}) as Record<string, unknown>;
    if (scheme !== SCHEME || Object.keys(others).length > 0) {
      throw new FieldError(field, `must be a key of the scheme ${SCHEME}`);
    }
    return new ElGamalKey(fromHex(`${field}.point`, point, POINT_BYTES));
  }

  boundTo(): this {
    return this;
  }

  encrypt(bit: Bit, random: RandomSource): Ciphertext {
    return this.#eitherRerandomized(bit, ...this.#sources, random);
  }

  replaceOrRerandomize(replace: Bit, bit: Bit, ciphertext: Ciphertext, random: RandomSource): Ciphertext {
    const fresh = select(bit, ...this.#encodedSources);
    return this.#eitherRerandomized(replace, decode(ciphertext), decode(fresh), random);
  }

  rerandomizeOneOf(choice: Bit, left: Ciphertext, right: Ciphertext, random: RandomSource): Ciphertext {
    return this.#eitherRerandomized(choice, decode(left), decode(right), random);
  }

  sumWithNoise(ciphertexts: readonly Ciphertext[], noise: number, random: RandomSource): Ciphertext {
    const lifted = Point.BASE.multiply(OFFSET + BigInt(noise)).subtract(Point.BASE.multiply(OFFSET));
    const source = { first: Point.BASE, second: this.#point.add(lifted) };
    const fresh = decode(this.#eitherRerandomized(0, source, source, random));
    let { first, second } = fresh;
    for (const ciphertext of ciphertexts) {
      const own = decode(ciphertext);
      first = first.add(own.first);
      second = second.add(own.second);
    }
    return this.#eitherRerandomized(0, { first, second }, { first, second }, random);
  }

  opened(ciphertext: Ciphertext): Summand {
    const { first, second } = decode(ciphertext);
    return new Summand({ first: scaled(first), second: scaled(second) });
  }

  rerandomizedSum(sum: Summand, random: RandomSource): Ciphertext {
    return this.#eitherRerandomized(0, sum.pair, sum.pair, random);
  }

  /** Encryptions of a byte string, in pieces; how long it takes may depend on the bytes. */
  encryptBytes(message: Bytes, random: RandomSource): Ciphertext[] {
    return embedded(message).map((piece) => {
      const source = this.#sourceOf(piece);
      return this.#eitherRerandomized(0, source, source, random);
    });
  }

  /** `encryptBytes` if `replace` is 1, else each of `ciphertexts` rerandomized. Same work for both. */
  replaceBytesOrRerandomize(
    replace: Bit,
    message: Bytes,
    ciphertexts: readonly Ciphertext[],
    random: RandomSource,
  ): Ciphertext[] {
    return embedded(message).map((piece, at) =>
      this.#eitherRerandomized(replace, decode(ciphertexts[at]!), this.#sourceOf(piece), random),
    );
  }

  require(ciphertext: Bytes): void {
    decode(ciphertext);
  }

  #sourceOf(piece: Point): Pair {
    const second = this.#point.add(piece);
    // The key is −M: with randomness 2 in place of 1, nothing is at infinity.
    return second.is0()
      ? { first: Point.BASE.double(), second: this.#point }
      : { first: Point.BASE, second };
  }

  #eitherRerandomized(choice: Bit, left: Pair, right: Pair, random: RandomSource): Ciphertext {
    for (;;) {
      const scalar = drawScalar(random);
      const generator = Point.BASE.multiply(scalar);
      const key = this.#point.multiply(scalar);
      const points = [left, right].flatMap(({ first, second }) => [first.add(generator), second.add(key)]);
      // At infinity for one scalar each, whatever the source: probability 2^−254; draw again.
      if (points.some((point) => point.is0())) {
        continue;
      }
      const [a, b, c, d] = normalizeZ(Point, points);
      return select(choice, encode({ first: a!, second: b! }), encode({ first: c!, second: d! }));
    }
  }
}

/** How many ciphertexts a byte string takes. */
export function byteCiphertexts(length: number): number {
  return Math.ceil(length / LONGEST_PIECE);
}

/** Uniform on 1..q − 1. */
function drawScalar(random: RandomSource): bigint {
  for (;;) {
    const value = toNumber(random.bytes(SCALAR_BYTES));
    if (value > 0n && value < ORDER) {
      return value;
    }
  }
}

/** The same point in other coordinates. The scale changes no result, so it is not drawn from given bytes. */
function scaled({ X, Y, Z }: Point): Point {
  const scale = drawScalar(systemRandom);
  return new Point(Point.Fp.mul(X, scale), Point.Fp.mul(Y, scale), Point.Fp.mul(Z, scale));
}

function encode({ first, second }: Pair): Ciphertext {
  return concat(first.toBytes(true), second.toBytes(true));
}

function decode(encoded: Bytes): Pair {
  try {
    if (encoded.length === 2 * POINT_BYTES) {
      return {
        first: Point.fromBytes(encoded.subarray(0, POINT_BYTES)),
        second: Point.fromBytes(encoded.subarray(POINT_BYTES)),
      };
    }
  } catch {
    // Below.
  }
  throw new FieldError("ciphertexts", "must be pairs of compressed points of secp256k1");
}

/** The points that encode a byte string: marked pieces, as even as possible, the longer first. */
function embedded(message: Bytes): Point[] {
  const pieces = byteCiphertexts(message.length);
  const shorter = Math.floor(message.length / pieces);
  const longer = message.length % pieces;
  const found = [];
  for (let piece = 0, at = 0; piece < pieces; piece++) {
    const length = shorter + Number(piece < longer);
    found.push(embedding(toNumber(concat(Uint8Array.of(1), message.subarray(at, at + length)))));
    at += length;
  }
  return found;
}

/** The point M of a number below 2^248: the first x-coordinate of 256·value + counter, with an even y. */
function embedding(value: bigint): Point {
  for (let counter = 0; counter < COUNTERS; counter++) {
    const x = bigEndian((value << 8n) | BigInt(counter), SCALAR_BYTES);
    try {
      return Point.fromBytes(concat(Uint8Array.of(2), x));
    } catch {
      // Half of all x-coordinates are on no point.
    }
  }
  throw new RangeError("these bytes have no embedding");
}
