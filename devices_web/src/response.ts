/** Randomized response of one bit (LPP, Definition 2.11), or of a whole one-hot vector. */

import { FieldError } from "./bytes.ts";
import { exponential, fraction } from "./exponential.ts";
import { drawBelow, drawBit, drawBits, type RandomSource } from "./random.ts";

const COIN_BITS = 64;
const SIDES = 1n << BigInt(COIN_BITS);
const PRECISION = 512n;
/** The largest ε of a report when its device is replaced: twice that of one bit. */
const LARGEST_EPSILON = 40;
/** Of many tosses, one: the coin, and a word whose highest bit is the fair one. */
const TOSS_BYTES = COIN_BITS / 8 + 4;

export type Bit = 0 | 1;

/**
 * With how many of 2^64 sides a response to one of k values is drawn uniformly: k/(e^ε + k − 1), rounded up.
 *
 * @throws FieldError unless ε lies above 0 and is at most 40.
 */
function drawnSides(epsilon: number, k: number): bigint {
  if (!(epsilon > 0 && epsilon <= LARGEST_EPSILON)) {
    throw new FieldError("epsilon", `must be a number above 0 and at most ${LARGEST_EPSILON}, not ${epsilon}`);
  }
  const sum = exponential(...fraction(epsilon), PRECISION) + (BigInt(k - 1) << PRECISION);
  const found = (((BigInt(k) * SIDES) << PRECISION) + sum - 1n) / sum;
  if (found >= SIDES) {
    throw new FieldError("epsilon", `is too small for a coin of ${COIN_BITS} bits: ${epsilon}`);
  }
  return found;
}

/**
 * The coin for one ε. The probability of randomizing, 2/(e^ε + 1), is rounded up to a multiple of 2^−64: the
 * coin is ε'-private with ε' ≤ ε.
 */
export class RandomizedResponse {
  readonly #randomizedSides: bigint;

  /** @throws FieldError unless ε lies above 0 and is at most 40. */
  constructor(epsilon: number) {
    this.#randomizedSides = drawnSides(epsilon, 2);
  }

  /** 1/(e^ε + 1), rounded: the probability with which the response differs from the bit. */
  get flipProbability(): number {
    return Number(this.#randomizedSides) / Number(2n * SIDES);
  }

  /** Whether to send a fair bit in place of the true one, and that bit. Both are drawn always. */
  toss(random: RandomSource): { randomize: Bit; fair: Bit } {
    const randomize = Number((drawBits(COIN_BITS, random) - this.#randomizedSides) < 0n) as Bit;
    return { randomize, fair: drawBit(random) };
  }

  /** The responses to `length` bits in the clear, all 0 but that at `place`. All tosses are drawn at once. */
  respondOneHot(length: number, place: number, random: RandomSource): Bit[] {
    // The last byte first: Python reads what it draws as one number, and tosses from its lowest bits on.
    const drawn = new DataView(random.bytes(TOSS_BYTES * length).toReversed().buffer);
    return Array.from({ length }, (_, at) => {
      const coin = drawn.getBigUint64(TOSS_BYTES * at, true);
      const fair = (drawn.getUint8(TOSS_BYTES * (at + 1) - 1) >> 7) as Bit;
      const bit = Number(at === place) as Bit;
      const randomize = Number(coin - this.#randomizedSides < 0n);
      return (bit ^ (randomize & (bit ^ fair))) as Bit;
    });
  }
}

/**
 * One coin for a whole one-hot vector of k entries: with probability k/(e^ε + k − 1), rounded up to a multiple
 * of 2^−64, the place of its 1 is drawn uniformly (`panprivacy.statistics.events.vector_coin`).
 */
export class VectorCoin {
  readonly #drawnSides: bigint;

  /** @throws FieldError unless ε lies above 0 and is at most 40. */
  constructor(
    epsilon: number,
    readonly cells: number,
  ) {
    this.#drawnSides = drawnSides(epsilon, cells);
  }

  /** Whether to send a drawn vector in place of the true one, and the place of its 1. Both are drawn always. */
  toss(random: RandomSource): { draw: Bit; drawn: number } {
    const draw = Number(drawBits(COIN_BITS, random) - this.#drawnSides < 0n) as Bit;
    return { draw, drawn: drawBelow(this.cells, random) };
  }
}
