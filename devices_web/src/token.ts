/**
 * Tokens of Privacy Pass on the client's side (RFC 9578, type 0x0002): blind RSA signatures of 2,048 bits
 * (RFC 9474, RSABSSA-SHA384-PSS-Deterministic). The issuer signs what it cannot read.
 */

import { sha256, sha384 } from "@noble/hashes/sha2.js";

import {
  type Bytes,
  bigEndian,
  concat,
  equal,
  FieldError,
  fromBase64,
  fromHex,
  toBase64,
  toNumber,
  utf8,
} from "./bytes.ts";
import type { RandomSource } from "./random.ts";

const TOKEN_TYPE = bigEndian(2, 2);
const MODULUS_BYTES = 256;
const HASH_BYTES = 48;
const NONCE_BYTES = 32;
const SALT_BYTES = HASH_BYTES;
const EXPONENT = 65_537n;
/** Type, nonce, SHA-256 of challenge and key, signature. */
export const TOKEN_BYTES = 2 + 3 * 32 + MODULUS_BYTES;

/** The bytes around the modulus in a key with this exponent (RFC 9578, section 6.5). */
const BEFORE_MODULUS = fromHex(
  "key",
  "30820152303d06092a864886f70d01010a3030a00d300b0609608648016503040202" +
    "a11a301806092a864886f70d010108300b0609608648016503040202a203020130" +
    "0382010f003082010a0282010100",
  81,
);
const AFTER_MODULUS = fromHex("key", "0203010001", 5);

/** An answer that gives no token: the issuer is broken, or cheats. */
export class TokenError extends Error {
  override name = "TokenError";
}

/** A key that signs the tokens of one recipe. */
export interface TokenKey {
  readonly modulus: bigint;
  /** SHA-256 of its encoding: its name in tokens. */
  readonly id: Bytes;
}

/**
 * Draws of one token. Secret: an attacker that has them recognizes the report. Each is kept first; only then
 * is a request sent.
 */
export interface TokenDraws {
  /** 32 bytes; the last 16 are the nonce of the one report for which the token is valid. */
  readonly nonce: Bytes;
  /** 48 bytes. */
  readonly salt: Bytes;
  /** The blinding factor, from 1 to the modulus − 1, in 256 bytes. */
  readonly factor: Bytes;
}

/**
 * What a device keeps of its token: the fields of the same name in a state file of `panprivacy.device`. Byte
 * strings in base64, empty if there is none. Secret: an attacker that has it recognizes the report.
 */
export interface TokenState {
  /** The earliest time, in UTC: random, without meaning. */
  readonly asks_at: string;
  /** The draws, as in `TokenDraws`; `factor` is all zeros once the token is here, and `salt` empty. */
  readonly nonce: string;
  readonly salt: string;
  readonly factor: string;
  /** The sealed request and the secret that opens its answer; set when it is about to be sent. */
  readonly capsule: string;
  readonly secret: string;
  /** 354 bytes, verified, once it came. */
  readonly token: string;
}

/** A token that was asked for. */
export interface PendingToken {
  /**
   * The request to the issuer: 259 bytes. The same draws give the same request; a second one is never made.
   */
  readonly request: Bytes;
  /** The token, 354 bytes, whose signature was verified. TokenError if the answer gives none. */
  finish(response: Bytes): Bytes;
}

/** Read a key from a recipe's document. FieldError naming `admission.token_key`. */
export function readTokenKey(encoded: Bytes): TokenKey {
  const end = BEFORE_MODULUS.length + MODULUS_BYTES;
  const modulus = toNumber(encoded.slice(BEFORE_MODULUS.length, end));
  const fits =
    equal(encoded.slice(0, BEFORE_MODULUS.length), BEFORE_MODULUS) &&
    equal(encoded.slice(end), AFTER_MODULUS) &&
    modulus >> 2047n === 1n &&
    (modulus & 1n) === 1n;
  if (!fits) {
    const problem = "must be an RSASSA-PSS key of 2,048 bits (SHA-384, salt of 48 bytes, exponent 65,537)";
    throw new FieldError("admission.token_key", problem);
  }
  return { modulus, id: concat(sha256(encoded)) };
}

/**
 * The purpose of a recipe's tokens. It follows from the document alone: no server can mark a device by
 * sending it another one.
 *
 * @param recipe identifier, 32 bytes.
 * @param hosts of the servers that verify, in their order.
 */
export function challengeDigest(issuerName: string, recipe: Bytes, hosts: readonly string[]): Bytes {
  const [issuer, origins] = [utf8(issuerName), utf8(hosts.join(","))];
  return concat(
    sha256(
      concat(
        TOKEN_TYPE,
        bigEndian(issuer.length, 2), issuer,
        bigEndian(recipe.length, 1), recipe,
        bigEndian(origins.length, 2), origins,
      ),
    ),
  );
}

/** All draws of one token. */
export function drawToken(key: TokenKey, random: RandomSource): TokenDraws {
  const [nonce, salt] = [random.bytes(NONCE_BYTES), random.bytes(SALT_BYTES)];
  return { nonce, salt, factor: drawFactor(key, random) };
}

/** Uniform on 1..modulus − 1. */
function drawFactor(key: TokenKey, random: RandomSource): Bytes {
  for (;;) {
    const factor = toNumber(random.bytes(MODULUS_BYTES)) + 1n;
    if (factor < key.modulus) {
      return bigEndian(factor, MODULUS_BYTES);
    }
  }
}

/**
 * The stored state of a token that the device will request with another blinding factor. The token is the
 * same.
 */
export function blindedAnew(state: TokenState, key: TokenKey, random: RandomSource): TokenState {
  return { ...state, factor: toBase64(drawFactor(key, random)), capsule: "", secret: "" };
}

/** The stored state of a token that is not yet requested. */
export function tokenDrawn(key: TokenKey, asksAt: number, random: RandomSource): TokenState {
  const { nonce, salt, factor } = drawToken(key, random);
  return {
    asks_at: new Date(1000 * asksAt).toISOString().replace(".000Z", "Z"),
    nonce: toBase64(nonce),
    salt: toBase64(salt),
    factor: toBase64(factor),
    capsule: "",
    secret: "",
    token: "",
  };
}

/** The stored state of a token that arrived. */
export function tokenKept(asked: TokenState, token: Bytes): TokenState {
  const factor = toBase64(new Uint8Array(MODULUS_BYTES));
  return { ...asked, salt: "", factor, capsule: "", secret: "", token: toBase64(token) };
}

/** The draws of a token that is still to be asked for. FieldError if they are none. */
export function drawsOf(state: TokenState): TokenDraws {
  return {
    nonce: fromBase64("token.nonce", state.nonce, NONCE_BYTES),
    salt: fromBase64("token.salt", state.salt, SALT_BYTES),
    factor: fromBase64("token.factor", state.factor, MODULUS_BYTES),
  };
}

/** The nonce of the one report for which a token is valid, 16 bytes. */
export function reportNonce(state: TokenState): Bytes {
  return fromBase64("token.nonce", state.nonce, NONCE_BYTES).slice(NONCE_BYTES / 2);
}

/** FieldError if a token that came is of another report or recipe than in its state. */
export function requireTokenState(state: TokenState, key: TokenKey, challenge: Bytes): void {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(state.asks_at)) {
    throw new FieldError("token.asks_at", "must be a time of the form 2026-01-31T12:00:00Z");
  }
  if (state.token === "") {
    drawsOf(state);
    return;
  }
  const token = fromBase64("token.token", state.token, TOKEN_BYTES);
  const input = tokenInput(fromBase64("token.nonce", state.nonce, NONCE_BYTES), challenge, key);
  if (!equal(token.slice(0, input.length), input)) {
    throw new FieldError("token.token", "is of another report");
  }
}

function tokenInput(nonce: Bytes, challenge: Bytes, key: TokenKey): Bytes {
  return concat(TOKEN_TYPE, nonce, challenge, key.id);
}

/** Ask for a token with these draws (RFC 9578, section 6.1). */
export function askForToken(key: TokenKey, challenge: Bytes, draws: TokenDraws): PendingToken {
  const input = tokenInput(draws.nonce, challenge, key);
  const encoded = toNumber(encodePss(input, draws.salt));
  const factor = toNumber(draws.factor);
  const inverse = inverseOf(factor, key.modulus);
  const blinded = (encoded * power(factor, EXPONENT, key.modulus)) % key.modulus;
  return {
    request: concat(TOKEN_TYPE, key.id.slice(-1), bigEndian(blinded, MODULUS_BYTES)),
    finish(response) {
      const hidden = toNumber(response);
      if (response.length !== MODULUS_BYTES || hidden >= key.modulus) {
        throw new TokenError("a blind signature must be a number below the modulus");
      }
      const signature = (hidden * inverse) % key.modulus;
      if (power(signature, EXPONENT, key.modulus) !== encoded) {
        throw new TokenError("the signature is not of this message by this key");
      }
      return concat(input, bigEndian(signature, MODULUS_BYTES));
    },
  };
}

/** EMSA-PSS-ENCODE with SHA-384 and MGF1, for a modulus of 2,048 bits (RFC 8017, section 9.1.1). */
function encodePss(message: Bytes, salt: Bytes): Bytes {
  const digest = sha384(concat(new Uint8Array(8), sha384(message), salt));
  const zeros = new Uint8Array(MODULUS_BYTES - salt.length - HASH_BYTES - 2);
  const block = concat(zeros, Uint8Array.of(1), salt);
  const blocks = Array.from({ length: Math.ceil(block.length / HASH_BYTES) }, (_, counter) =>
    sha384(concat(digest, bigEndian(counter, 4))),
  );
  const mask = concat(...blocks);
  const masked = block.map((byte, at) => byte ^ mask[at]!);
  masked[0]! &= 0x7f;
  return concat(masked, digest, Uint8Array.of(0xbc));
}

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let [result, square] = [1n, base % modulus];
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) {
      result = (result * square) % modulus;
    }
    square = (square * square) % modulus;
  }
  return result;
}

/** 1/value by the extended algorithm of Euclid. */
function inverseOf(value: bigint, modulus: bigint): bigint {
  let [old, rest] = [modulus, value];
  let [before, found] = [0n, 1n];
  while (rest !== 0n) {
    const quotient = old / rest;
    [old, rest] = [rest, old - quotient * rest];
    [before, found] = [found, before - quotient * found];
  }
  if (old !== 1n) {
    throw new TokenError("the blinding factor shares a divisor with the modulus");
  }
  return before < 0n ? before + modulus : before;
}
