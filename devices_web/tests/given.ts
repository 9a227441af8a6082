/** Vectors, and the bytes that stand for randomness in them (`tests/devices_web/vectors.py`). */

import { sha256 } from "@noble/hashes/sha2.js";
import { readFileSync } from "node:fs";

import { type Bytes, bigEndian, concat, fromBase64, toBase64, utf8 } from "../src/bytes.ts";
import type { HpkeConfig } from "../src/dap.ts";
import { Device, type DeviceState, joinRecipe, valueReport } from "../src/device.ts";
import type { RandomSource } from "../src/random.ts";
import type { PinnedKeys, ServedRecipe } from "../src/recipe.ts";

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
}

type Kept = Pick<DeviceState, "phase" | "step" | "ciphertexts" | "nonce">;

export interface Vectors {
  readonly recipes: Readonly<Record<string, { served: ServedRecipe; keys: PinnedKeys }>>;
  readonly hpke_keys: readonly string[];
  /** Name of a recipe whose devices take steps → bytes of its longest request. */
  readonly request_bytes: Readonly<Record<string, number>>;
  readonly noise: readonly { scale: number; largest: number; drawn: readonly number[] }[];
  readonly log: { readonly policy: string; readonly proof: string };
  readonly capsule: Readonly<Record<"keys" | "signature" | "capsule" | "answer", string>>;
  readonly token: Readonly<Record<"key" | "request" | "response" | "token", string>>;
  readonly cases: readonly Case[];
}

export const VECTORS = new URL("../../vectors/", import.meta.url);

export const python: Vectors = JSON.parse(readFileSync(new URL("python.json", VECTORS), "utf8"));

const configs = python.hpke_keys.map((key, id): HpkeConfig => ({ id, publicKey: fromBase64("key", key) }));

export function kept({ phase, step, ciphertexts, nonce }: DeviceState): Kept {
  return phase === "done" ? { phase } : { phase, step: step!, ciphertexts: ciphertexts!, nonce: nonce! };
}

/** The case anew, with whatever is asked of it in place of its results. */
export async function computed({ name, seed, events, ticks = [], value }: Case): Promise<Case> {
  const { served, keys } = python.recipes[name]!;
  const random = new GivenBytes(seed);
  const options = { random, simulation: true };
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
  states.push(device.finish());
  const ticked = ticks.length === 0 ? {} : { ticks };
  const made = { name, seed, events: events!, states: states.map(kept), ...ticked };
  if (device.phase !== "reported" || device.recipe.servers.trust === "single_server") {
    return made;
  }
  return { ...made, upload: toBase64(await device.upload().seal(configs[0]!, configs[1]!, sealing)) };
}
