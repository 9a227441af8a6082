/** Stored bytes as the pages draw them, and their parts by identifier. */

import { concat, fromBase64 } from "../bytes.ts";

/** @throws Error if the page has no such part. */
export function part<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (found === null) {
    throw new Error(`the page has no part ${id}`);
  }
  return found as T;
}

/** Set the text once: a screen reader repeats text that is set again. */
export function say(id: string, text: string): void {
  const place = part(id);
  if (place.textContent !== text) {
    place.textContent = text;
  }
}

export function element(name: string, className = "", text = ""): HTMLElement {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

/** All ciphertexts, one after the other. */
export function bytesOf(ciphertexts: readonly string[]): Uint8Array {
  return concat(...ciphertexts.map((encoded) => fromBase64("ciphertexts", encoded)));
}

/** One field per byte; unchanged ones are marked. Returns how many changed. */
export function drawBytes(id: string, bytes: Uint8Array, before: Uint8Array | undefined): number {
  const place = part(id);
  while (place.childElementCount < bytes.length) {
    place.append(element("i"));
  }
  let changed = 0;
  Array.from(place.children).forEach((field, at) => {
    const byte = bytes[at] ?? 0;
    const same = before !== undefined && before[at] === byte;
    changed += Number(!same);
    field.textContent = byte.toString(16).padStart(2, "0");
    field.classList.toggle("same", same);
    (field as HTMLElement).style.setProperty("--byte", String(byte));
  });
  place.setAttribute("aria-label", `${bytes.length} bytes, which look random`);
  return changed;
}

/** The same in a line of colours. */
export function stripe(bytes: Uint8Array): HTMLElement {
  const made = element("div", "stripe");
  made.setAttribute("aria-hidden", "true");
  for (const byte of bytes) {
    const field = element("i");
    field.style.setProperty("--byte", String(byte));
    made.append(field);
  }
  return made;
}

export function changedText(changed: number, of: number): string {
  return `${changed} of ${of} bytes changed at the last tick.`;
}
