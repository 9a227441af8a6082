/**
 * The program of the site's pages that checks an entry of the public log, or all of them: from what the site
 * serves, by arithmetic. Its words are the page's.
 */

import { sha256 } from "@noble/hashes/sha2.js";

import { type Bytes, equal, toHex } from "./bytes.ts";
import { canonicalJson } from "./document.ts";
import { type Checkpoint, parseCheckpoint } from "./log.ts";
import {
  cosignedAt,
  LogError,
  type Note,
  parseNote,
  parseVerifierKey,
  requireSigned,
  treeHash,
} from "./signed_note.ts";
import { hashesIn, powerBelow, rootOf, Tiles, WIDTH } from "./tiles.ts";
import { ANY_TYPE, DirectWay, JSON_TYPE, NoAnswerError, recipePath } from "./way.ts";

/** Fields of a result that its signature does not cover; all but the first are a simulation's alone. */
const UNSIGNED = ["signature", "truth", "devices", "sampled"];
const CONCLUDED: readonly unknown[] = ["result_released", "result_withheld", "result_recorded"];

/** That a recipe or a result may have: one with a count of each of 100,000 items has several million. */
const DOCUMENT_BYTES = 64 * 1024 * 1024;

type Json = Readonly<Record<string, unknown>>;

/** Something does not hold; the message is shown. */
class Refusal extends Error {}

/** Nothing fails, but something is not there yet; the message is shown. */
class Pending extends Error {}

const place = document.getElementById("verification")!;
const list = place.querySelector<HTMLElement>(".steps")!;
const outcome = place.querySelector<HTMLElement>(".outcome")!;
const way = new DirectWay(location.origin);

type Mark = "Holds" | "Does not hold" | "Missing" | "Read" | "Computed";

function step(mark: Mark, words: string, detail = ""): void {
  const item = document.createElement("li");
  const strong = document.createElement("strong");
  strong.textContent = `${mark}. `;
  item.className = { Holds: "holds", "Does not hold": "fails" }[mark as string] ?? "";
  item.append(strong, words);
  if (detail) {
    const code = document.createElement("code");
    code.className = "hash";
    code.textContent = detail;
    item.append(document.createElement("br"), code);
  }
  list.append(item);
}

function refuse(words: string, detail = ""): never {
  step("Does not hold", words, detail);
  throw new Refusal(words);
}

function require(condition: boolean, holds: string, fails: string, detail = ""): void {
  if (!condition) {
    refuse(fails, detail);
  }
  step("Holds", holds, detail);
}

const shown = (value: number) => value.toLocaleString("en");
const entries = (start: number, end: number) =>
  end - start === 1 ? `entry ${shown(end)}` : `entries ${shown(start + 1)} to ${shown(end)}`;

/** The result of a check of a signature; undefined if the signature does not hold. */
function checked<Found>(check: () => Found): { readonly found: Found } | undefined {
  try {
    return { found: check() };
  } catch (error) {
    if (error instanceof LogError) {
      return undefined;
    }
    throw error;
  }
}

async function served(path: string, accept: string, what: string): Promise<string> {
  const { status, content } = await way.ask({ path, accept, most: DOCUMENT_BYTES });
  if (status !== 200) {
    throw new Refusal(`${what} could not be fetched: the site answered ${status}.`);
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(content);
}

async function json(path: string, what: string): Promise<Json> {
  return JSON.parse(await served(path, JSON_TYPE, what));
}

/** The newest checkpoint, its signatures checked. */
async function checkpoint(): Promise<Checkpoint & { readonly entries: number }> {
  const note = parseNote(await served("/log/checkpoint", ANY_TYPE, "The checkpoint"));
  const found = parseCheckpoint(note.text);
  const key = parseVerifierKey(place.dataset.key!);
  const size = Number(found.size);
  require(
    found.origin === key.name && Number.isSafeInteger(size),
    `The checkpoint of ${found.origin} covers ${shown(size)} entries, with this root:`,
    "The checkpoint is not one of this log.",
    toHex(found.root),
  );
  require(
    key.kind === "log" && checked(() => requireSigned(note, [key])) !== undefined,
    "The log's key signed it.",
    "The checkpoint has no valid signature by the log's key.",
  );
  place.dataset.witnesses!.split(" ").filter(Boolean).forEach((line) => witness(note, line));
  return { ...found, entries: size };
}

function witness(note: Note, line: string): void {
  const key = parseVerifierKey(line);
  const signed = key.kind === "witness" ? checked(() => cosignedAt(note, key)) : undefined;
  if (signed === undefined) {
    refuse(`The signature of the witness ${key.name} does not hold.`);
  }
  if (signed.found === undefined) {
    step("Missing", `The witness ${key.name} has not signed it yet.`);
    return;
  }
  const when = new Date(Number(signed.found) * 1000).toISOString();
  step("Holds", `The witness ${key.name} signed it at ${when}.`);
}

/** The sibling hashes on the path from an entry to the root, from the bottom up. */
function beside(position: number, size: number): { right: boolean; start: number; end: number }[] {
  const found = [];
  let [start, end] = [0, size];
  while (end - start > 1) {
    const middle = start + powerBelow(end - start);
    const right = position < middle;
    found.unshift(right ? { right, start: middle, end } : { right, start, end: middle });
    [start, end] = right ? [start, middle] : [middle, end];
  }
  return found;
}

async function verifyEntry(position: number): Promise<string> {
  const { entries: size, root } = await checkpoint();
  if (position >= size) {
    throw new Pending("An entry is not in the tree yet. Try again in some seconds.");
  }
  const tiles = new Tiles(way, size);
  const [tileIndex, within] = [Math.floor(position / WIDTH), position % WIDTH];
  const content = (await tiles.bundle(tileIndex))[within]!;
  const entry = parsed(content);
  step("Read", `Entry ${shown(position + 1)} says:`, JSON.stringify(entry));
  await requireDocument(entry);
  let hash = treeHash("leaf", content);
  step("Computed", "The entry's hash: SHA-256 of a zero byte and the entry.", toHex(hash));
  require(
    equal(hashesIn(await tiles.kept(0, tileIndex))[within]!, hash),
    "The log's tile has the same hash for it.",
    "The log's tile has another hash for this entry.",
  );
  for (const { right, start, end } of beside(position, size)) {
    const other = await tiles.range(start, end);
    hash = right ? treeHash("node", hash, other) : treeHash("node", other, hash);
    const side = right ? "right" : "left";
    step("Computed", `With the hash of ${entries(start, end)} on the ${side}:`, toHex(hash));
  }
  require(
    equal(hash, root),
    "The last hash is the root of the checkpoint.",
    "The last hash is not the root of the checkpoint: the log was tampered with.",
    toHex(root),
  );
  return `entry ${shown(position + 1)} is in the log of ${shown(size)} entries.`;
}

const hashOf = (document: Json) => toHex(sha256(canonicalJson(document)));

/** An entry about a recipe or a result has its hash: it is compared with what the site serves. */
async function requireDocument(entry: Json): Promise<void> {
  const path = recipePath(String(entry.subject));
  const result = resultOf(entry);
  if (entry.action === "recipe_published") {
    const found = hashOf((await json(path, "The recipe")).document as Json);
    require(
      found === entry.subject,
      "The identifier is the SHA-256 of the recipe that the site serves.",
      "The site serves another recipe than the entry names.",
      found,
    );
  } else if (CONCLUDED.includes(entry.action) && result !== null) {
    const found = hashOf(signedPart(await json(`${path}result/`, "The result")));
    require(
      found === result,
      "The entry has the SHA-256 of the result that the site serves.",
      "The site serves another result than the entry says: it was changed.",
      found,
    );
  }
}

function parsed(content: Bytes): Json {
  return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(content));
}

/** The hash of the result that an entry concludes a recipe with; null if it has none. */
function resultOf(entry: Json): unknown {
  return (entry.details as Json | undefined)?.result ?? null;
}

/** Fields that only a simulation knows are not signed there; a real result with such a field was changed. */
function signedPart(result: Json): Json {
  const simulated = result.simulation === true;
  const unsigned = simulated ? UNSIGNED : UNSIGNED.slice(0, 1);
  const fields = Object.fromEntries(Object.entries(result).filter(([name]) => !unsigned.includes(name)));
  if (simulated && Array.isArray(fields.segments)) {
    fields.segments = fields.segments.map(({ truth, ...segment }) => segment);
  }
  return fields;
}

/** One result of each recipe: only one that was not signed is recorded later, with its hash, once. */
function requireOneResult(content: Bytes, results: Map<unknown, unknown>): void {
  let entry: Json | null;
  try {
    entry = parsed(content);
  } catch {
    return;
  }
  if (!CONCLUDED.includes(entry?.action)) {
    return;
  }
  const { subject, action } = entry!;
  const hash = resultOf(entry!);
  if (results.has(subject)) {
    if (results.get(subject) !== null || action !== "result_recorded" || hash === null) {
      refuse("The log has two results of one recipe: one was replaced.", String(subject));
    }
  }
  results.set(subject, hash);
}

async function verifyTree(): Promise<string> {
  const { entries: size, root } = await checkpoint();
  const tiles = new Tiles(way, size);
  const results = new Map<unknown, unknown>();
  let full: Bytes[] = [];
  let rest: Bytes[] = [];
  for (let index = 0; index * WIDTH < size; index++) {
    outcome.textContent = `Checking ${shown(index * WIDTH)} of ${shown(size)} entries …`;
    const contents = await tiles.bundle(index);
    contents.forEach((content) => requireOneResult(content, results));
    rest = contents.map((content) => treeHash("leaf", content));
    await requireTile(tiles, 0, index, rest);
    if (rest.length === WIDTH) {
      full.push(rootOf(rest));
      rest = [];
    }
  }
  step("Holds", `All ${shown(size)} entries have the hashes that the tiles have.`);
  step("Holds", "No recipe has two results among them.");
  const found = rootOf(rest.length > 0 ? [...full, rootOf(rest)] : full);
  for (let level = 1; full.length > 0; level++) {
    const above: Bytes[] = [];
    for (let index = 0; index * WIDTH < full.length; index++) {
      const hashes = full.slice(index * WIDTH, (index + 1) * WIDTH);
      await requireTile(tiles, level, index, hashes);
      if (hashes.length === WIDTH) {
        above.push(rootOf(hashes));
      }
    }
    step("Holds", `Tiles of level ${level} have the hashes of the level below.`);
    full = above;
  }
  require(
    equal(found, root),
    "The hash over all entries is the root of the checkpoint.",
    "The hash over all entries is not the root of the checkpoint: the log was tampered with.",
    toHex(found),
  );
  return `the whole tree of ${shown(size)} entries.`;
}

async function requireTile(tiles: Tiles, level: number, index: number, hashes: Bytes[]): Promise<void> {
  const tile = hashesIn(await tiles.tile(level, index));
  const wrong = hashes.findIndex((hash, at) => !equal(hash, tile[at]!));
  if (wrong >= 0) {
    const words = `Tile ${shown(index)} of level ${level} has another hash in place ${wrong + 1}.`;
    refuse(words, toHex(tile[wrong]!));
  }
}

function shownProblem(error: unknown): string {
  if (error instanceof Refusal) {
    return error.message;
  }
  const reason = error instanceof NoAnswerError || error instanceof LogError ? ` (${error.message})` : "";
  return `The site’s answers cannot be fetched, or are malformed${reason}.`;
}

/** All entries about one recipe, by their indices from 1 on. */
async function verifyEntries(indices: readonly number[]): Promise<string> {
  for (const index of indices) {
    await verifyEntry(index - 1);
  }
  const what = indices.length === 1 ? "the entry" : `all ${shown(indices.length)} entries`;
  return `${what} about this recipe ${indices.length === 1 ? "is" : "are"} in the public log, unchanged.`;
}

async function verify(check: () => Promise<string>): Promise<void> {
  list.replaceChildren();
  list.hidden = false;
  outcome.className = "outcome";
  outcome.textContent = "Checking …";
  try {
    const words = await check();
    outcome.textContent = `All checks hold: ${words}`;
    outcome.className = "outcome good panel";
  } catch (error) {
    if (error instanceof Pending) {
      outcome.textContent = error.message;
      return;
    }
    outcome.textContent = `Not verified. ${shownProblem(error)}`;
    place.querySelector("details")?.setAttribute("open", "");
    outcome.className = "outcome error panel";
  }
}

const buttons = [...document.querySelectorAll<HTMLButtonElement>("button[data-verify]")];
for (const button of buttons) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    buttons.forEach((one) => {
      one.disabled = true;
    });
    document.getElementById("verification-title")!.focus();
    const what = button.dataset.verify!;
    await verify(() => (what === "all" ? verifyTree() : verifyEntry(Number(what) - 1)));
    buttons.forEach((one) => {
      one.disabled = false;
    });
  });
}

if (place.dataset.entries) {
  void verify(() => verifyEntries(place.dataset.entries!.split(" ").map(Number)));
}
