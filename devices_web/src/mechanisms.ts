/**
 * The statistics whose devices take steps, on the device's side (LPP, Algorithms 3 to 5), the same as in
 * `panprivacy.statistics.events`. A state is a list of ciphertexts; every one changes at every step.
 */

import { FieldError } from "./bytes.ts";
import type { Ciphertext, EncryptionKey } from "./elgamal.ts";
import { DiscreteGaussian } from "./noise.ts";
import { drawBits, type RandomSource } from "./random.ts";
import { type Bit, RandomizedResponse } from "./response.ts";

export type State = readonly Ciphertext[];

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
  /** With which a device that does not take part sends a dummy. */
  readonly dummy_rate?: number;
}

/** One statistic on a device that keeps a state. */
export interface Mechanism {
  readonly stateCiphertexts: number;
  readonly reportCiphertexts: number;
  /** The initial state. */
  start(key: EncryptionKey, random: RandomSource): State;
  /** The state after a step. Operations and bytes drawn are the same with an event and without. */
  step(key: EncryptionKey, state: State, event: Bit, random: RandomSource): State;
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

  step(key: EncryptionKey, state: State, event: Bit, random: RandomSource): State {
    return [key.replaceOrRerandomize(event, 1, state[0]!, random)];
  }

  tick(key: EncryptionKey, state: State, event: Bit, random: RandomSource): State {
    return this.step(key, state, event, random);
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
  readonly #response: RandomizedResponse;
  readonly #size: number;

  constructor(readonly parameters: Parameters) {
    this.#response = new RandomizedResponse(parameters.epsilon);
    this.#size = required(parameters, "k") + 1;
    this.stateCiphertexts = 2 * this.#size;
    this.reportCiphertexts = this.#size;
  }

  start(key: EncryptionKey, random: RandomSource): State {
    // After no event, "count = 0" and "count ≥ 0" hold, and nothing else.
    return Array.from({ length: 2 * this.#size }, (_, at) =>
      key.encrypt(Number(at % this.#size === 0) as Bit, random),
    );
  }

  step(key: EncryptionKey, state: State, event: Bit, random: RandomSource): State {
    const equal = shifted(key, state.slice(0, this.#size), event, 0, random);
    const atLeast = shifted(key, state.slice(this.#size), event, 1, random);
    return [...equal, ...atLeast];
  }

  report(key: EncryptionKey, state: State, random: RandomSource): State {
    const blank = tossDummy(this.parameters, random);
    return [...state.slice(0, this.#size - 1), state.at(-1)!].map((bit) =>
      respondEncrypted(this.#response, key, bit, blank, random),
    );
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

  step(key: EncryptionKey, state: State, event: Bit, random: RandomSource): State {
    return shifted(key, state, event, 1, random);
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

/** A parameter that a statistic needs. */
export function required(parameters: Parameters, name: "k" | "noise_scale" | "max_weight" | "steps"): number {
  const value = parameters[name];
  if (value === undefined) {
    throw new FieldError(name, "is missing");
  }
  return value;
}

const MECHANISMS = { count_nonzero: CountNonzero, histogram: Histogram, mean: Mean };

/** Whether devices of a statistic take steps. */
export function takesSteps(statistic: string): boolean {
  return Object.hasOwn(MECHANISMS, statistic);
}

/** The mechanism of a statistic; undefined if its devices take no steps. */
export function mechanismOf(statistic: string, parameters: Parameters): Mechanism | undefined {
  if (!takesSteps(statistic)) {
    return undefined;
  }
  return new MECHANISMS[statistic as keyof typeof MECHANISMS](parameters);
}
