/**
 * The statistics whose devices take steps, on the device's side (LPP, Algorithms 3 to 5, and regular
 * questions), the same as in `panprivacy.statistics.events`. A state is a list of ciphertexts; every one
 * changes at every step.
 */

import { type Steps, summed } from "./automaton.ts";
import { FieldError } from "./bytes.ts";
import type { Ciphertext, EncryptionKey } from "./elgamal.ts";
import { DiscreteGaussian } from "./noise.ts";
import { isRegular, type Question } from "./questions.ts";
import { drawBits, type RandomSource } from "./random.ts";
import { type Bit, RandomizedResponse, VectorCoin } from "./response.ts";

export type State = readonly Ciphertext[];

/** Whether one coin is tossed for all values of an answer, or one for each. */
export type Coin = "vector" | "bucket";

/** The statistic's parameters in a recipe: the fields of its document that are numbers or choices. */
export interface Parameters {
  readonly epsilon: number;
  readonly delta: number;
  readonly cohort_size: number;
  readonly sampling_rate: number;
  readonly steps?: number;
  readonly k?: number;
  readonly guarantee?: string;
  readonly noise_scale?: number;
  readonly max_weight?: number;
  readonly coin?: Coin;
  readonly question?: Question;
  /** With which a device that does not take part sends a dummy. */
  readonly dummy_rate?: number;
}

/** One statistic on a device that keeps a state. */
export interface Mechanism {
  readonly stateCiphertexts: number;
  readonly reportCiphertexts: number;
  /** The initial state. */
  start(key: EncryptionKey, random: RandomSource): State;
  /**
   * The state after these steps. Operations and bytes drawn depend on `steps`, not on what happened.
   *
   * @param happened whether the event happened in the first of them; of several, bit i stands for the i-th.
   */
  step(key: EncryptionKey, state: State, happened: number, steps: Steps, random: RandomSource): State;
  /**
   * The state between two steps: every ciphertext changes. If `ticksTakeEvents`, the state after an event if
   * `event` is 1; else `event` must be 0.
   */
  tick(key: EncryptionKey, state: State, event: Bit, random: RandomSource): State;
  /** Whether several events in a step may be taken in one by one, because they count as one anyway. */
  readonly ticksTakeEvents: boolean;
  /** The report, from the state after the last step. */
  report(key: EncryptionKey, state: State, random: RandomSource): State;
}

/** Probability with which a device sends anything. */
export function reportingRate({ sampling_rate, dummy_rate }: Parameters): number {
  return dummy_rate === undefined ? sampling_rate : sampling_rate + (1 - sampling_rate) * dummy_rate;
}

/** Whether the report that is being made is a dummy: zeros through the same randomizer. */
function tossDummy(parameters: Parameters, random: RandomSource): Bit {
  if (parameters.dummy_rate === undefined) {
    return 0;
  }
  const counts = BigInt(Math.trunc(2 ** 64 * (parameters.sampling_rate / reportingRate(parameters))));
  return Number(drawBits(64, random) >= counts) as Bit;
}

function respondEncrypted(
  response: RandomizedResponse,
  key: EncryptionKey,
  bit: Ciphertext,
  blank: Bit,
  random: RandomSource,
): Ciphertext {
  const { randomize, fair } = response.toss(random);
  return key.replaceOrRerandomize((blank | randomize) as Bit, (randomize & fair) as Bit, bit, random);
}

/** One encrypted bit, set by the first event (Algorithm 3). */
class CountNonzero implements Mechanism {
  readonly ticksTakeEvents = true;
  readonly stateCiphertexts = 1;
  readonly reportCiphertexts = 1;
  readonly #response: RandomizedResponse;

  constructor(readonly parameters: Parameters) {
    this.#response = new RandomizedResponse(parameters.epsilon);
  }

  start(key: EncryptionKey, random: RandomSource): State {
    return [key.encrypt(0, random)];
  }

  step(key: EncryptionKey, state: State, happened: number, _steps: Steps, random: RandomSource): State {
    return this.tick(key, state, happened as Bit, random);
  }

  tick(key: EncryptionKey, state: State, event: Bit, random: RandomSource): State {
    return [key.replaceOrRerandomize(event, 1, state[0]!, random)];
  }

  report(key: EncryptionKey, state: State, random: RandomSource): State {
    const blank = tossDummy(this.parameters, random);
    return [respondEncrypted(this.#response, key, state[0]!, blank, random)];
  }
}

/** Indicators that each take their predecessor's value on an event, the first of them `first`. */
function shifted(
  key: EncryptionKey,
  indicators: State,
  event: Bit,
  first: Bit,
  random: RandomSource,
): Ciphertext[] {
  const moved = [...indicators];
  // From the last downwards, so that each predecessor is read first and overwritten afterwards.
  for (let at = indicators.length - 1; at > 0; at--) {
    moved[at] = key.rerandomizeOneOf(event, indicators[at]!, indicators[at - 1]!, random);
  }
  moved[0] = key.replaceOrRerandomize(event, first, indicators[0]!, random);
  return moved;
}

/** Every ciphertext rerandomized. A second event in a step would move indicators twice, so none is taken. */
function rerandomized(key: EncryptionKey, state: State, event: Bit, random: RandomSource): State {
  if (event === 1) {
    throw new RangeError("events of this statistic are taken at the end of a step only");
  }
  return state.map((own) => key.rerandomizeOneOf(0, own, own, random));
}

/** Indicators of "count = i" and "count ≥ i" for i = 0..k (Algorithm 5). */
class Histogram implements Mechanism {
  readonly ticksTakeEvents = false;
  readonly tick = rerandomized;
  readonly stateCiphertexts: number;
  readonly reportCiphertexts: number;
  readonly #respond: Respond;
  readonly #size: number;

  constructor(readonly parameters: Parameters) {
    this.#size = required(parameters, "k") + 1;
    this.stateCiphertexts = 2 * this.#size;
    this.reportCiphertexts = reportLength(parameters, this.#size);
    // Two vectors differ in two buckets.
    this.#respond = cellsResponse(parameters, 2 * parameters.epsilon, this.reportCiphertexts);
  }

  start(key: EncryptionKey, random: RandomSource): State {
    // After no event, "count = 0" and "count ≥ 0" hold, and nothing else.
    return Array.from({ length: 2 * this.#size }, (_, at) =>
      key.encrypt(Number(at % this.#size === 0) as Bit, random),
    );
  }

  step(key: EncryptionKey, state: State, happened: number, _steps: Steps, random: RandomSource): State {
    const equal = shifted(key, state.slice(0, this.#size), happened as Bit, 0, random);
    const atLeast = shifted(key, state.slice(this.#size), happened as Bit, 1, random);
    return [...equal, ...atLeast];
  }

  report(key: EncryptionKey, state: State, random: RandomSource): State {
    const blank = tossDummy(this.parameters, random);
    const dummies = Array.from({ length: this.reportCiphertexts - this.#size }, () => key.encrypt(0, random));
    return this.#respond(key, [...state.slice(0, this.#size - 1), state.at(-1)!, ...dummies], blank, random);
  }
}

/** Indicators of "count ≥ j" for j = 1..k, added up under encryption, with noise (Algorithm 4). */
class Mean implements Mechanism {
  readonly ticksTakeEvents = false;
  readonly tick = rerandomized;
  readonly stateCiphertexts: number;
  readonly reportCiphertexts = 1;
  readonly #noise: DiscreteGaussian;

  constructor(readonly parameters: Parameters) {
    this.stateCiphertexts = required(parameters, "k");
    const scale = required(parameters, "noise_scale");
    this.#noise = new DiscreteGaussian(scale, largestNoise(parameters, scale));
  }

  start(key: EncryptionKey, random: RandomSource): State {
    return Array.from({ length: this.stateCiphertexts }, () => key.encrypt(0, random));
  }

  step(key: EncryptionKey, state: State, happened: number, _steps: Steps, random: RandomSource): State {
    return shifted(key, state, happened as Bit, 1, random);
  }

  report(key: EncryptionKey, state: State, random: RandomSource): State {
    return [key.sumWithNoise(state, this.#noise.sample(random), random)];
  }
}

/** t within which noise is drawn (`MeanParameters.largest_noise`, which has the proof). */
function largestNoise({ delta, cohort_size }: Parameters, scale: number): number {
  const logProbability = Math.log(delta) - 60 * Math.LN2 - Math.log(cohort_size);
  return Math.max(0, Math.ceil(scale * Math.sqrt(2 * (Math.LN2 - logProbability))) - 1);
}

/** The cell in which an automaton ends. */
export class RegularQuestion implements Mechanism {
  readonly ticksTakeEvents = false;
  readonly tick = rerandomized;
  readonly stateCiphertexts: number;
  readonly reportCiphertexts: number;
  readonly #question: Question;
  readonly #respond: Respond;

  constructor(readonly parameters: Parameters) {
    const question = required(parameters, "question");
    this.#question = question;
    this.stateCiphertexts = question.automaton.states;
    this.reportCiphertexts = reportLength(parameters, Math.max(...question.cells) + 1);
    this.#respond = cellsResponse(parameters, parameters.epsilon, this.reportCiphertexts);
  }

  start(key: EncryptionKey, random: RandomSource): State {
    return this.#question.automaton.begin(key, random);
  }

  step(key: EncryptionKey, state: State, happened: number, steps: Steps, random: RandomSource): State {
    return this.#question.automaton.stepped(key, state, happened, steps, random);
  }

  report(key: EncryptionKey, state: State, random: RandomSource): State {
    const blank = tossDummy(this.parameters, random);
    const zero = key.opened(key.encrypt(0, random));
    const states = state.map((own) => key.opened(own));
    const cells = summed(states, this.#question.cells, this.reportCiphertexts, zero);
    return this.#respond(key, cells.map((cell) => cell.encoded()), blank, random);
  }
}

type Respond = (key: EncryptionKey, cells: State, blank: Bit, random: RandomSource) => Ciphertext[];

/** Ciphertexts of a report about this number of cells: with one coin, dummies have one of their own. */
function reportLength({ coin, dummy_rate }: Parameters, cells: number): number {
  return cells + Number(coin === "vector" && dummy_rate !== undefined);
}

/** One coin for all cells, or one for each; `epsilon` is the privacy loss of a replaced vector. */
function cellsResponse(parameters: Parameters, epsilon: number, cells: number): Respond {
  if (required(parameters, "coin") === "vector") {
    const coin = new VectorCoin(epsilon, cells);
    return (...given) => respondOnce(coin, ...given);
  }
  // Two vectors differ in two cells.
  const coin = new RandomizedResponse(epsilon / 2);
  return (key, vector, blank, random) =>
    vector.map((cell) => respondEncrypted(coin, key, cell, blank, random));
}

/** A vector through one coin; a dummy's is that whose last cell is 1. */
function respondOnce(
  coin: VectorCoin,
  key: EncryptionKey,
  vector: State,
  blank: Bit,
  random: RandomSource,
): Ciphertext[] {
  const { draw, drawn } = coin.toss(random);
  const last = vector.length - 1;
  const shown = last + draw * (drawn - last);
  return vector.map((cell, place) =>
    key.replaceOrRerandomize((draw | blank) as Bit, Number(place === shown) as Bit, cell, random),
  );
}

/** A parameter that a statistic needs. */
export function required<Name extends "coin" | "k" | "noise_scale" | "max_weight" | "steps" | "question">(
  parameters: Parameters,
  name: Name,
): NonNullable<Parameters[Name]> {
  const value = parameters[name];
  if (value === undefined) {
    throw new FieldError(name, "is missing");
  }
  return value;
}

const COUNTERS = { count_nonzero: CountNonzero, histogram: Histogram, mean: Mean };

/** Whether devices of a statistic take steps. */
export function takesSteps(statistic: string): boolean {
  return isRegular(statistic) || Object.hasOwn(COUNTERS, statistic);
}

/** The mechanism of a statistic; undefined if its devices take no steps. */
export function mechanismOf(statistic: string, parameters: Parameters): Mechanism | undefined {
  if (!takesSteps(statistic)) {
    return undefined;
  }
  return isRegular(statistic)
    ? new RegularQuestion(parameters)
    : new COUNTERS[statistic as keyof typeof COUNTERS](parameters);
}
