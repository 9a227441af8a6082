/** Signatures under keys that others bring: exactly those that `panprivacy/protocols/ed25519.py` accepts. */

import { ed25519 } from "@noble/curves/ed25519.js";

import type { Bytes } from "./bytes.ts";

const POINT_BYTES = 32;

/** Whether these are the one encoding of a point of prime order. */
export function isPrimeOrder(encoded: Bytes): boolean {
  try {
    const point = ed25519.Point.fromBytes(encoded);
    return !point.is0() && point.isTorsionFree();
  } catch {
    return false;
  }
}

/**
 * Whether the signature is that of the message under the key.
 *
 * The library multiplies its equation by the cofactor. That makes no difference if R is of prime order.
 */
export function signatureHolds(key: Bytes, signature: Bytes, message: Bytes): boolean {
  return (
    isPrimeOrder(key) &&
    isPrimeOrder(signature.slice(0, POINT_BYTES)) &&
    ed25519.verify(signature, message, key, { zip215: false })
  );
}
