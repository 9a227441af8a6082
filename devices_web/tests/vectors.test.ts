/** From the bytes that Python was given, a browser makes the same states, reports and uploads. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { fromBase64 } from "../src/bytes.ts";
import { smallestWeight } from "../src/categories.ts";
import { isPrimeOrder, signatureHolds } from "../src/ed25519.ts";
import { Device, joinRecipe } from "../src/device.ts";
import { requireLifetime } from "../src/lifetime.ts";
import { DiscreteGaussian } from "../src/noise.ts";
import { localEpsilon, verifiedRecipe } from "../src/recipe.ts";
import { stateView } from "../src/view.ts";
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

test("one report reveals what panprivacy states", () => {
  for (const [name, epsilon] of Object.entries(python.local_epsilons)) {
    const { served, keys } = python.recipes[name]!;
    assert.equal(localEpsilon(verifiedRecipe(served, keys)), epsilon, name);
  }
});

test("a state shows the same facts as in panprivacy, and the same with and without events", () => {
  for (const [name, expected] of Object.entries(python.views)) {
    const { served, keys } = python.recipes[name]!;
    const start = joinRecipe(served, keys, { simulation: true, random: new GivenBytes(name) }).state;
    const { kept_bytes: _, ...facts } = stateView(start);
    assert.deepEqual(facts, expected, name);
    const [quiet, eventful] = [0, 1].map((event) => Device.resume(start).step(event));
    assert.equal(JSON.stringify(stateView(quiet!)), JSON.stringify(stateView(eventful!)), name);
    assert.equal(stateView(quiet!).last_changed, 1);
    const { recipe: id, ...done } = Device.resume(start).sent(0);
    const ended = { joined: false, last_changed: null, sent: "1970-01-01" };
    const { kept_bytes: size, ...shown } = stateView({ recipe: id, ...done });
    assert.deepEqual(shown, { ...expected, ...ended }, name);
    assert.ok(size > 100);
  }
});

test("a state that is damaged is refused by its view", () => {
  const { served, keys } = python.recipes.count!;
  const { state } = joinRecipe(served, keys, { simulation: true });
  for (const change of [{ step: 99 }, { ciphertexts: [] }, { document: {} }, { signature: "" }]) {
    assert.throws(() => stateView({ ...state, ...change }), /Error/);
  }
});

test("a sum that is no number fits into no lifetime", () => {
  assert.throws(() => requireLifetime(NaN, 1, 5), { name: "FieldError" });
});

for (const { largest, joined, epsilon, refused } of python.lifetimes) {
  test(`a lifetime of ${largest} after ${joined}: ε = ${epsilon} fits as in panprivacy`, () => {
    const used = joined.reduce((sum, one) => sum + one, 0);
    const require = () => requireLifetime(used, epsilon, largest);
    refused === null ? require() : assert.throws(require, { name: "FieldError", message: refused });
  });
}
