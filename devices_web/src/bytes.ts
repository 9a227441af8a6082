/** Bytes, and their spellings as text. */

export type Bytes = Uint8Array<ArrayBuffer>;

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Invalid input; `field` names it. */
export class FieldError extends Error {
  override name = "FieldError";

  constructor(
    readonly field: string,
    problem: string,
  ) {
    super(`${field}: ${problem}`);
  }
}

export function concat(...parts: readonly Uint8Array[]): Bytes {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

export function utf8(text: string): Bytes {
  return concat(new TextEncoder().encode(text));
}

export function equal(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, at) => byte === right[at]);
}

/** `right` if `choice` is 1, `left` if it is 0: the same work for both. Of one length. */
export function select(choice: 0 | 1, left: Uint8Array, right: Uint8Array): Bytes {
  const mask = -choice & 0xff;
  const chosen = new Uint8Array(left.length);
  for (let at = 0; at < left.length; at++) {
    chosen[at] = left[at]! ^ (mask & (left[at]! ^ right[at]!));
  }
  return chosen;
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Lower-case hexadecimal of exactly `length` bytes; FieldError naming `field` otherwise. */
export function fromHex(field: string, text: unknown, length: number): Bytes {
  if (typeof text !== "string" || text.length !== 2 * length || !/^[0-9a-f]*$/.test(text)) {
    throw new FieldError(field, `must be ${2 * length} lower-case hexadecimal digits`);
  }
  return Uint8Array.from({ length }, (_, at) => Number.parseInt(text.slice(2 * at, 2 * at + 2), 16));
}

/** Base64 with padding (RFC 4648, section 4). */
export function toBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** Inverse of `toBase64`, in its one spelling; FieldError naming `field` for anything else. */
export function fromBase64(field: string, text: unknown, length?: number): Bytes {
  const problem = length === undefined ? "must be base64" : `must be ${length} bytes in base64`;
  if (typeof text !== "string" || !BASE64.test(text)) {
    throw new FieldError(field, problem);
  }
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  if (toBase64(bytes) !== text || (length !== undefined && bytes.length !== length)) {
    throw new FieldError(field, problem);
  }
  return bytes;
}

/** Base64url without padding (RFC 4648, section 5). */
export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The number in bytes, the highest byte first. */
export function toNumber(bytes: Uint8Array): bigint {
  return bytes.length === 0 ? 0n : BigInt(`0x${toHex(bytes)}`);
}

/** `value` in `length` bytes, the highest first; RangeError if it does not fit. */
export function bigEndian(value: bigint | number, length: number): Bytes {
  const digits = BigInt(value).toString(16).padStart(2 * length, "0");
  if (digits.length > 2 * length || digits.startsWith("-")) {
    throw new RangeError(`${value} does not fit into ${length} bytes`);
  }
  return fromHex("value", digits, length);
}
