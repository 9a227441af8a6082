/** Capsules as Python seals them, and its answers. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type Bytes, fromBase64, toBase64, utf8 } from "../src/bytes.ts";
import { CapsuleError, readGatewayKeys, sealRequest } from "../src/oblivious.ts";
import { GivenBytes, python } from "./given.ts";

const { keys, signature, capsule, answer } = python.capsule;
const [encoded, server] = [fromBase64("keys", keys), fromBase64("key", python.recipes.count!.keys.server)];
const REQUEST = {
  method: "POST",
  authority: "site.example",
  path: "/api/v1/recipes/?status=open",
  headers: [["content-type", "application/json"]] as const,
  content: utf8('{"name": "café"}'),
};

function sealed(seed = "capsule") {
  return sealRequest(readGatewayKeys(encoded, signature, server), REQUEST, { random: new GivenBytes(seed) });
}

function changed(bytes: Bytes, at: number): Bytes {
  const other = bytes.slice();
  other[at]! ^= 1;
  return other;
}

test("a request is sealed as panprivacy seals it, and its answer opens", async () => {
  const made = await sealed();
  assert.equal(toBase64(made.body), capsule);
  const { status, headers, content } = await made.open(fromBase64("answer", answer));
  assert.deepEqual([status, headers], [201, [["content-type", "application/json"]]]);
  assert.equal(new TextDecoder().decode(content), '{"accepted": true}');
});

test("an answer that was altered, cut, or is one to another request does not open", async () => {
  const whole = fromBase64("answer", answer);
  const [made, other] = [await sealed(), await sealed("another")];
  for (const at of [0, 20, whole.length - 1]) {
    await assert.rejects(made.open(changed(whole, at)), CapsuleError);
  }
  await assert.rejects(made.open(whole.slice(0, 40)), CapsuleError);
  await assert.rejects(other.open(whole), CapsuleError);
});

test("keys that the server did not sign are refused", () => {
  assert.throws(() => readGatewayKeys(changed(encoded, 9), signature, server), CapsuleError);
  assert.throws(() => readGatewayKeys(encoded, "", server), CapsuleError);
  assert.throws(() => readGatewayKeys(encoded, signature, changed(server, 0)), /not signed by the server/);
});

test("requests have one of three lengths, and longer ones are refused", async () => {
  const key = readGatewayKeys(encoded, signature, server);
  const length = async (content: number, atLeast = 0) =>
    (await sealRequest(key, { ...REQUEST, content: new Uint8Array(content) }, { atLeast })).body.length - 55;
  const lengths = [await length(0), await length(900), await length(1000), await length(0, 5000)];
  assert.deepEqual(lengths, [1024, 1024, 4096, 32768]);
  await assert.rejects(length(32768), /request: must have at most 32768/);
});
