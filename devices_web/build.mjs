/**
 * `node build.mjs`, all below build/: src/ as one module for pages and as an extension, the programs of the
 * site's own pages (/try/), and tests/ as programs for Node.
 */

import { build } from "esbuild";
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";

/** What the bundles contain: their licences ask that these notices go with them. */
const BUNDLED = ["@noble/curves", "@noble/hashes", "@hpke/core", "@hpke/common", "canonicalize", "idb"];
const notices = BUNDLED.map((name) => `${name}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8")}`);

const common = { bundle: true, format: "esm", target: "es2022", legalComments: "none", logLevel: "warning" };

await build({
  ...common,
  entryPoints: ["src/index.ts"],
  outfile: "build/devices-web.js",
  minify: true,
  // An error that a program does not catch shows the line where it was thrown.
  lineLimit: 160,
  platform: "browser",
});

await build({
  ...common,
  entryPoints: ["background", "device", "event", "options"].map((name) => `src/extension/${name}.ts`),
  outdir: "build/extension",
  minify: true,
  platform: "browser",
});
cpSync("extension", "build/extension", { recursive: true });
for (const folder of ["build", "build/extension"]) {
  writeFileSync(`${folder}/NOTICES.txt`, notices.join("\n\n"));
}

await build({
  ...common,
  entryPoints: ["src/try/try.ts", "src/try/intruder.ts"],
  outdir: "build",
  minify: true,
  platform: "browser",
});

// `make verifier` copies it to where the site serves it, also from a clone in which nothing was built.
const origin = "Made of devices_web/src/verify.ts by `make verifier`.";
await build({
  ...common,
  entryPoints: ["src/verify.ts"],
  outfile: "build/pages/verify.js",
  minify: true,
  platform: "browser",
  banner: { js: `/* ${[origin, ...notices].join("\n\n")}*/` },
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
