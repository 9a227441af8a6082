/**
 * Which of k categories a device has (SAA, section 4.5), on the device's side, the same as in
 * `panprivacy.statistics.randomized.categories`.
 */

import { FieldError } from "./bytes.ts";
import { type Parameters, required } from "./mechanisms.ts";
import type { RandomSource } from "./random.ts";
import { type Bit, RandomizedResponse } from "./response.ts";

/** The part of δ, as 1/…, that a whole cohort's reports may be too heavy with. */
const SLACK_SHARE = 1000;
/** By how much two computers may differ in a tail, relatively. */
const ROUNDING = 1e-9;
/**
 * Of one report. `requireWeight` leaves at most 1/20,000 for one to be too heavy (δ at most 0.1, two
 * reports), so that all are with a probability below 2^−228: then the random numbers are none.
 */
const MOST_DRAWS = 16;

/**
 * FieldError if reports are so often drawn again that guarantees for independent flips would not hold
 * nearly, or for ever; or if w is more than there are places.
 */
export function requireWeight(parameters: Parameters): void {
  const [k, weight] = [required(parameters, "k"), required(parameters, "max_weight")];
  const smallest = smallestWeight(parameters);
  if (weight < smallest || weight > k) {
    throw new FieldError("max_weight", `must be from ${smallest} to ${k}, not ${weight}`);
  }
}

/**
 * The smallest w from 1 to k for which cohort_size·Pr[W > w] is at most δ/`SLACK_SHARE`, where
 * W ~ Bern(1 − p) + Bin(k − 1, p) are the ones in the first draw of a report, and p = 1/(e^ε + 1).
 */
export function smallestWeight(parameters: Parameters): number {
  const { epsilon, delta, cohort_size } = parameters;
  const others = required(parameters, "k") - 1;
  const flip = new RandomizedResponse(epsilon).flipProbability;
  // Pr[Bin(k − 1, p) = x]; p is below 1/2 and k at most 1,000, so the first is no zero.
  const exactly = [(1 - flip) ** others];
  for (let x = 0; x < others; x++) {
    exactly.push((((exactly[x]! * (others - x)) / (x + 1)) * flip) / (1 - flip));
  }
  let atLeast = 0;
  for (let weight = others; weight >= 1; weight--) {
    // More than w of the others; and exactly w together with a one at the device's own place.
    const heavier = atLeast + (1 - flip) * exactly[weight]!;
    if (cohort_size * heavier > (delta / SLACK_SHARE) * (1 + ROUNDING)) {
      return weight + 1;
    }
    atLeast += exactly[weight]!;
  }
  return 1;
}

/**
 * One-hot in k places, each flipped with 1/(e^ε + 1), drawn again until there are at most w ones.
 *
 * @param parameters that `requireWeight` accepts. @throws FieldError naming `value` unless it is a whole
 * number from 0 to k − 1. @throws RangeError every draw was too heavy.
 */
export function randomizedCategory(parameters: Parameters, value: number, random: RandomSource): Bit[] {
  const [k, weight] = [required(parameters, "k"), required(parameters, "max_weight")];
  if (!Number.isInteger(value) || value < 0 || value >= k) {
    throw new FieldError("value", `must be a whole number from 0 to ${k - 1}`);
  }
  const response = new RandomizedResponse(parameters.epsilon);
  for (let draw = 0; draw < MOST_DRAWS; draw++) {
    const bits = response.respondOneHot(k, value, random);
    if (bits.reduce<number>((sum, bit) => sum + bit, 0) <= weight) {
      return bits;
    }
  }
  throw new RangeError(`${MOST_DRAWS} reports in a row had more than ${weight} ones`);
}
