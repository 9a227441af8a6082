/**
 * Prio3 on the client's side (VDAF draft 20, section 7.2): a measurement split between two aggregators, with
 * proofs. The definition that `panprivacy.protocols.prio3` checks them by; nothing here verifies.
 */

import { turboshake128 } from "@noble/hashes/sha3-addons.js";

import { type Bytes, bigEndian, concat, FieldError, toNumber } from "./bytes.ts";
import type { Bit } from "./response.ts";

const SEED_BYTES = 32;
const VERSION = 18;
const NONCE_BYTES = 16;

// Usages of the extendable output function (section 7.2).
const MEASUREMENT_SHARE = 1;
const PROOF_SHARE = 2;
const JOINT_RANDOMNESS = 3;
const PROVE_RANDOMNESS = 4;
const JOINT_RANDOMNESS_SEED = 6;
const JOINT_RANDOMNESS_PART = 7;

const HELPER = 1;
const PROOFS = 1;

/** A prime field with a subgroup of order a power of two (section 6.1.2). */
class Field {
  readonly modulus: bigint;
  readonly #generator: bigint;

  constructor(
    odd: bigint,
    readonly orderBits: bigint,
    readonly bytes: number,
  ) {
    this.modulus = (odd << orderBits) + 1n;
    this.#generator = this.power(7n, odd);
  }

  reduce(value: bigint): bigint {
    const rest = value % this.modulus;
    return rest < 0n ? rest + this.modulus : rest;
  }

  power(base: bigint, exponent: bigint): bigint {
    let result = 1n;
    let square = this.reduce(base);
    for (let rest = exponent; rest > 0n; rest >>= 1n) {
      if (rest & 1n) {
        result = (result * square) % this.modulus;
      }
      square = (square * square) % this.modulus;
    }
    return result;
  }

  inverse(value: bigint): bigint {
    return this.power(value, this.modulus - 2n);
  }

  /** The powers 0 to n − 1 of the principal n-th root of unity; n is a power of two. */
  roots(n: number): bigint[] {
    const root = this.power(this.#generator, (1n << this.orderBits) / BigInt(n));
    const powers = [1n];
    while (powers.length < n) {
      powers.push((powers.at(-1)! * root) % this.modulus);
    }
    return powers;
  }

  subtract(left: readonly bigint[], right: readonly bigint[]): bigint[] {
    return left.map((value, at) => this.reduce(value - right[at]!));
  }

  encode(values: readonly bigint[]): Bytes {
    return concat(...values.map((value) => bigEndian(value, this.bytes).reverse()));
  }

  /** `length` elements that the function derives from `message` (`next_vec`, section 6.2). */
  expand(message: Bytes, length: number): bigint[] {
    const xof = turboshake128.create({ D: 1 }).update(message);
    const found: bigint[] = [];
    while (found.length < length) {
      const value = toNumber(xof.xof(this.bytes).reverse());
      if (value < this.modulus) {
        found.push(value);
      }
    }
    return found;
  }

  /** The values at all n-th roots of unity of the polynomial with these coefficients. */
  valuesAtRoots(coefficients: readonly bigint[], n: number): bigint[] {
    if (n === 1) {
      return [coefficients[0] ?? 0n];
    }
    const even = this.valuesAtRoots(coefficients.filter((_, at) => at % 2 === 0), n / 2);
    const odd = this.valuesAtRoots(coefficients.filter((_, at) => at % 2 === 1), n / 2);
    const roots = this.roots(n);
    const turned = odd.map((value, at) => (value * roots[at]!) % this.modulus);
    return [
      ...even.map((value, at) => this.reduce(value + turned[at]!)),
      ...even.map((value, at) => this.reduce(value - turned[at]!)),
    ];
  }

  /** The inverse of `valuesAtRoots`. */
  coefficientsOf(values: readonly bigint[]): bigint[] {
    const [first, ...others] = this.valuesAtRoots(values, values.length);
    const scale = this.inverse(BigInt(values.length));
    return [first!, ...others.reverse()].map((value) => (value * scale) % this.modulus);
  }
}

const FIELD64 = new Field(4294967295n, 32n, 8);
const FIELD128 = new Field(4611686018427387897n, 66n, 16);

/** The test of measurements: a circuit with one gadget Σ x·y (section 7.4). */
interface Circuit {
  readonly identifier: number;
  readonly field: Field;
  /** Input wires of the gadget, and how often it is called. */
  readonly arity: number;
  readonly calls: number;
  readonly jointRandomnessLength: number;
  readonly measurementLength: number;
  encode(measurement: readonly Bit[]): bigint[];
  /** The inputs of all calls of the gadget. */
  wires(encoded: readonly bigint[], jointRandomness: readonly bigint[]): bigint[][];
}

/** 0 or 1 (section 7.4.1). */
class CountCircuit implements Circuit {
  readonly identifier = 1;
  readonly field = FIELD64;
  readonly arity = 2;
  readonly calls = 1;
  readonly jointRandomnessLength = 0;
  readonly measurementLength = 1;

  encode(measurement: readonly Bit[]): bigint[] {
    return measurement.map(BigInt);
  }

  wires([x]: readonly bigint[]): bigint[][] {
    return [[x!, x!]];
  }
}

/** `length` bits, at most `maxWeight` of them 1 (section 7.4.5). */
class MultihotCountVecCircuit implements Circuit {
  readonly identifier = 5;
  readonly field = FIELD128;
  readonly arity: number;
  readonly calls: number;
  readonly jointRandomnessLength: number;
  readonly measurementLength: number;
  readonly #weights: bigint[];

  constructor(
    readonly length: number,
    maxWeight: number,
    readonly chunkLength: number,
  ) {
    const powers = Array.from({ length: maxWeight.toString(2).length - 1 }, (_, at) => 1n << BigInt(at));
    this.#weights = [...powers, BigInt(maxWeight) - powers.reduce((sum, power) => sum + power, 0n)];
    this.measurementLength = length + this.#weights.length;
    this.arity = 2 * chunkLength;
    this.calls = Math.ceil(this.measurementLength / chunkLength);
    this.jointRandomnessLength = this.calls;
  }

  encode(measurement: readonly Bit[]): bigint[] {
    const bits = measurement.map(BigInt);
    const weight = bits.reduce((sum, bit) => sum + bit, 0n);
    const powers = this.#weights.slice(0, -1);
    const last = BigInt(weight > powers.reduce((sum, power) => sum + power, 0n));
    const binary = weight - last * this.#weights.at(-1)!;
    return [...bits, ...powers.map((_, at) => (binary >> BigInt(at)) & 1n), last];
  }

  wires(encoded: readonly bigint[], jointRandomness: readonly bigint[]): bigint[][] {
    return jointRandomness.map((r, chunk) => {
      const inputs: bigint[] = [];
      let power = 1n;
      for (let at = chunk * this.chunkLength; at < (chunk + 1) * this.chunkLength; at++) {
        const x = encoded[at] ?? 0n;
        power = (power * r) % this.field.modulus;
        inputs.push((power * x) % this.field.modulus, this.field.reduce(x - 1n));
      }
      return inputs;
    });
  }
}

/** A measurement split in two. */
export interface Shares {
  readonly publicShare: Bytes;
  readonly leader: Bytes;
  readonly helper: Bytes;
}

/** One variant for two aggregators (section 7.2). */
export class Prio3 {
  /** Bytes of randomness that `shard` takes. */
  readonly randomBytes: number;
  readonly helperShareBytes: number;
  readonly leaderShareBytes: number;
  readonly #hasJointRandomness: boolean;
  readonly #wireLength: number;
  readonly #gadgetLength: number;

  constructor(private readonly circuit: Circuit) {
    this.#hasJointRandomness = circuit.jointRandomnessLength > 0;
    this.helperShareBytes = SEED_BYTES * (1 + Number(this.#hasJointRandomness));
    this.randomBytes = 2 * this.helperShareBytes;
    this.#wireLength = nextPowerOfTwo(1 + circuit.calls);
    this.#gadgetLength = 2 * (this.#wireLength - 1) + 1;
    const elements = circuit.measurementLength + this.#proofLength;
    this.leaderShareBytes = elements * circuit.field.bytes + this.helperShareBytes - SEED_BYTES;
  }

  /** Prio3Count. */
  static count(): Prio3 {
    return new Prio3(new CountCircuit());
  }

  /** Prio3MultihotCountVec. */
  static multihotCountVec(length: number, maxWeight: number, chunkLength: number): Prio3 {
    return new Prio3(new MultihotCountVecCircuit(length, maxWeight, chunkLength));
  }

  get #proofLength(): number {
    return this.circuit.arity + this.#gadgetLength;
  }

  /**
   * Split a measurement into shares (section 7.2.1).
   *
   * @param context of the application.
   * @param measurement bits, the number that the variant takes. @param nonce 16 bytes, of this report alone.
   * @param randomness `randomBytes` bytes, used once.
   */
  shard(context: Bytes, measurement: readonly Bit[], nonce: Bytes, randomness: Bytes): Shares {
    const { field } = this.circuit;
    const encoded = this.circuit.encode(measurement);
    if (encoded.length !== this.circuit.measurementLength || nonce.length !== NONCE_BYTES) {
      throw new FieldError("measurement", "has another length, or its nonce has");
    }
    const seeds = [];
    for (let at = 0; at < this.randomBytes; at += SEED_BYTES) {
      seeds.push(randomness.subarray(at, at + SEED_BYTES));
    }
    // The helper's seed and blind, the leader's blind, and last the seed of the proof.
    const [seed, helperBlind, leaderBlind] = this.#hasJointRandomness
      ? [seeds[0]!, seeds[1]!, seeds[2]!]
      : [seeds[0]!, new Uint8Array(0), new Uint8Array(0)];
    const helperMeasurement = this.#expand(
      MEASUREMENT_SHARE, context, seed, Uint8Array.of(HELPER), this.circuit.measurementLength,
    );
    const leaderMeasurement = field.subtract(encoded, helperMeasurement);

    let publicShare: Bytes = new Uint8Array(0);
    let jointRandomness: bigint[] = [];
    if (this.#hasJointRandomness) {
      publicShare = concat(
        this.#part(context, 0, leaderBlind, leaderMeasurement, nonce),
        this.#part(context, HELPER, helperBlind, helperMeasurement, nonce),
      );
      const joint = this.#derive(JOINT_RANDOMNESS_SEED, context, new Uint8Array(SEED_BYTES), publicShare);
      jointRandomness = this.#expand(
        JOINT_RANDOMNESS, context, joint, Uint8Array.of(PROOFS), this.circuit.jointRandomnessLength,
      );
    }
    const proveRandomness = this.#expand(
      PROVE_RANDOMNESS, context, seeds.at(-1)!, Uint8Array.of(PROOFS), this.circuit.arity,
    );
    const proof = this.#prove(encoded, proveRandomness, jointRandomness);
    const helperProof = this.#expand(
      PROOF_SHARE, context, seed, Uint8Array.of(PROOFS, HELPER), this.#proofLength,
    );
    return {
      publicShare,
      leader: concat(
        field.encode(leaderMeasurement), field.encode(field.subtract(proof, helperProof)), leaderBlind,
      ),
      helper: concat(seed, helperBlind),
    };
  }

  /** A fully linear proof (section 7.3.3): wire seeds, then the values of the gadget polynomial. */
  #prove(encoded: bigint[], seeds: bigint[], jointRandomness: bigint[]): bigint[] {
    const { field } = this.circuit;
    const calls = [seeds, ...this.circuit.wires(encoded, jointRandomness)];
    const order = nextPowerOfTwo(this.#gadgetLength);
    const wires = seeds.map((_, wire) => {
      const values = Array.from({ length: this.#wireLength }, (_, call) => calls[call]?.[wire] ?? 0n);
      return field.valuesAtRoots(field.coefficientsOf(values), order);
    });
    const gadget = Array.from({ length: this.#gadgetLength }, (_, point) => {
      let sum = 0n;
      for (let wire = 0; wire < wires.length; wire += 2) {
        sum += wires[wire]![point]! * wires[wire + 1]![point]!;
      }
      return sum % field.modulus;
    });
    return [...seeds, ...gadget];
  }

  #part(context: Bytes, aggregator: number, blind: Bytes, share: bigint[], nonce: Bytes): Bytes {
    const binder = concat(Uint8Array.of(aggregator), nonce, this.circuit.field.encode(share));
    return this.#derive(JOINT_RANDOMNESS_PART, context, blind, binder);
  }

  #message(usage: number, context: Bytes, seed: Bytes, binder: Bytes): Bytes {
    const tag = concat(
      Uint8Array.of(VERSION, 0), bigEndian(this.circuit.identifier, 4), bigEndian(usage, 2), context,
    );
    return concat(bigEndian(tag.length, 2).reverse(), tag, Uint8Array.of(seed.length), seed, binder);
  }

  #derive(usage: number, context: Bytes, seed: Bytes, binder: Bytes): Bytes {
    return concat(turboshake128(this.#message(usage, context, seed, binder), { D: 1, dkLen: SEED_BYTES }));
  }

  #expand(usage: number, context: Bytes, seed: Bytes, binder: Bytes, length: number): bigint[] {
    return this.circuit.field.expand(this.#message(usage, context, seed, binder), length);
  }
}

function nextPowerOfTwo(n: number): number {
  return 2 ** Math.ceil(Math.log2(n));
}
