/** Writes vectors/js.json: the cases of Python's file with randomness of this side's own. */

import { writeFileSync } from "node:fs";

import { type Case, computed, python, VECTORS } from "./given.ts";

const cases: Case[] = [];
for (const asked of python.cases) {
  cases.push(await computed({ ...asked, seed: asked.seed.replace("python", "js") }));
}
writeFileSync(new URL("js.json", VECTORS), `${JSON.stringify({ cases }, undefined, 1)}\n`);
