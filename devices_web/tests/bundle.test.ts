/** The library as `build.mjs` makes it, whose names are short inside. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

/** Compressed, in bytes. */
const MOST_BYTES = 60 * 1024;

const BUNDLE = new URL("../devices-web.js", import.meta.url);
// As data: Node takes a .js file for a module only where a package.json above it says so.
const bundle: Record<string, unknown> = await import(
  `data:text/javascript;base64,${readFileSync(BUNDLE).toString("base64")}`
);

test("errors have the names under which they are exported", () => {
  const errors = Object.entries(bundle).filter(
    (entry): entry is [string, new (...words: string[]) => Error] =>
      typeof entry[1] === "function" && entry[1].prototype instanceof Error,
  );
  assert.ok(errors.some(([name]) => name === "UndeliverableError"));
  assert.deepEqual(
    errors.map(([, Failed]) => new Failed("field", "problem").name),
    errors.map(([name]) => name),
  );
});

test("a policy that is none is named in the error", () => {
  const atSite = bundle.atSite as (recipe: string, site: object) => object;
  const site = { server: "https://telemetry.example", keys: { server: "" } };
  for (const policy of [undefined, 7, "log telemetry.example/log"]) {
    assert.throws(() => atSite("", { ...site, policy }), /policy/);
  }
  assert.ok(atSite("", { ...site, policy: null }));
});

test("the library is no longer than it may be", () => {
  assert.ok(gzipSync(readFileSync(BUNDLE), { level: 9 }).length <= MOST_BYTES);
});

test("the pages' verifier of the log is what its source gives", () => {
  const [made, kept] = ["../pages/verify.js", "../../../collections/pages/static/verify.js"].map((path) =>
    readFileSync(new URL(path, import.meta.url), "utf8"),
  );
  assert.ok(made === kept, "run `make verifier` and commit what it writes");
});
