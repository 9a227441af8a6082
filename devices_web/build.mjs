/**
 * `node build.mjs`: src/ as one module for pages and as an extension, tests/ as programs for Node, all below
 * build/.
 */

import { build } from "esbuild";
import { cpSync, readdirSync } from "node:fs";

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
  entryPoints: ["background", "device", "event"].map((name) => `src/extension/${name}.ts`),
  outdir: "build/extension",
  minify: true,
  platform: "browser",
});
cpSync("extension", "build/extension", { recursive: true });

const programs = readdirSync("tests").filter((name) => name.endsWith(".ts"));
await build({
  ...common,
  entryPoints: programs.map((name) => `tests/${name}`),
  outdir: "build/tests",
  outExtension: { ".js": ".mjs" },
  platform: "node",
});
