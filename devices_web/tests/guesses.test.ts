/** What the intruder's page says of guesses. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { chanceOfAtLeast, happenedBetween } from "../src/try/guesses.ts";

const TICKS = [
  { state: "a", happened: false },
  { state: "b", happened: true },
  { state: "c", happened: false },
  { state: "d", happened: false },
];

for (const [from, to, happened] of [
  ["a", "b", true],
  ["b", "c", false],
  // An interval holds all ticks between its copies.
  ["a", "d", true],
  ["b", "d", false],
  // Of copies that the device does not know, or in another order, nothing is said.
  ["a", "x", undefined],
  ["x", "b", undefined],
  ["c", "b", undefined],
  ["b", "b", undefined],
] as const) {
  test(`between the copies ${from} and ${to}, whether it happened: ${happened}`, () => {
    assert.equal(happenedBetween(TICKS, from, to), happened);
  });
}

test("the chance of a score is that of fair coins, counted one by one", () => {
  for (const all of [1, 4, 7]) {
    for (let right = 0; right <= all; right++) {
      let favourable = 0;
      for (let coins = 0; coins < 2 ** all; coins++) {
        const hits = coins.toString(2).replaceAll("0", "").length;
        favourable += Number(hits >= right);
      }
      assert.equal(chanceOfAtLeast(right, all), favourable / 2 ** all);
    }
  }
});
