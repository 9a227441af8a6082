/** From the bytes that Python was given, a browser makes the same states, reports and uploads. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { fromBase64 } from "../src/bytes.ts";
import { smallestWeight } from "../src/categories.ts";
import { isPrimeOrder, signatureHolds } from "../src/ed25519.ts";
import { DiscreteGaussian } from "../src/noise.ts";
import { computed, GivenBytes, python } from "./given.ts";

for (const expected of python.cases) {
  test(`${expected.seed}: as panprivacy.device`, async () => {
    assert.deepEqual(await computed(expected), expected);
  });
}

for (const { scale, largest, drawn } of python.noise) {
  test(`noise of scale ${scale}: as panprivacy draws it`, () => {
    const [noise, random] = [new DiscreteGaussian(scale, largest), new GivenBytes(`noise ${scale}`)];
    assert.deepEqual(Array.from(drawn, () => noise.sample(random)), drawn);
  });
}

for (const { parameters, smallest } of python.weights) {
  test(`categories with ${JSON.stringify(parameters)}: the smallest weight that panprivacy takes`, () => {
    assert.equal(smallestWeight(parameters), smallest);
  });
}

test("signatures with points of low order: the same hold as in panprivacy", () => {
  const { cases, weak_keys } = python.signatures;
  for (const { key, signature, message, holds } of cases) {
    const [under, signed, text] = [key, signature, message].map((encoded) => fromBase64("case", encoded));
    assert.equal(signatureHolds(under!, signed!, text!), holds, `${key} ${signature}`);
  }
  assert.equal(cases.filter(({ holds }) => holds).length, 1);
  assert.ok(weak_keys.length >= 21);
  for (const key of weak_keys) {
    assert.equal(isPrimeOrder(fromBase64("key", key)), false, key);
  }
});
