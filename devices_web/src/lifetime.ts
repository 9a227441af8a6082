/**
 * A device's budget of its own, as `panprivacy.device.lifetime`: what all recipes that it ever joined may
 * reveal together. The local ε of one report of each are added up; δ add up as well, and are not limited.
 */

import { FieldError } from "./bytes.ts";

const MOST = 1e6;
/** What sums may exceed the budget by: ten recipes with ε = 0.1 fit into 1. */
const ROUNDING = 1 + 2 ** -40;

/** The value, by the name of its field; FieldError unless it can be a budget. */
export function lifetimeEpsilon(field: string, value: unknown): number {
  if (typeof value !== "number" || !(value >= 0 && value <= MOST)) {
    throw new FieldError(field, `must be a number from 0 to 1,000,000, not ${String(value)}`);
  }
  return value;
}

/**
 * FieldError unless a recipe fits; it names what is used and what is left.
 *
 * @param used the sum of all recipes that were ever joined.
 * @param epsilon the local ε of one report of the recipe. @param largest the budget.
 */
export function requireLifetime(used: number, epsilon: number, largest: number): void {
  if (!(used + epsilon <= largest * ROUNDING)) {
    const why = `is ${shown(epsilon)} for one report, more than is left of this device's lifetime`;
    const left = shown(Number(Math.max(0, largest - used).toFixed(9)));
    throw new FieldError("epsilon", `${why}: ${shown(used)} of ${shown(largest)} used, ${left} left`);
  }
}

/** A number with at most six digits. */
export function shown(value: number): string {
  return String(Number(value.toPrecision(6)));
}
