/**
 * Names of events that wait in a page for its next tick, and the message in which a tab passes them on. All
 * messages are of one size, so that an observer of sizes does not learn how many names there are.
 */

import { type Bytes, concat, FieldError, utf8 } from "./bytes.ts";
import { eventName, MOST_NAMES } from "./questions.ts";

/** More than 8 names of 60 characters need, each with its end. */
const MESSAGE_BYTES = 512;
const END = ",";

export class PendingEvents {
  readonly #names = new Set<string>();

  /**
   * @param name "" for the only event of a recipe.
   * @throws FieldError no recipe lists this name, or as many names.
   */
  add(name: string): void {
    if (name !== "") {
      eventName("event", name);
    }
    if (this.#names.size === MOST_NAMES && !this.#names.has(name)) {
      throw new FieldError("event", `must be one of at most ${MOST_NAMES} names between two ticks`);
    }
    this.#names.add(name);
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  clear(): void {
    this.#names.clear();
  }

  /** The names, which then wait no longer. */
  taken(): string[] {
    const names = [...this.#names];
    this.clear();
    return names;
  }
}

/** Bytes, because an engine stores a text in one byte or two for each character. */
export function messageOf(names: readonly string[]): Bytes {
  const ended = utf8(names.map((name) => name + END).join(""));
  return concat(ended, new Uint8Array(MESSAGE_BYTES - ended.length));
}

/** Inverse of `messageOf`; no names in anything else. */
export function namesOf(message: unknown): string[] {
  return message instanceof Uint8Array ? new TextDecoder().decode(message).split(END).slice(0, -1) : [];
}
