/** Tokens as Python asks for them, and answers that give none. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { signCapsule } from "../src/attester.ts";
import { type Bytes, fromBase64, fromHex, toBase64 } from "../src/bytes.ts";
import {
  askForToken,
  blindedAnew,
  challengeDigest,
  drawToken,
  readTokenKey,
  tokenDrawn,
  TokenError,
} from "../src/token.ts";
import { OF_ATTESTER, OF_ISSUER, remedyOf } from "../src/token_answers.ts";
import { GivenBytes, python } from "./given.ts";

const encoded = fromBase64("key", python.token.key);
const response = fromBase64("response", python.token.response);

function asked(seed = "token") {
  const key = readTokenKey(encoded);
  const recipe = fromHex("id", python.recipes["count-two-servers"]!.served.id, 32);
  const challenge = challengeDigest("issuer.example", recipe, ["leader.example", "helper.example"]);
  return askForToken(key, challenge, drawToken(key, new GivenBytes(seed)));
}

function changed(bytes: Bytes, at: number): Bytes {
  const other = bytes.slice();
  other[at]! ^= 1;
  return other;
}

test("a token is asked for as panprivacy asks, and the answer gives the same token", () => {
  const pending = asked();
  assert.equal(toBase64(pending.request), python.token.request);
  assert.equal(toBase64(pending.finish(response)), python.token.token);
});

test("an answer that is none to this request gives no token", () => {
  const pending = asked();
  const tooLarge = new Uint8Array(256).fill(255);
  const wrong = [changed(response, 255), changed(response, 3), response.slice(1), tooLarge];
  for (const answer of wrong) {
    assert.throws(() => pending.finish(answer), TokenError);
  }
  assert.throws(() => asked("another").finish(response), TokenError);
  for (const key of [changed(encoded, 40), changed(encoded, encoded.length - 1), encoded.slice(1)]) {
    assert.throws(() => readTokenKey(key), /admission.token_key: must be/);
  }
});

test("another blinding factor hides the same token in another request", () => {
  const key = readTokenKey(encoded);
  const drawn = tokenDrawn(key, 0, new GivenBytes("token"));
  const capsule = { ...drawn, capsule: "AAAA", secret: "AAAA" };
  const anew = blindedAnew(capsule, key, new GivenBytes("another factor"));
  assert.notEqual(anew.factor, drawn.factor);
  assert.deepEqual({ ...anew, factor: drawn.factor }, drawn);
});

test("devices of both sides do the same about answers, and nothing about types that are named nowhere", () => {
  assert.deepEqual({ attester: OF_ATTESTER, issuer: OF_ISSUER }, python.token_answers);
  for (const type of [1, null, ["/problems/already-issued"], "toString", "__proto__"]) {
    const content = new TextEncoder().encode(JSON.stringify({ type }));
    assert.equal(remedyOf({ status: 409, type: "application/problem+json", content }, OF_ATTESTER), "later");
  }
});

test("a capsule is signed as docs/protocol.md shows it", () => {
  const key = Uint8Array.from({ length: 32 }, (_, at) => at);
  const url = "https://attester.example.com/attester/token";
  assert.deepEqual(signCapsule(url, new Uint8Array(1079), key, 1_800_000_000), {
    "Panapp-Device-Key": "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=",
    "Content-Digest": "sha-256=:PlCBaFsAmQa8mHShVWqN2ifEfMbGyT9z5deCp8OTG94=:",
    "Signature-Input":
      'dap=("@method" "@target-uri" "content-digest" "content-type");created=1800000000' +
      ';alg="ed25519";tag="dap-18"',
    Signature:
      "dap=:aIWHB8LkQALrug37ZW75PhmLfrf2AmWVzPntOKnHcqoyD1Gck0St5a0IW+/Uvfb6VpDdq9v1SLAn6UkWU/UyAw==:",
  });
});
