/** A recipe's place in the public log, as Python proves it, and what is refused. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { parsePolicy, requireLogged } from "../src/log.ts";
import { LogError, TooFewWitnessesError } from "../src/signed_note.ts";
import { python } from "./given.ts";

const { policy, proof } = python.log;
const { served } = python.recipes.count!;
const NOW = 1_770_000_000;

test("a recipe in the log is found, with its witnesses", () => {
  const { origin, index, size, witnesses } = requireLogged(served, proof, parsePolicy(policy), NOW);
  assert.deepEqual([origin, index, size, witnesses], ["site.example/log", 4n, 7n, ["a", "b"]]);
  const other = python.recipes.mean!.served;
  assert.throws(() => requireLogged(other, proof, parsePolicy(policy), NOW), /another entry/);
});

test("too few witnesses are refused, and those whose time has not come", () => {
  const all = parsePolicy(policy.replace("group most 2", "group most all"));
  assert.throws(() => requireLogged(served, proof, all, NOW), TooFewWitnessesError);
  assert.throws(() => requireLogged(served, proof, parsePolicy(policy), NOW - 86_401), TooFewWitnessesError);
  assert.ok(requireLogged(served, proof, parsePolicy(policy), NOW - 86_400));
});

test("another log's key is refused, and a policy without a quorum", () => {
  const key = policy.split("\n").find((line) => line.startsWith("witness c"))!;
  assert.throws(() => parsePolicy([`log ${key.split(" ")[2]}`, "quorum none", ""].join("\n")), /line 1/);
  const { logs, ...rest } = parsePolicy(policy);
  const stranger = { ...logs[0]!, key: rest.witnesses.get("c")!.key };
  assert.throws(
    () => requireLogged(served, proof, { logs: [stranger], ...rest, quorum: "none" }, NOW),
    /signature of site.example/,
  );
  assert.throws(() => parsePolicy(policy.replace("quorum most\n", "")), /must have a line/);
});

test("a proof with any character changed is refused", () => {
  const read = parsePolicy(policy);
  const kept = [];
  for (let at = 0; at < proof.length; at += 7) {
    const changed = proof[at] === "A" ? "B" : "A";
    const other = proof.slice(0, at) + changed + proof.slice(at + 1);
    try {
      requireLogged(served, other, read, NOW);
      kept.push(at);
    } catch (error) {
      assert.ok(error instanceof LogError, `${at}: ${error}`);
    }
  }
  assert.deepEqual(kept, []);
});

for (const [line, message] of [
  ["colour red", /line 9/],
  ["quorum most", /line 9/],
  ["group again 1 a", /line 9/],
  ["witness a x+00000000+AA==", /^LogError: line 9 of the policy: a verifier key must look like/],
  ["log ???", /^LogError: line 9 of the policy: a verifier key/],
] as const) {
  test(`a policy with the line ${line} is refused`, () => {
    assert.throws(() => parsePolicy(`${policy.trimEnd()}\n# 8\n${line}\n`), message);
  });
}
