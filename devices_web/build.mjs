/**
 * `node build.mjs`, all below build/: src/ as one module for pages, the programs of the site's own pages
 * (/try/), and tests/ as programs for Node.
 */

import { build } from "esbuild";
import { existsSync, readdirSync } from "node:fs";

const common = { bundle: true, format: "esm", target: "es2022", legalComments: "none", logLevel: "warning" };

await build({
  ...common,
  entryPoints: ["src/index.ts"],
  outfile: "build/devices-web.js",
  minify: true,
  platform: "browser",
});

await build({
  ...common,
  entryPoints: ["src/try/try.ts", "src/try/intruder.ts"],
  outdir: "build",
  minify: true,
  platform: "browser",
});

// A container image has no tests.
const programs = existsSync("tests") ? readdirSync("tests").filter((name) => name.endsWith(".ts")) : [];
await build({
  ...common,
  entryPoints: programs.map((name) => `tests/${name}`),
  outdir: "build/tests",
  outExtension: { ".js": ".mjs" },
  platform: "node",
});
