/**
 * A question about the order and the times of events, as a deterministic automaton: the same as
 * `panprivacy.statistics.events.automaton`. The state is a one-hot vector of ciphertexts, one for each state
 * of the automaton. A table moves it by additions, so a device moves a state that it cannot read.
 */

import type { Ciphertext, EncryptionKey, Summand } from "./elgamal.ts";
import type { RandomSource } from "./random.ts";
import type { Bit } from "./response.ts";

/** For each state, the state that follows. */
export type Table = readonly number[];

/** Steps that are taken at once. Events happened in the first of them. */
export interface Steps {
  readonly first: number;
  readonly last: number;
}

/**
 * Tables over states 0, 1, …, Q − 1. In each step the tables of the names that happened are applied, in the
 * order of the names; then `otherwise` if none happened; then the clock's, if there is one for this step.
 */
export class Automaton {
  /** Before the first step. */
  readonly start: number;
  /** For each name, its table. */
  readonly on: readonly Table[];
  /** For some steps, the table that is applied at their end, whatever happened. */
  readonly at: ReadonlyMap<number, Table>;
  /** Applied in a step in which no name happened. */
  readonly otherwise: Table | undefined;

  constructor({ start = 0, on, at = [], otherwise }: {
    start?: number;
    on: readonly Table[];
    at?: Iterable<readonly [number, Table]>;
    otherwise?: Table | undefined;
  }) {
    this.start = start;
    this.on = on;
    this.at = new Map(at);
    this.otherwise = otherwise;
  }

  get states(): number {
    return this.on[0]!.length;
  }

  /** A fresh vector of the first state. */
  begin(key: EncryptionKey, random: RandomSource): Ciphertext[] {
    return Array.from({ length: this.states }, (_, state) =>
      key.encrypt(Number(state === this.start) as Bit, random),
    );
  }

  /**
   * The vector after these steps. The same operations in the same order, whatever happened: each table's
   * image is computed, then either the image or the unchanged vector is kept.
   *
   * @param happened bit i is 1 if the i-th name happened.
   */
  stepped(
    key: EncryptionKey,
    before: readonly Ciphertext[],
    happened: number,
    steps: Steps,
    random: RandomSource,
  ): Ciphertext[] {
    const zero = key.opened(key.encrypt(0, random));
    let vector = before.map((own) => key.opened(own));
    const image = (table: Table) => summed(vector, table, vector.length, zero);
    const moveIf = (choice: Bit, table: Table) => {
      const moved = image(table);
      vector = vector.map((own, state) => own.or(choice, moved[state]!));
    };
    this.on.forEach((table, position) => moveIf(((happened >> position) & 1) as Bit, table));
    if (this.otherwise !== undefined) {
      moveIf(Number(happened === 0) as Bit, this.otherwise);
    }
    const passing = this.#passing(steps);
    vector = passing === undefined ? vector : image(passing);
    return vector.map((own) => key.rerandomizedSum(own, random));
  }

  /** One table in place of the clock's in the first step and of all further steps, without events. */
  #passing({ first, last }: Steps): Table | undefined {
    let found: Table | undefined;
    const then = (table: Table | undefined) => {
      found = table === undefined ? found : (found?.map((state) => table[state]!) ?? table);
    };
    then(this.at.get(first));
    const busy = [...this.at.keys()].sort((left, right) => left - right);
    const later = this.otherwise === undefined ? busy : Array.from({ length: last }, (_, at) => at + 1);
    for (const step of later.filter((step) => first < step && step <= last)) {
      then(this.otherwise);
      then(this.at.get(step));
    }
    return found;
  }
}

/**
 * The entries of a vector, added up by place; not rerandomized.
 *
 * @param places of each entry, from 0 to `length` − 1.
 * @param zero an encryption of 0, for places without an entry.
 */
export function summed(
  vector: readonly Summand[],
  places: readonly number[],
  length: number,
  zero: Summand,
): Summand[] {
  return Array.from({ length }, (_, place) => {
    const [first = zero, ...others] = vector.filter((_own, at) => places[at] === place);
    return others.reduce((sum, own) => sum.plus(own), first);
  });
}
