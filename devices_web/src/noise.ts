/**
 * The discrete Gaussian N_Z(0, s²) within −t..t, with the same work whatever is drawn: a uniform number of
 * 256 bits is compared with every entry of the table of Pr[|X| ≤ x]. Table and errors are those of
 * `panprivacy.statistics.events.discrete_gaussian`.
 */

import { type Bytes, bigEndian } from "./bytes.ts";
import { exponential, fraction } from "./exponential.ts";
import { drawBit, type RandomSource } from "./random.ts";

const BITS = 256n;
const GUARD = 64n;
const LIMBS = 16;

/** t up to which a table is made. */
export const LARGEST_MAGNITUDE = 2 ** 20;

export class DiscreteGaussian {
  /** The entries, in limbs of 16 bits, the lowest first. */
  readonly #limbs: Int32Array;

  /**
   * @param scale s, above 0.
   * @param largest t, from 0 to `LARGEST_MAGNITUDE`.
   */
  constructor(scale: number, readonly largest: number) {
    if (!(scale > 0) || !Number.isInteger(largest) || largest < 0 || largest > LARGEST_MAGNITUDE) {
      throw new RangeError(`no noise of scale ${scale} within ${largest}`);
    }
    this.#limbs = new Int32Array(largest * LIMBS);
    table(scale, largest).forEach((entry, at) => this.#limbs.set(limbsOf(bigEndian(entry, 32)), at * LIMBS));
  }

  /** One draw. Takes 256 bits and one bit from the source. */
  sample(random: RandomSource): number {
    const drawn = limbsOf(random.bytes(32));
    const negative = drawBit(random);
    let reached = 0;
    for (let entry = 0; entry < this.largest; entry++) {
      let borrow = 0;
      for (let limb = 0; limb < LIMBS; limb++) {
        borrow = ((drawn[limb]! - this.#limbs[entry * LIMBS + limb]! - borrow) >> 31) & 1;
      }
      reached += 1 - borrow;
    }
    // No −0 may be left: it would reveal the sign.
    return (reached ^ -negative) + negative;
  }
}

/** ⌊2^256·Pr[|X| ≤ x]⌋ for x = 0..t − 1, given |X| ≤ t. */
function table(scale: number, largest: number): bigint[] {
  const [numerator, denominator] = fraction(scale);
  const shift = BITS + GUARD;
  const precise = shift + 192n;
  // exp(−y) = 1/exp(y). Of a y so large that nothing is left, the quotient is 0 anyway.
  const over = denominator ** 2n;
  const under = 2n * numerator ** 2n;
  const inverse = over > 320n * under ? 0n : exponential(over, under, precise);
  let factor = inverse === 0n ? 0n : ((1n << precise) << shift) / inverse;
  const square = (factor * factor) >> shift;
  let weight = 1n << shift;
  let cumulative = weight;
  const sums = [cumulative];
  for (let x = 0; x < largest; x++) {
    weight = (weight * factor) >> shift;
    factor = (factor * square) >> shift;
    cumulative += 2n * weight;
    sums.push(cumulative);
  }
  const highest = (1n << BITS) - 1n;
  return sums.slice(0, -1).map((entry) => {
    const scaled = (entry << BITS) / cumulative;
    return scaled < highest ? scaled : highest;
  });
}

function limbsOf(number: Bytes): Int32Array {
  const limbs = new Int32Array(LIMBS);
  for (let limb = 0; limb < LIMBS; limb++) {
    const at = number.length - 2 * limb - 2;
    limbs[limb] = (number[at]! << 8) | number[at + 1]!;
  }
  return limbs;
}
