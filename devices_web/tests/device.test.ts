/** What a device refuses, and what does not depend on events. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { ed25519 } from "@noble/curves/ed25519.js";
import { sha256 } from "@noble/hashes/sha2.js";

import { concat, FieldError, fromBase64, toBase64, toHex, utf8 } from "../src/bytes.ts";
import { randomizedCategory } from "../src/categories.ts";
import {
  Device,
  DeviceError,
  type DeviceState,
  joinRecipe,
  requestBytes,
  valueReport,
} from "../src/device.ts";
import {
  type PinnedKeys,
  RecipeRefusedError,
  type ServedRecipe,
} from "../src/recipe.ts";
import { canonicalJson, RecipeVerificationError } from "../src/document.ts";
import { giveToken, GivenBytes, python } from "./given.ts";

const OWN_KEY = Uint8Array.from({ length: 32 }, (_, at) => at);

/** A recipe of the vectors with other members, signed anew by its server: the key is known to everyone. */
function served(name: string, changes: Record<string, unknown> = {}): [ServedRecipe, PinnedKeys] {
  const { served: original, keys } = python.recipes[name]!;
  const document = Object.fromEntries(
    Object.entries({ ...original.document, ...changes }).filter(([, value]) => value !== undefined),
  );
  const canonical = canonicalJson(document);
  const signature = ed25519.sign(concat(utf8("panapp-recipe-3\n"), canonical), OWN_KEY);
  return [{ ...original, document, id: toHex(sha256(canonical)), signature: toBase64(signature) }, keys];
}

function joined(name: string, seed = "device"): Device {
  return joinRecipe(...served(name), { simulation: true, random: new GivenBytes(seed) });
}

function refused(error: new (...args: never[]) => Error, message: RegExp) {
  return (thrown: unknown) => {
    assert.ok(thrown instanceof error, String(thrown));
    assert.match(thrown.message, message);
    return true;
  };
}

test("a recipe that was changed or that another server signed is refused", () => {
  const [recipe, keys] = served("count");
  const changed = { ...recipe, document: { ...recipe.document, epsilon: 1 } };
  const stranger = { server: toBase64(ed25519.getPublicKey(new Uint8Array(32).fill(9))) };
  for (const [offered, pinned, message] of [
    [changed, keys, /identifier/],
    [recipe, stranger, /not the server's/],
  ] as const) {
    assert.throws(
      () => joinRecipe(offered, pinned, { simulation: true }),
      refused(RecipeVerificationError, message),
    );
  }
});

test("a recipe with a field that this client does not know is refused", () => {
  const [recipe, keys] = served("count", { toy: "bear" });
  assert.throws(
    () => joinRecipe(recipe, keys, { simulation: true }),
    refused(FieldError, /^toy: is not a field of a count_nonzero recipe$/),
  );
});

for (const [name, other] of [["count-two-servers", "helper"], ["count-with-token", "issuer"]] as const) {
  test(`${name}: a recipe is refused without its ${other}'s key, signature, or with another's`, () => {
    const { served: recipe, keys } = python.recipes[name]!;
    const { [`${other}_signature` as const]: _, ...unsigned } = recipe;
    const attempts: [ServedRecipe, PinnedKeys, RegExp][] = [
      [recipe, { server: keys.server }, new RegExp(`needs the ${other}'s key`)],
      [recipe, { ...keys, [other]: keys.server }, new RegExp(`names another ${other}`)],
      [unsigned, keys, /signature is missing/],
      [{ ...recipe, [`${other}_signature`]: recipe.signature }, keys, new RegExp(`not the ${other}'s`)],
    ];
    for (const [offered, pinned, message] of attempts) {
      assert.throws(
        () => joinRecipe(offered, pinned, { simulation: true }),
        refused(RecipeVerificationError, message),
      );
    }
  });
}

/** A device of a recipe with tokens, and whether it takes part. */
function withToken(sampled: boolean): Device {
  const { served: recipe, keys } = python.recipes["count-of-some-with-token"]!;
  for (let seed = 0; ; seed++) {
    const device = joinRecipe(recipe, keys, { simulation: true, random: new GivenBytes(`token ${seed}`) });
    if ((device.phase === "collecting") === sampled) {
      return device;
    }
  }
}

test("a device that takes part and one that does not keep as much of a token, and wait for it alike", () => {
  const lengths = [true, false].map((sampled) => {
    const device = withToken(sampled);
    const before = device.state.token;
    const steps: string[] = [];
    for (let step = 0; step < 5; step++) {
      device.step(step % 2);
      assert.deepEqual(device.state.token, before, "no step touches the token");
      steps.push(JSON.stringify(device.state.token));
    }
    assert.throws(() => device.finish(), refused(DeviceError, /has none yet/));
    giveToken(device);
    device.finish();
    return [...steps, device.state.token === undefined ? "" : device.report().nonce];
  });
  assert.deepEqual(
    lengths[0]!.slice(0, -1).map(({ length }) => length),
    lengths[1]!.slice(0, -1).map(({ length }) => length),
  );
});

test("a real device asks for its token at a random time before the first possible report", () => {
  const { served: recipe, keys } = python.recipes["count-with-token"]!;
  const document: Record<string, unknown> = { ...recipe.document, simulation: false, cohort_size: 100 };
  const message = concat(utf8("panapp-recipe-3\n"), canonicalJson(document));
  const issuer = Uint8Array.from({ length: 32 }, (_, at) => at + 96);
  const [signature, issuer_signature] = [OWN_KEY, issuer].map((key) => toBase64(ed25519.sign(message, key)));
  const real = { ...recipe, document, id: toHex(sha256(canonicalJson(document))), signature: signature! };
  const joinedAt = (seconds: number) =>
    joinRecipe({ ...real, issuer_signature: issuer_signature! }, keys, { now: seconds });
  const opens = Date.parse(document.opens_at as string) / 1000;
  const first = opens + 5 * (document.step_seconds as number);
  // All lie in one half with a probability of 2^-21, below 1e-6.
  const begin = opens - 86_400;
  const times = Array.from({ length: 22 }, () => joinedAt(begin).asksAt!);
  times.forEach((at) => assert.ok(at >= begin && at <= first));
  assert.equal(new Set(times.map((at) => at < (begin + first) / 2)).size, 2);
  assert.equal(joinedAt(first + 60).asksAt, first + 60);
});

test("a state whose token is another's is refused", () => {
  const device = withToken(true);
  const { token: _, ...without } = device.state;
  assert.throws(() => Device.resume(without), /token: is missing/);
  giveToken(device);
  const token = { ...device.state.token!, nonce: toBase64(new Uint8Array(32)) };
  assert.throws(() => Device.resume({ ...device.state, token }), /token.token: is of another report/);
  assert.deepEqual(Device.resume(device.state).state, device.state);
});

for (const [changes, message] of [
  [{ colour: "red" }, /colour: is not a field/],
  [{ epsilon: 21 }, /epsilon: must be a number from/],
  [{ steps: 2.5 }, /steps: must be a whole number/],
  [{ steps: undefined }, /steps: is missing/],
  [{ closes_at: "2020-01-01T00:00:00Z" }, /closes_at: must be later/],
  [{ closes_at: "3000-01-01T00:00:00Z" }, /closes_at: must be a time in the years 1970 to 2999/],
  [{ public_key: { scheme: "elgamal-secp256k1", point: "00".repeat(33) } }, /public_key: must be/],
  [{ segments: ["north"] }, /asks for segments, which this client does not have/],
  [{ admission: { kind: "open" } }, /admission.kind: must be token/],
  [{ admission: { kind: "token", issuer_name: "a/b" } }, /admission.issuer_name: must be a host/],
  [{ relay: "https://relay.example" }, /through its relay only/],
  [{ relay: "https://relay.example/" }, /relay: must be an http or https address/],
  [{ encryption: "paillier-2048" }, /encryption is paillier-2048/],
  [{ trust: "shuffler" }, /takes no part in count_nonzero with shuffler/],
  [{ trust: "joint_key", bundle: "auditors" }, /recipes with a joint key cannot run in browsers yet/],
] as const) {
  test(`a signed recipe with ${JSON.stringify(changes)} is refused`, () => {
    assert.throws(() => joinRecipe(...served("count", changes), { simulation: true }), message);
  });
}

const NAMES =
  "names that differ, each of 1 to 60 of the characters a-z, 0-9, dot, _ and -, but no - at the beginning";

for (const [name, changes, message] of [
  ["funnel", { coin: undefined }, "coin: is missing"],
  ["funnel", { coin: "heads" }, "coin: must be vector or bucket"],
  ["histogram", { coin: undefined }, "coin: is missing"],
  ["histogram", { coin: "heads" }, "coin: must be vector or bucket"],
  ["histogram-two-servers", { coin: "vector" }, "coin: must be bucket"],
  ["funnel", { events: ["-open", "buy"] }, `events: must be 2 to 6 ${NAMES}`],
  ["automaton", { on: { open: { closed: "closed" } } }, "on: must have its one published form"],
  ["automaton", { on: { open: {} } }, "on: must have its one published form"],
  ["automaton", { at: {} }, "at: must have its one published form"],
  [
    "automaton",
    { cells: { no: ["closed"], yes: ["again", "open"] } },
    "cells: must have its one published form",
  ],
  ["funnel", { event: "open" }, "event: is not a field of a funnel recipe"],
  ["funnel", { at: {} }, "at: is not a field of a funnel recipe"],
  ["funnel", { events: ["open"] }, `events: must be 2 to 6 ${NAMES}`],
  ["funnel", { events: ["open", "open"] }, `events: must be 2 to 6 ${NAMES}`],
  ["funnel", { events: ["open", "Buy"] }, `events: must be 2 to 6 ${NAMES}`],
  ["both", { events: ["a", "b", "c", "d"] }, `events: must be 2 to 3 ${NAMES}`],
  [
    "retention",
    { event: "x".repeat(61) },
    "event: must be 1 to 60 of the characters a-z, 0-9, dot, _ and -, but no - at the beginning",
  ],
  ["retention", { periods: 27 }, "periods: must be a whole number from 2 to 26"],
  ["retention", { period_steps: 2 }, "steps: must be periods times period_steps, 10"],
  ["time-to-first", { within: [] }, "within: must be 1 to 31 rising whole numbers from 1 to 100000"],
  ["time-to-first", { within: [2, 2] }, "within: must be 1 to 31 rising whole numbers from 1 to 100000"],
  ["time-to-first", { within: [1, 6] }, "within: must be at most steps, 5"],
  [
    "longest-streak",
    { longest: 23 },
    "longest: makes 277 states; at most 256 are possible with 1 event",
  ],
  [
    "automaton",
    { states: 65 },
    "states: must be a whole number from 2 to 64, or as many names that differ",
  ],
  [
    "automaton",
    { states: ["closed", "open", "open"] },
    "states: must be a whole number from 2 to 64, or as many names that differ",
  ],
  [
    "automaton",
    { events: [..."abcdefgh"], states: 57 },
    "states: makes 57 states; at most 56 are possible with 8 events",
  ],
  ["automaton", { start: "ajar" }, 'start: names "ajar", which is none of the 3 states'],
  ["automaton", { on: { knock: { closed: "open" } } }, 'on: names "knock", which is none of the events'],
  ["automaton", { on: { open: { closed: 1 } } }, "on: names 1, which is none of the 3 states"],
  ["automaton", { on: { open: "closed" } }, "on: must be an object"],
  ["automaton", { at: { 6: { closed: "open" } } }, 'at: must name steps from 1 to 5, not "6"'],
  [
    "automaton",
    { cells: { no: ["closed"], yes: ["open"] } },
    'cells: must name every state: "again" is missing',
  ],
  [
    "automaton",
    { cells: { no: ["closed", "open"], yes: ["open", "again"] } },
    'cells: must name each state once, not "open" again',
  ],
  [
    "automaton",
    { cells: { all: ["closed", "open", "again"] } },
    "cells: must be an object of 2 to 32 labels, each with a list of states",
  ],
  ["funnel", { trust: "two_server" }, "trust: must be single_server for funnel"],
] as [string, object, string][]) {
  test(`a signed ${name} recipe with ${JSON.stringify(changes)} is refused`, () => {
    const offered = served(name, { sampling_rate: 1, ...changes });
    assert.throws(() => joinRecipe(...offered, { simulation: true }), { name: "FieldError", message });
  });
}

test("an event has the name that its recipe lists, and none only if there is one event", () => {
  const [funnel, streak, count] = ["funnel", "longest-streak", "count"].map((name) => joined(name));
  assert.deepEqual(["open", "search", "buy"].map((name) => funnel!.bitOf(name)), [1, 2, 4]);
  assert.deepEqual([streak!.bitOf("open"), streak!.bitOf(), count!.bitOf()], [1, 1, 1]);
  for (const [device, name, message] of [
    [funnel, "sell", "event: must be one of open, search, buy; not sell"],
    [funnel, undefined, "event: must be one of open, search, buy; not left out"],
    [streak, "close", "event: must be one of open; not close"],
    [count, "open", "event: must be left out: the recipe names none; not open"],
  ] as const) {
    assert.throws(() => device!.bitOf(name), { name: "FieldError", message });
  }
  for (const events of [-1, 8, 0.5]) {
    assert.throws(() => funnel!.step(events), refused(FieldError, /events: must be a sum of bits of 3/));
  }
});

for (const [name, bytes] of Object.entries(python.request_bytes)) {
  test(`${name}: requests are padded as those of panprivacy.device`, () => {
    assert.equal(requestBytes(joined(name).recipe), bytes);
  });
}

test("a mean whose noise is too small for its promise is refused, and one that promises less", () => {
  const scale = python.recipes.mean!.served.document.noise_scale as number;
  const join = (changes: object) => () =>
    joinRecipe(...served("mean", { ...changes }), { simulation: true, random: new GivenBytes("mean") });
  assert.throws(join({ noise_scale: scale * 0.999 }), /noise_scale: is too small/);
  assert.throws(join({ guarantee: "aggregator" }), /guarantee local only/);
  assert.equal(join({ noise_scale: scale })().phase, "collecting");
});

test("a real device keeps out of recipes for simulations, closed ones, and small cohorts", () => {
  assert.throws(() => joinRecipe(...served("count")), refused(RecipeRefusedError, /simulated devices/));
  const real = (changes: object) => served("count", { simulation: false, cohort_size: 100, ...changes });
  const [recipe, keys] = real({});
  assert.throws(
    () => joinRecipe({ ...recipe, status: "closed" }, keys),
    refused(RecipeRefusedError, /closed/),
  );
  assert.throws(() => joinRecipe(...real({ cohort_size: 99 })), /cohort_size: must be at least 100/);
  assert.throws(() => joinRecipe(...real({ epsilon: 9 })), /epsilon: must be at most 8/);
  assert.throws(() => joinRecipe(...real({ delta: 0.01 })), /delta: must be at most 0.0001/);
  assert.equal(joinRecipe(recipe, keys).stepsTaken, 0);
});

for (const name of ["count", "histogram", "mean", "count-two-servers", "histogram-two-servers", "funnel"]) {
  test(`${name}: a tick changes every ciphertext, and nothing else`, () => {
    const device = joined(name);
    const before = device.state;
    const after = device.tick();
    before.ciphertexts!.forEach((text, at) => assert.notEqual(text, after.ciphertexts![at]));
    assert.deepEqual({ ...after, ciphertexts: [] }, { ...before, ciphertexts: [] });
    if (!device.ticksTakeEvents) {
      assert.throws(() => device.tick(1), refused(DeviceError, /at the end of a step only/));
    }
  });
}

for (const name of ["count", "histogram", "histogram-vector", "mean", "funnel"]) {
  for (const event of [0, 1]) {
    test(`${name}: 100,000 steps that were missed, ${event} events before, take the work of one`, () => {
      const [recipe, keys] = served(name, { steps: 100_000 });
      const options = { simulation: true, random: new GivenBytes("device") };
      const start = joinRecipe(recipe, keys, options).state;
      const [one, all] = [1, 100_000].map((last) => {
        const random = new GivenBytes("step");
        return { state: Device.resume(start, random).step(event, last), taken: random.taken };
      });
      assert.equal(all!.taken, one!.taken);
      assert.deepEqual(all!.state, { ...one!.state, step: 100_000 });
      assert.equal(Device.resume(all!.state).finish().phase, "reported");
    });
  }
}

test("steps are taken up to one that is ahead and the recipe has", () => {
  const device = joined("count");
  device.step(0, 2);
  for (const last of [1, 2, 6, 2.5, Number.NaN]) {
    assert.throws(() => device.step(0, last), refused(DeviceError, /steps 3 to 5 can be taken, not up to/));
  }
  assert.equal(device.step(0).step, 3);
});

test("steps end after the last, the report comes after it and stays, and done forgets all", () => {
  const device = joined("count");
  assert.throws(() => device.finish(), refused(DeviceError, /only 0 of 5/));
  assert.throws(() => device.report(), refused(DeviceError, /not made yet/));
  for (let step = 0; step < 5; step++) {
    device.step(0);
  }
  assert.throws(() => device.step(1), refused(DeviceError, /all 5 steps/));
  const reported = device.finish();
  assert.deepEqual(device.finish(), reported);
  assert.deepEqual(device.report(), { nonce: reported.nonce, ciphertexts: reported.ciphertexts });
  assert.throws(() => device.step(1), refused(DeviceError, /no further steps/));
  const facts = { phase: "done", recipe: reported.recipe, name: "Shared screens", epsilon: 2 };
  assert.deepEqual(device.done(), facts);
  assert.deepEqual(device.leave(), { ...facts, left: true });
  assert.deepEqual(device.sent(Date.UTC(2026, 0, 5, 23) / 1000), { ...facts, sent: "2026-01-05" });
  assert.throws(() => Device.resume(device.state), refused(DeviceError, /is done/));
});

for (const [changes, message] of [
  [{ step: 6 }, /step: must be/],
  [{ ciphertexts: [] }, /ciphertexts: must be 1/],
  [{ ciphertexts: ["AAAA"] }, /ciphertexts: must be pairs/],
  [{ nonce: "AAAA" }, /nonce: must be 0 bytes/],
  [{ signature: toBase64(new Uint8Array(64)) }, /not the server's/],
] as [Partial<DeviceState>, RegExp][]) {
  test(`a state with another ${Object.keys(changes)[0]} is refused`, () => {
    assert.throws(() => Device.resume({ ...joined("count").state, ...changes }), message);
  });
}

test("a category beyond the last, and reports that would be drawn again for ever, are refused", () => {
  const [recipe, keys] = served("categories", { k: 100, epsilon: 0.1, max_weight: 1 });
  const options = { simulation: true, random: new GivenBytes("heavy") };
  assert.throws(() => valueReport(...served("categories"), 6, options), /value: must be a whole number/);
  assert.throws(() => valueReport(recipe, keys, 0, options), /max_weight: must be from \d+ to 100, not 1$/);
  // If no draw of a report is light enough, the device gives up.
  const [parameters] = python.weights.map(({ parameters }) => ({ ...parameters, k: 1000, max_weight: 1 }));
  assert.throws(() => randomizedCategory(parameters!, 0, new GivenBytes("heavy")), RangeError);
  const { k, max_weight } = python.recipes.categories!.served.document as Record<string, number>;
  for (const weight of [max_weight! - 1, k! + 1]) {
    const other = served("categories", { max_weight: weight });
    assert.throws(() => valueReport(...other, 0, options), new RegExp(`from ${max_weight} to ${k}, not`));
  }
});

test("base64 has one spelling", () => {
  assert.deepEqual(fromBase64("x", "/w=="), Uint8Array.of(255));
  for (const text of ["/x==", "/w", "/w=", "_w==", " /w==", 1]) {
    assert.throws(() => fromBase64("x", text), /x: must be base64/);
  }
});
