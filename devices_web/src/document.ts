/** Members of a recipe's document, of the kinds that they must have. FieldError names those that have not. */

import { FieldError } from "./bytes.ts";

/** As it was served, parsed from JSON. */
export type Document = Readonly<Record<string, unknown>>;

export function object(document: Document, name: string): Record<string, unknown> {
  const value = document[name];
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new FieldError(name, "must be an object");
  }
  return value as Record<string, unknown>;
}

export function text(document: Document, name: string): string {
  const value = document[name];
  if (typeof value !== "string") {
    throw new FieldError(name, "must be a text");
  }
  return value;
}
