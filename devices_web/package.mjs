/** `node package.mjs`, after build.mjs: what npm installs, as the folder build/package and a .tgz in build/. */

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";

const FOLDER = "build/package";

rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER, { recursive: true });
for (const file of ["README.md", "../LICENSE", "build/NOTICES.txt", "build/devices-web.js"]) {
  copyFileSync(file, `${FOLDER}/${file.split("/").at(-1)}`);
}

execFileSync("node_modules/.bin/tsc", ["--project", "tsconfig.package.json"], { stdio: "inherit" });
for (const name of readdirSync(`${FOLDER}/types`, { recursive: true }).filter((each) => each.endsWith(".ts"))) {
  const file = `${FOLDER}/types/${name}`;
  // TypeScript finds types by the names that the modules would have.
  writeFileSync(file, readFileSync(file, "utf8").replace(/(from "\.[^"]*)\.ts"/g, '$1.js"'));
}

// The code of all dependencies is in the module, so the package has none.
const { name, version, description, license, type, engines } = JSON.parse(readFileSync("package.json", "utf8"));
const exports = { ".": { types: "./types/index.d.ts", default: "./devices-web.js" } };
const described = { name, version, description, license, type, engines, exports };
writeFileSync(`${FOLDER}/package.json`, `${JSON.stringify(described, null, 2)}\n`);

execFileSync("npm", ["pack", "--silent", "--pack-destination", "..", "--ignore-scripts"], {
  cwd: FOLDER,
  stdio: "inherit",
});
