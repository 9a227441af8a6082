/** The message in which a tab passes on its events. Its size reveals nothing. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { serialize } from "node:v8";

import { messageOf, namesOf, PendingEvents } from "../src/pending.ts";
import { MOST_NAMES } from "../src/questions.ts";
import { readQuestion } from "../src/questions.ts";
import { python } from "./given.ts";

/** The longest that a recipe may list. */
const LONGEST = Array.from({ length: MOST_NAMES }, (_, at) => String(at).padEnd(60, "x"));

function question(events: readonly string[]): object {
  const { document } = python.recipes.automaton!.served;
  return readQuestion("automaton", { ...document, events, on: {} }, 5);
}

test("messages of any names that a recipe may list have one size, and tell them all", () => {
  question(LONGEST);
  const sets = Array.from({ length: 1 << MOST_NAMES }, (_, set) => LONGEST.filter((_, at) => (set >> at) & 1));
  const sizes = [...sets, [""], ["a"]].map((names) => {
    const pending = new PendingEvents();
    names.forEach((name) => pending.add(name));
    const message = messageOf(pending.taken());
    assert.deepEqual(namesOf(message), names);
    assert.deepEqual(pending.taken(), []);
    // As a browser copies it to another tab.
    return serialize(message).length;
  });
  assert.equal(new Set(sizes).size, 1);
});

test("a message of a name cut from a text with wide characters has the size of all", () => {
  const cut = `日本${LONGEST[0]}`.slice(2);
  assert.equal(serialize(messageOf([cut])).length, serialize(messageOf([])).length);
});

test("names that no recipe lists, and more than a recipe lists, are refused at once", () => {
  const pending = new PendingEvents();
  for (const name of ["Search", "a,b", "x".repeat(61), "日"]) {
    const message =
      "event: must be 1 to 60 of the characters a-z, 0-9, dot, _ and -, but no - at the beginning";
    assert.throws(() => pending.add(name), { name: "FieldError", message });
  }
  [...LONGEST, ...LONGEST].forEach((name) => pending.add(name));
  const message = "event: must be one of at most 8 names between two ticks";
  assert.throws(() => pending.add("ninth"), { name: "FieldError", message });
  assert.throws(() => question([...LONGEST, "ninth"]), /^FieldError: events: must be 1 to 8 names/);
  assert.deepEqual(pending.taken(), LONGEST);
});

test("anything else than a message tells no names", () => {
  for (const message of [undefined, null, 7, "a,", ["a"], {}, new Uint8Array(512)]) {
    assert.deepEqual(namesOf(message), []);
  }
});
