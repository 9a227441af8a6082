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

test("an event lies between the copies before and after its tick, and in no other interval", () => {
  assert.equal(happenedBetween(TICKS, "a", "b"), true);
  assert.equal(happenedBetween(TICKS, "b", "c"), false);
});

test("where copies were missed, an interval holds all ticks between its copies", () => {
  assert.equal(happenedBetween(TICKS, "a", "d"), true);
  assert.equal(happenedBetween(TICKS, "b", "d"), false);
});

test("of copies that the device does not know, or in another order, nothing is said", () => {
  assert.equal(happenedBetween(TICKS, "a", "x"), undefined);
  assert.equal(happenedBetween(TICKS, "x", "b"), undefined);
  assert.equal(happenedBetween(TICKS, "c", "b"), undefined);
  assert.equal(happenedBetween(TICKS, "b", "b"), undefined);
});

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
