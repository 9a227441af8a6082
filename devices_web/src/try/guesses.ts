/** The value of guesses. */

import type { Tick } from "./told.ts";

/**
 * Whether there was an event between two copies; undefined if the device does not know one of them, or
 * they come in another order.
 */
export function happenedBetween(ticks: readonly Tick[], from: string, to: string): boolean | undefined {
  const first = ticks.findIndex(({ state }) => state === from);
  const last = ticks.findIndex(({ state }) => state === to);
  if (first < 0 || last <= first) {
    return undefined;
  }
  return ticks.slice(first + 1, last + 1).some(({ happened }) => happened);
}

/** The probability that fair coins are right at least `right` times of `all` (0 to some dozens). */
export function chanceOfAtLeast(right: number, all: number): number {
  let ways = 1;
  let favourable = 0;
  for (let hits = 0; hits <= all; hits++) {
    favourable += hits >= right ? ways : 0;
    ways = (ways * (all - hits)) / (hits + 1);
  }
  return favourable / 2 ** all;
}
