// Checks an entry of the public log, or all of them: with what the site serves, and arithmetic. Formats: RFC
// 6962 and C2SP (tlog-tiles, tlog-checkpoint, tlog-cosignature), as docs/protocol.md says.

const WIDTH = 256, HASH = 32, HEIGHT = 8;
const ED25519 = 1, COSIGNATURE = 4;
const UNSIGNED = ["signature", "truth", "devices", "sampled"];

const place = document.getElementById("verification");
const list = place.querySelector(".steps");
const outcome = place.querySelector(".outcome");
const text = new TextEncoder();

class Refusal extends Error {}

// Words

function step(mark, words, detail = "") {
  const item = document.createElement("li");
  const strong = document.createElement("strong");
  strong.textContent = `${mark}. `;
  item.className = { "Holds": "holds", "Does not hold": "fails" }[mark] ?? "";
  item.append(strong, words);
  if (detail) {
    const code = document.createElement("code");
    code.className = "hash";
    code.textContent = detail;
    item.append(document.createElement("br"), code);
  }
  list.append(item);
}

function require(condition, holds, fails, detail = "") {
  if (!condition) {
    step("Does not hold", fails, detail);
    throw new Refusal(fails);
  }
  step("Holds", holds, detail);
}

const number = (value) => value.toLocaleString("en");
const entries = (start, end) =>
  end - start === 1 ? `entry ${number(end)}` : `entries ${number(start + 1)} to ${number(end)}`;

// Bytes and hashes

const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const fromBase64 = (encoded) => Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0));
const same = (one, other) => hex(one) === hex(other);

async function sha256(...parts) {
  const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

async function hashed(prefix, ...parts) {
  const bytes = new Uint8Array(1 + parts.reduce((sum, part) => sum + part.length, 0));
  bytes[0] = prefix;
  let at = 1;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

const leafHash = (entry) => hashed(0, entry);
const nodeHash = (left, right) => hashed(1, left, right);

// Of neighbours, level by level; one without a neighbour goes up as it is (the same root as RFC 6962, 2.1).
async function rootOf(hashes) {
  if (!hashes.length) return sha256();
  while (hashes.length > 1) {
    const above = [];
    for (let at = 0; at < hashes.length; at += 2) {
      above.push(at + 1 < hashes.length ? nodeHash(hashes[at], hashes[at + 1]) : hashes[at]);
    }
    hashes = await Promise.all(above);
  }
  return hashes[0];
}

// What the site serves

async function served(address, what) {
  let answer;
  try {
    answer = await fetch(address, { credentials: "omit" });
  } catch {
    throw new Refusal(`${what} could not be fetched.`);
  }
  if (!answer.ok) throw new Refusal(`${what} could not be fetched: the site answered ${answer.status}.`);
  return new Uint8Array(await answer.arrayBuffer());
}

function indexPath(index) {
  const digits = String(index);
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, "0").match(/.{3}/g);
  return groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join("/");
}

function addressed(kind, index, width) {
  return `${place.dataset.log}tile/${kind}/${indexPath(index)}${width < WIDTH ? `.p/${width}` : ""}`;
}

class Tree {
  constructor(size) {
    this.size = size;
    this.tiles = new Map();
  }

  width(level, index) {
    return Math.min(WIDTH, Math.floor(this.size / WIDTH ** level) - index * WIDTH);
  }

  async tile(level, index) {
    const width = this.width(level, index);
    const bytes = await served(addressed(level, index, width), "A tile");
    if (bytes.length !== width * HASH) throw new Refusal("A tile has not the length that it must have.");
    return Array.from({ length: width }, (_, at) => bytes.subarray(at * HASH, (at + 1) * HASH));
  }

  kept(level, index) {
    const name = `${level} ${index}`;
    if (!this.tiles.has(name)) this.tiles.set(name, this.tile(level, index));
    return this.tiles.get(name);
  }

  // The hash over 2 ** height entries, from the tile that has it or the nodes below it.
  async node(height, index) {
    const level = Math.floor(height / HEIGHT), count = 2 ** (height % HEIGHT), first = index * count;
    const tile = await this.kept(level, Math.floor(first / WIDTH));
    return rootOf(tile.slice(first % WIDTH, (first % WIDTH) + count));
  }

  // The hash over entries from `start` on, before `end`.
  async range(start, end) {
    const height = Math.log2(end - start);
    if (Number.isInteger(height)) return this.node(height, start / 2 ** height);
    const middle = start + split(end - start);
    return nodeHash(await this.range(start, middle), await this.range(middle, end));
  }

  async bundle(index) {
    const width = this.width(0, index);
    const bytes = await served(addressed("entries", index, width), "A bundle of entries");
    const found = [];
    let at = 0;
    while (at + 2 <= bytes.length) {
      const end = at + 2 + bytes[at] * 256 + bytes[at + 1];
      found.push(bytes.subarray(at + 2, end));
      at = end;
    }
    if (at !== bytes.length || found.length !== width) throw new Refusal("A bundle of entries is malformed.");
    return found;
  }

  // What lies beside an entry on its way to the root, from the bottom up.
  beside(position) {
    const found = [];
    let start = 0, end = this.size;
    while (end - start > 1) {
      const middle = start + split(end - start);
      if (position < middle) {
        found.unshift({ right: true, start: middle, end });
        end = middle;
      } else {
        found.unshift({ right: false, start, end: middle });
        start = middle;
      }
    }
    return found;
  }
}

// The largest power of two below a number.
function split(count) {
  let power = 1;
  while (power * 2 < count) power *= 2;
  return power;
}

// Signatures

async function parsedKey(line) {
  const [name, identifier, ...rest] = line.split("+");
  const material = fromBase64(rest.join("+"));
  const found = (await sha256(name, "\n", material)).slice(0, 4);
  if (hex(found) !== identifier) throw new Refusal("The key's identifier does not fit the key.");
  return { name, identifier, kind: material[0], bytes: material.slice(1) };
}

async function imported(key) {
  try {
    return await crypto.subtle.importKey("raw", key.bytes, { name: "Ed25519" }, false, ["verify"]);
  } catch {
    return null;
  }
}

const holds = (key, signature, message) =>
  crypto.subtle.verify({ name: "Ed25519" }, key, signature, text.encode(message));

function signatureBy(lines, key) {
  for (const line of lines) {
    const [dash, name, encoded, ...more] = line.split(" ");
    if (dash !== "—" || name !== key.name || !encoded || more.length) continue;
    const content = fromBase64(encoded);
    if (hex(content.slice(0, 4)) === key.identifier) return content.slice(4);
  }
  return null;
}

async function checkpoint() {
  const note = new TextDecoder().decode(await served(`${place.dataset.log}checkpoint`, "The checkpoint"));
  const end = note.lastIndexOf("\n\n") + 1;
  const signed = note.slice(0, end), lines = note.slice(end + 1).split("\n");
  const [origin, size, root] = signed.split("\n");
  const key = await parsedKey(place.dataset.key);
  require(
    origin === key.name && /^(0|[1-9][0-9]{0,15})$/.test(size),
    `The checkpoint of ${origin} covers ${number(Number(size))} entries, with this root:`,
    "The checkpoint is not one of this log.",
    hex(fromBase64(root ?? "")),
  );
  const usable = await imported(key);
  if (!usable) {
    step("Not checked", "This browser cannot check Ed25519 signatures. What follows shows only that the " +
      "entries fit the root above, not who signed it.");
  } else {
    const signature = signatureBy(lines, key);
    require(
      signature !== null && key.kind === ED25519 && (await holds(usable, signature, signed)),
      "The log's key signed it.",
      "The checkpoint has no valid signature by the log's key.",
    );
    await witnesses(lines, signed);
  }
  return { size: Number(size), root: fromBase64(root), signed: usable !== null };
}

async function witnesses(lines, signed) {
  for (const line of place.dataset.witnesses.split(" ").filter(Boolean)) {
    const key = await parsedKey(line);
    const found = signatureBy(lines, key);
    if (found === null) {
      step("Missing", `The witness ${key.name} has not signed it yet.`);
      continue;
    }
    const seconds = new DataView(found.buffer, found.byteOffset).getBigUint64(0);
    const message = `cosignature/v1\ntime ${seconds}\n${signed}`;
    const when = new Date(Number(seconds) * 1000).toISOString();
    require(
      key.kind === COSIGNATURE && (await holds(await imported(key), found.slice(8), message)),
      `The witness ${key.name} signed it at ${when}.`,
      `The signature of the witness ${key.name} does not hold.`,
    );
  }
}

// What is checked

async function verifyEntry(position) {
  const { size, root, signed } = await checkpoint();
  if (position >= size) throw new Refusal("The entry is not in the tree yet. Try again in some seconds.");
  const tree = new Tree(size);
  const bundle = await tree.bundle(Math.floor(position / WIDTH));
  const content = bundle[position % WIDTH];
  const entry = JSON.parse(new TextDecoder().decode(content));
  step("Read", `Entry ${number(position + 1)} says:`, JSON.stringify(entry));
  await fitsDocument(entry);
  let hash = await leafHash(content);
  step("Computed", "The entry's hash: SHA-256 of a zero byte and the entry.", hex(hash));
  const tile = await tree.kept(0, Math.floor(position / WIDTH));
  require(
    same(tile[position % WIDTH], hash),
    "The log's tile has the same hash for it.",
    "The log's tile has another hash for this entry.",
  );
  for (const { right, start, end } of tree.beside(position)) {
    const other = await tree.range(start, end);
    hash = await (right ? nodeHash(hash, other) : nodeHash(other, hash));
    const side = right ? "right" : "left";
    step("Computed", `With the hash of ${entries(start, end)} on the ${side}:`, hex(hash));
  }
  require(
    same(hash, root),
    "The last hash is the root of the checkpoint.",
    "The last hash is not the root of the checkpoint: the log was tampered with.",
    hex(root),
  );
  return [`Entry ${number(position + 1)} is in the log of ${number(size)} entries.`, signed];
}

const CONCLUDED = ["result_released", "result_withheld", "result_recorded"];

// An entry about a recipe or a result has its hash: it is compared with what the site serves.
async function fitsDocument(entry) {
  const address = `${place.dataset.recipes}${entry.subject}/`;
  if (entry.action === "recipe_published") {
    const { document } = await json(address, "The recipe");
    const found = hex(await sha256(canonical(document)));
    require(found === entry.subject, "The identifier is the SHA-256 of the recipe that the site serves.",
      "The site serves another recipe than the entry names.", found);
  } else if (CONCLUDED.includes(entry.action) && entry.details.result) {
    const result = await json(`${address}result/`, "The result");
    const found = hex(await sha256(canonical(withoutUnsigned(result))));
    require(found === entry.details.result, "The entry has the SHA-256 of the result that the site serves.",
      "The site serves another result than the entry says: it was changed.", found);
  }
}

// One result of each recipe: only one from before results were signed is recorded later, with its hash, once.
function requireOneResult(content, results) {
  let entry;
  try {
    entry = JSON.parse(new TextDecoder().decode(content));
  } catch {
    return;
  }
  if (!CONCLUDED.includes(entry?.action)) return;
  const hash = entry.details?.result ?? null;
  if (results.has(entry.subject)) {
    const follows =
      results.get(entry.subject) === null && entry.action === "result_recorded" && hash !== null;
    if (!follows) {
      const words = "The log has two results of one recipe: one was replaced.";
      step("Does not hold", words, String(entry.subject));
      throw new Refusal(words);
    }
  }
  results.set(entry.subject, hash);
}

async function json(address, what) {
  return JSON.parse(new TextDecoder().decode(await served(address, what)));
}

// RFC 8785: members in the order of their names; numbers and texts as ECMAScript writes them.
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`);
  return `{${members.join(",")}}`;
}

// What only a simulation knows is not signed there; a real result with such a member was changed.
function withoutUnsigned(result) {
  const simulated = result.simulation === true;
  const unsigned = simulated ? UNSIGNED : UNSIGNED.slice(0, 1);
  const members = Object.fromEntries(Object.entries(result).filter(([name]) => !unsigned.includes(name)));
  if (simulated && Array.isArray(members.segments)) {
    members.segments = members.segments.map(({ truth, ...segment }) => segment);
  }
  return members;
}

async function verifyTree() {
  const { size, root, signed } = await checkpoint();
  const tree = new Tree(size);
  const count = Math.ceil(size / WIDTH);
  const results = new Map();
  let full = [], rest = [];
  for (let index = 0; index < count; index += 1) {
    outcome.textContent = `Checking ${number(index * WIDTH)} of ${number(size)} entries …`;
    const contents = await tree.bundle(index);
    for (const content of contents) requireOneResult(content, results);
    const hashes = await Promise.all(contents.map(leafHash));
    await fitsTile(tree, 0, index, hashes);
    if (hashes.length === WIDTH) full.push(await rootOf(hashes));
    else rest = hashes;
  }
  step("Holds", `All ${number(size)} entries have the hashes that the tiles have.`);
  step("Holds", "No recipe has two results among them.");
  const last = rest.length ? [await rootOf(rest)] : [];
  const found = await rootOf([...full, ...last]);
  for (let level = 1; full.length; level += 1) {
    const above = [];
    for (let index = 0; index * WIDTH < full.length; index += 1) {
      const hashes = full.slice(index * WIDTH, (index + 1) * WIDTH);
      await fitsTile(tree, level, index, hashes);
      if (hashes.length === WIDTH) above.push(await rootOf(hashes));
    }
    step("Holds", `Tiles of level ${level} have the hashes of the level below.`);
    full = above;
  }
  require(
    same(found, root),
    "The hash over all entries is the root of the checkpoint.",
    "The hash over all entries is not the root of the checkpoint: the log was tampered with.",
    hex(found),
  );
  return [`The whole tree holds: ${number(size)} entries.`, signed];
}

async function fitsTile(tree, level, index, hashes) {
  const tile = await tree.tile(level, index);
  const wrong = hashes.findIndex((hash, at) => !same(hash, tile[at]));
  if (wrong < 0) return;
  const words = `Tile ${number(index)} of level ${level} has another hash in place ${wrong + 1}.`;
  step("Does not hold", words, hex(tile[wrong]));
  throw new Refusal(words);
}

async function verify(what) {
  list.replaceChildren();
  list.hidden = false;
  outcome.className = "outcome";
  outcome.textContent = "Checking …";
  document.getElementById("verification-title").focus();
  try {
    const [words, signed] = await (what === "all" ? verifyTree() : verifyEntry(Number(what) - 1));
    outcome.textContent = signed
      ? `Verified. ${words}`
      : `Verified in part. ${words} Who signed it was not checked.`;
    outcome.className = signed ? "outcome good panel" : "outcome warning";
  } catch (error) {
    const words = error instanceof Refusal ? error.message : "The site’s answers are malformed.";
    outcome.textContent = `Not verified. ${words}`;
    outcome.className = "outcome error panel";
  }
}

const buttons = [...document.querySelectorAll("button[data-verify]")];

if (globalThis.crypto?.subtle) {
  for (const button of buttons) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      for (const one of buttons) one.disabled = true;
      await verify(button.dataset.verify);
      for (const one of buttons) one.disabled = false;
    });
  }
} else {
  outcome.textContent = "This browser offers no cryptography here: open the page over https, or paste the " +
    "lines on the page of a recipe.";
}
