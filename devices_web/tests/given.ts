/** Vectors, and the bytes that stand for randomness in them (`tests/devices_web/vectors.py`). */

import { sha256 } from "@noble/hashes/sha2.js";
import { readFileSync } from "node:fs";

import { type Bytes, bigEndian, concat, fromBase64, toBase64, toNumber, utf8 } from "../src/bytes.ts";
import type { HpkeConfig } from "../src/dap.ts";
import { Device, type DeviceState, joinRecipe, valueReport } from "../src/device.ts";
import type { Parameters } from "../src/mechanisms.ts";
import type { RandomSource } from "../src/random.ts";
import type { PinnedKeys, ServedRecipe } from "../src/recipe.ts";
import type { StateView } from "../src/view.ts";
import { askForToken, drawsOf, tokenKept, type TokenState } from "../src/token.ts";
import type { Answers } from "../src/token_answers.ts";

export class GivenBytes implements RandomSource {
  #block = 0;
  #rest: Bytes = new Uint8Array(0);

  constructor(readonly seed: string) {}

  /** Bytes taken so far. */
  taken = 0;

  bytes(length: number): Bytes {
    this.taken += length;
    while (this.#rest.length < length) {
      const block = sha256(concat(utf8(this.seed), bigEndian(this.#block++, 8)));
      this.#rest = concat(this.#rest, block);
    }
    const drawn = this.#rest.slice(0, length);
    this.#rest = this.#rest.slice(length);
    return drawn;
  }
}

export interface Case {
  readonly name: string;
  readonly seed: string;
  readonly events?: readonly number[];
  /** Whether an event happened before each tick; ticks come before the first step. */
  readonly ticks?: readonly number[];
  readonly states?: readonly Kept[];
  readonly value?: number;
  readonly nonce?: string;
  readonly ciphertexts?: readonly string[];
  readonly upload?: string;
  /** Of the token as it is drawn, and as it came. */
  readonly tokens?: readonly TokenState[];
}

type Kept = Pick<DeviceState, "phase" | "step" | "ciphertexts" | "nonce">;

export interface Vectors {
  readonly recipes: Readonly<Record<string, { served: ServedRecipe; keys: PinnedKeys }>>;
  readonly hpke_keys: readonly string[];
  /** Name of a recipe whose devices take steps → bytes of its longest request. */
  readonly request_bytes: Readonly<Record<string, number>>;
  readonly noise: readonly { scale: number; largest: number; drawn: readonly number[] }[];
  /** What recipes of categories say, and the smallest `max_weight` with which they keep their promise. */
  readonly weights: readonly { parameters: Parameters; smallest: number }[];
  readonly signatures: {
    readonly weak_keys: readonly string[];
    readonly cases: readonly { key: string; signature: string; message: string; holds: boolean }[];
  };
  readonly log: { readonly policy: string; readonly proof: string };
  readonly capsule: Readonly<Record<"keys" | "signature" | "capsule" | "answer", string>>;
  readonly token: Readonly<Record<"key" | "request" | "response" | "token", string>>;
  /** With which the issuer of all recipes with tokens signs. */
  readonly token_exponent: string;
  /** What is done about answers that bring no token, by their types. */
  readonly token_answers: Readonly<Record<"attester" | "issuer", Answers>>;
  /** Name of a recipe → the local ε of one report. */
  readonly local_epsilons: Readonly<Record<string, number>>;
  /** Name of a recipe → what a state shows after joining, but for its size. */
  readonly views: Readonly<Record<string, Omit<StateView, "kept_bytes">>>;
  /** What was joined, the ε of a further recipe, and why it does not fit. */
  readonly lifetimes: readonly { largest: number; joined: number[]; epsilon: number; refused: string | null }[];
  readonly cases: readonly Case[];
}

export const VECTORS = new URL("../../vectors/", import.meta.url);

export const python: Vectors = JSON.parse(readFileSync(new URL("python.json", VECTORS), "utf8"));

const configs = python.hpke_keys.map((key, id): HpkeConfig => ({ id, publicKey: fromBase64("key", key) }));

export function kept({ phase, step, ciphertexts, nonce }: DeviceState): Kept {
  return phase === "done" ? { phase } : { phase, step: step!, ciphertexts: ciphertexts!, nonce: nonce! };
}

/** Give a device its token, as its recipe's issuer would. */
export function giveToken(device: Device): void {
  const { tokenKey, challenge } = device.recipe.admission!;
  const drawn = device.state.token!;
  const pending = askForToken(tokenKey, challenge, drawsOf(drawn));
  let [signed, square] = [1n, toNumber(pending.request.slice(3))];
  for (let rest = toNumber(fromBase64("exponent", python.token_exponent)); rest > 0n; rest >>= 1n) {
    signed = (rest & 1n) === 1n ? (signed * square) % tokenKey.modulus : signed;
    square = (square * square) % tokenKey.modulus;
  }
  device.keepToken(tokenKept(drawn, pending.finish(bigEndian(signed, 256))));
}

/** The case anew, with whatever is asked of it in place of its results. */
export async function computed({ name, seed, events, ticks = [], value }: Case): Promise<Case> {
  const { served, keys } = python.recipes[name]!;
  const random = new GivenBytes(seed);
  const now = Date.parse(served.document.opens_at as string) / 1000;
  const options = { random, simulation: true, now };
  const sealing = new GivenBytes(`${seed} seal`);
  if (value !== undefined) {
    const made = valueReport(served, keys, value, options);
    if (made.kind === "dap") {
      const upload = toBase64(await made.upload.seal(configs[0]!, configs[1]!, sealing));
      return { name, seed, value, upload };
    }
    return { name, seed, value, ...(made.kind === "rest" ? made.report : {}) };
  }
  let device = joinRecipe(served, keys, options);
  const states = [device.state];
  for (const event of ticks) {
    device = Device.resume(device.state, random);
    states.push(device.tick(event));
  }
  for (const event of events!) {
    device = Device.resume(device.state, random);
    states.push(device.step(event));
  }
  const tokens = device.recipe.admission === undefined ? [] : [device.state.token!];
  if (tokens.length > 0) {
    giveToken(device);
    tokens.push(device.state.token!);
  }
  states.push(device.finish());
  const ticked = ticks.length === 0 ? {} : { ticks };
  const shown = tokens.length === 0 ? {} : { tokens };
  const made = { name, seed, events: events!, states: states.map(kept), ...ticked, ...shown };
  if (device.phase !== "reported" || device.recipe.servers.trust === "single_server") {
    return made;
  }
  return { ...made, upload: toBase64(await device.upload().seal(configs[0]!, configs[1]!, sealing)) };
}
