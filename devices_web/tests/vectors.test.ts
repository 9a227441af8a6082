/** From the bytes that Python was given, a browser makes the same states, reports and uploads. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { smallestWeight } from "../src/categories.ts";
import { DiscreteGaussian } from "../src/noise.ts";
import { computed, GivenBytes, python } from "./given.ts";

for (const expected of python.cases) {
  test(`${expected.seed}: as devices_sim`, async () => {
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
