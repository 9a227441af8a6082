/** Which policies of administrators the extension refuses, and in what words. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { FieldError, toBase64 } from "../src/bytes.ts";
import { readSettings, requireAllowed } from "../src/extension/settings.ts";

const ID = "0123456789abcdef".repeat(4);
const KEY = toBase64(new Uint8Array(32).fill(7));
const USABLE = {
  server: "https://telemetry.example",
  server_key: KEY,
  log_policy: "log …",
  recipes: [{ id: ID, events: ["search", "open", "borrow"] }],
  origins: ["https://catalogue.example", "https://catalogue.example:8443", "http://127.0.0.1:8000"],
};
const OTHERS = { helper_key: KEY, issuer_key: KEY, enrolment_code: "code" };

test("no policy is none, and one that can be used is read as it stands", () => {
  assert.equal(readSettings({}), undefined);
  const limits = [{ lifetime_epsilon: 0 }, { lifetime_epsilon: 1e6 }];
  for (const more of [{}, OTHERS, { tick_seconds: 1 }, { tick_seconds: 3600 }, ...limits]) {
    assert.deepEqual(readSettings({ ...USABLE, ...more }), { ...USABLE, ...more });
  }
});

const ORIGIN = /^origins: must be https only, in lower case, without \*, path and trailing slash, as /;
const SERVER = /^server: must be https only, without \* and trailing slash, as /;
const TICK = /^tick_seconds: must be a whole number from 1 to 3600, not /;
const LIFETIME = /^lifetime_epsilon: must be a number from 0 to 1,000,000, not /;
const BASE64 = "must be 32 bytes in base64$";
const recipes = (...ids: unknown[]) => ({ recipes: ids.map((id) => ({ id, events: ["search"] })) });

for (const [changes, message] of [
  ...[0, -5, 7200, 1.5, "30", null].map((tick_seconds) => [{ tick_seconds }, TICK]),
  ...[-1, 1e7, NaN, Infinity, "8", null].map((lifetime_epsilon) => [{ lifetime_epsilon }, LIFETIME]),
  ...["https://*.example", "https://*", "*", "http://catalogue.example", "https://Catalogue.example"].map(
    (origin) => [{ origins: [USABLE.origins[0], origin] }, ORIGIN],
  ),
  ...["https://catalogue.example/", "https://catalogue.example/a", "https://catalogue.example:443", 1].map(
    (origin) => [{ origins: [origin] }, ORIGIN],
  ),
  [{ origins: "https://catalogue.example" }, /^origins: must be a list of origins, as /],
  ...["https://telemetry.example/", "http://telemetry.example", "https://*.example", "https://:1"].map(
    (server) => [{ server }, SERVER],
  ),
  [{ server: 1 }, /^server: is missing, or no text$/],
  ...["server_key", "helper_key", "issuer_key"].flatMap((name) =>
    ["xx", "AAAA", KEY.slice(0, -1), ""].map((key) => [{ [name]: key }, new RegExp(`^${name}: ${BASE64}`)]),
  ),
  [{ enrolment_code: "" }, /^enrolment_code: must be a text of at least one character$/],
  ...["nonsense", ID.toUpperCase(), ID.slice(1), `${ID}0`].map((id) => [
    recipes(ID, id),
    /^recipes\[1\]\.id: must be 64 lower-case hexadecimal digits$/,
  ]),
  [recipes(ID, ID), new RegExp(`^recipes: must name each recipe once, not ${ID} twice$`)],
  ...[undefined, "all", [null], [{ id: ID }], [{ id: 1, events: ["search"] }], [{ id: ID, events: "search" }]].map((given) => [
    { recipes: given },
    /^recipes: must be a list of objects with id and events$/,
  ]),
  ...[[], [..."abcdefghi"], ["search", "search"]].map((events) => [
    { recipes: [{ id: ID, events }] },
    /^recipes\[0\]\.events: must be 1 to 8 names that differ$/,
  ]),
  ...["looked up", "Search", "", "x".repeat(61), 1, null].map((name) => [
    { recipes: [{ id: ID, events: ["search", name] }] },
    /^recipes\[0\]\.events: must be 1 to 60 of the characters a-z, 0-9, dot, _ and -, but no - at the beginning$/,
  ]),
] as [object, RegExp][]) {
  test(`a policy with ${JSON.stringify(changes)} is refused`, () => {
    assert.throws(
      () => readSettings({ ...USABLE, ...changes }),
      (error) => error instanceof FieldError && message.test(error.message),
    );
  });
}

test("the schema says kinds alone: what is outside of a range there would be dropped and not be told", () => {
  const path = new URL("../../extension/schema.json", import.meta.url);
  const schema = JSON.parse(readFileSync(path, "utf8"));
  const words = (node: Record<string, unknown>): string[] => [
    ...Object.keys(node),
    ...Object.values((node.properties ?? {}) as Record<string, Record<string, unknown>>).flatMap(words),
    ...(node.items === undefined ? [] : words(node.items as Record<string, unknown>)),
  ];
  assert.deepEqual([...new Set(words(schema))].sort(), ["description", "items", "properties", "type"]);
  const known = [...Object.keys({ ...USABLE, ...OTHERS }), "lifetime_epsilon", "tick_seconds"];
  assert.deepEqual(Object.keys(schema.properties).sort(), known.sort());
});

test("a recipe is allowed whose events are those of the policy, or that lists none and has one", () => {
  for (const [events, allowed] of [
    [["search", "open"], ["open", "search"]],
    [["search"], ["search"]],
    [[], ["search"]],
  ] as const) {
    requireAllowed({ events }, allowed);
  }
});

for (const [events, allowed, message] of [
  [["search", "open", "borrow"], ["open", "search"], "the recipe's search, open, borrow; not open, search"],
  [["search", "open"], ["search", "borrow"], "the recipe's search, open; not search, borrow"],
  [["search"], ["borrow"], "the recipe's search; not borrow"],
  // The name would be recorded nowhere.
  [["search"], ["search", "open"], "the recipe's search; not search, open"],
  [[], ["search", "open"], "one name, because the recipe lists none; not search, open"],
] as const) {
  test(`a recipe of ${events.join(", ") || "no name"} is refused if ${allowed.join(", ")} are allowed`, () => {
    const refusal = { name: "FieldError", message: `events: must be ${message}` };
    assert.throws(() => requireAllowed({ events }, allowed), refusal);
  });
}
