/** A recipe's document: its one spelling, and fields of the types that they must have. */

import canonicalize from "canonicalize";

import { type Bytes, FieldError, utf8 } from "./bytes.ts";

/** The served document, parsed from JSON. */
export type Document = Readonly<Record<string, unknown>>;

/** A document whose identifier or signature does not hold. */
export class RecipeVerificationError extends Error {
  override name = "RecipeVerificationError";
}

/** The canonical spelling of a document (RFC 8785), which is hashed and signed. */
export function canonicalJson(document: unknown): Bytes {
  const text = canonicalize(document);
  if (text === undefined) {
    throw new RecipeVerificationError("the document has no canonical form");
  }
  return utf8(text);
}

/** FieldError unless the field is an object. */
export function object(document: Document, name: string): Record<string, unknown> {
  const value = document[name];
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new FieldError(name, "must be an object");
  }
  return value as Record<string, unknown>;
}

/** FieldError unless the field is a text. */
export function text(document: Document, name: string): string {
  const value = document[name];
  if (typeof value !== "string") {
    throw new FieldError(name, "must be a text");
  }
  return value;
}
