/**
 * Randomness. Draws take bytes in the order and number in which `panprivacy.device` takes them of Python's
 * `SystemRandom`, so that from the same bytes both make the same states and reports.
 */

import { type Bytes, toNumber } from "./bytes.ts";

/** The source of random bytes: the browser's own generator on devices, given bytes in tests only. */
export interface RandomSource {
  /** `length` fresh bytes. */
  bytes(length: number): Bytes;
}

const MOST_AT_ONCE = 65_536;

/** The browser's generator. */
export const systemRandom: RandomSource = {
  bytes(length: number): Bytes {
    const drawn = new Uint8Array(length);
    for (let at = 0; at < length; at += MOST_AT_ONCE) {
      crypto.getRandomValues(drawn.subarray(at, at + MOST_AT_ONCE));
    }
    return drawn;
  },
};

/** Uniform on 0..2^bits − 1. */
export function drawBits(bits: number, random: RandomSource): bigint {
  const length = Math.ceil(bits / 8);
  return toNumber(random.bytes(length)) >> BigInt(8 * length - bits);
}

/** A fair bit. */
export function drawBit(random: RandomSource): 0 | 1 {
  return (random.bytes(1)[0]! >> 7) as 0 | 1;
}

/** Uniform on 0..sides − 1, as Python's `randrange`: drawn again until it is below. */
export function drawBelow(sides: number, random: RandomSource): number {
  for (;;) {
    const drawn = Number(drawBits(sides.toString(2).length, random));
    if (drawn < sides) {
      return drawn;
    }
  }
}

/** Uniform on the multiples of 2^−53 from 0 to 1 − 2^−53. */
export function drawUnit(random: RandomSource): number {
  return Number(drawBits(53, random)) / 2 ** 53;
}
