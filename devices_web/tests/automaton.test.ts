/** The tables of an automaton on vectors, against a run in the clear. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Automaton, type Table } from "../src/automaton.ts";
import type { Bytes } from "../src/bytes.ts";
import type { EncryptionKey } from "../src/elgamal.ts";
import { drawBelow } from "../src/random.ts";
import { GivenBytes } from "./given.ts";

class Plain {
  constructor(readonly value: number) {}
  plus = (other: Plain) => new Plain(this.value + other.value);
  or = (choice: number, other: Plain) => (choice === 1 ? other : this);
}

/** Encrypts nothing: a ciphertext is its plaintext, in one byte. */
const TRANSPARENT = {
  encrypt: (bit: number) => Uint8Array.of(bit),
  opened: ([value]: Bytes) => new Plain(value!),
  rerandomizedSum: ({ value }: Plain) => Uint8Array.of(value),
} as unknown as EncryptionKey;

test("2,000 random automata lead where they lead in the clear, with pauses and without", () => {
  const random = new GivenBytes("automata");
  const below = (sides: number) => drawBelow(sides, random);
  const several = <Made>(length: number, make: () => Made) => Array.from({ length }, make);
  for (let run = 0; run < 2000; run++) {
    const [states, names, length] = [2 + below(8), 1 + below(4), 1 + below(12)];
    const table = (): Table => several(states, () => below(states));
    const at = several(below(4), () => [1 + below(length), table()] as const);
    const otherwise = below(2) === 0 ? {} : { otherwise: table() };
    const automaton = new Automaton({ start: below(states), on: several(names, table), at, ...otherwise });
    let expected = automaton.start;
    let vector = automaton.begin(TRANSPARENT, random);
    for (let first = 1; first <= length; ) {
      const last = first + below(Math.min(4, length - first + 1));
      const happened = below(1 << names);
      for (let step = first; step <= last; step++) {
        const events = step === first ? happened : 0;
        automaton.on.forEach((on, name) => (expected = (events >> name) & 1 ? on[expected]! : expected));
        expected = events === 0 ? (automaton.otherwise?.[expected] ?? expected) : expected;
        expected = automaton.at.get(step)?.[expected] ?? expected;
      }
      vector = automaton.stepped(TRANSPARENT, vector, happened, { first, last }, random);
      first = last + 1;
      assert.deepEqual(vector.map(([bit]) => bit), several(states, () => 0).with(expected, 1));
    }
  }
});
