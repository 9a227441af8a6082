/** `node build.mjs`: src/ as one module for pages, tests/ as programs for Node, both below build/. */

import { build } from "esbuild";
import { readdirSync } from "node:fs";

const common = { bundle: true, format: "esm", target: "es2022", legalComments: "none", logLevel: "warning" };

await build({
  ...common,
  entryPoints: ["src/index.ts"],
  outfile: "build/devices-web.js",
  minify: true,
  platform: "browser",
});

const programs = readdirSync("tests").filter((name) => name.endsWith(".ts"));
await build({
  ...common,
  entryPoints: programs.map((name) => `tests/${name}`),
  outdir: "build/tests",
  outExtension: { ".js": ".mjs" },
  platform: "node",
});
