/** The page of the intruder: what another program of this origin finds in the storage, and nothing else. */

import type { DeviceState } from "../device.ts";
import { bytesOf, changedText, drawBytes, element, part, say, stripe } from "./drawn.ts";
import { chanceOfAtLeast, happenedBetween } from "./guesses.ts";
import { type Asked, channelOf, joined, nameOf, type Told } from "./told.ts";

const LOOK_MILLISECONDS = 500;

/** A state whose recipe closed this number of seconds ago is left over from a page that was closed. */
const LEFT_OVER_SECONDS = 60;

/** A device that is open changes its state more often, until it reports. */
const STILL_MILLISECONDS = 15_000;

const BEGIN = "Begin another try, and leave its tab open: this page finds the device by itself.";

interface Interval {
  readonly from: string;
  readonly to: string;
  readonly item: HTMLElement;
  guess?: boolean;
}

/** All states in this browser; none if no device ever was. */
async function states(): Promise<DeviceState[]> {
  const database = await new Promise<IDBDatabase | undefined>((resolve) => {
    const opening = indexedDB.open("devices-web");
    // There was none: an intruder that made one would be noticed.
    opening.onupgradeneeded = () => opening.transaction!.abort();
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => resolve(undefined);
  });
  if (database === undefined) {
    return [];
  }
  try {
    return await new Promise((resolve, reject) => {
      const reading = database.transaction("states", "readonly").objectStore("states").getAll();
      reading.onsuccess = () => resolve(reading.result as DeviceState[]);
      reading.onerror = () => reject(reading.error);
    });
  } finally {
    database.close();
  }
}

class Intruder {
  readonly #intervals: Interval[] = [];
  #recipe: string | undefined;
  #channel: BroadcastChannel | undefined;
  #copies: string[] = [];
  #last: Uint8Array | undefined;
  #lastName = "";
  #over = false;
  #changedAt = 0;

  async look(): Promise<void> {
    if (this.#over) {
      return;
    }
    const found = await states();
    const watched = this.#recipe;
    const state = watched === undefined ? newest(found) : found.find(({ recipe }) => recipe === watched);
    if (watched === undefined && state === undefined) {
      say("intruder-status", absent(found));
    }
    if (state === undefined) {
      return;
    }
    if (watched === undefined) {
      this.#watch(state.recipe);
    }
    if (state.phase === "done") {
      say("intruder-status", "The device has reported, and its state is erased.");
      this.#ask();
    } else if (isLeftOver(state)) {
      this.#forget();
    } else {
      this.#copy(state);
    }
  }

  /** The device's tab will not report what happened: go on with the next device and ignore this one. */
  #forget(): void {
    this.#channel?.close();
    this.#recipe = this.#channel = this.#last = undefined;
    this.#copies = [];
    this.#intervals.length = 0;
    part("intruder-intervals").replaceChildren();
    part("intruder-bytes").replaceChildren();
    part("intruder-bytes").setAttribute("aria-label", "No copy yet");
    say("intruder-changed", "No copy yet.");
  }

  #watch(recipe: string): void {
    this.#recipe = recipe;
    this.#channel = channelOf(recipe);
    this.#channel.onmessage = ({ data }: MessageEvent<Asked | Told>) => {
      if (data.kind === "told") {
        this.#score(data);
      }
    };
    say("intruder-status", "A device is here.");
  }

  #copy(state: DeviceState): void {
    const copy = joined(state.ciphertexts);
    const from = this.#copies.at(-1);
    if (copy === from) {
      if (state.phase !== "reported" && Date.now() - this.#changedAt > STILL_MILLISECONDS) {
        say(
          "intruder-status",
          "The state changes no more. Is the device’s tab closed? Open that page again.",
        );
      }
      return;
    }
    this.#changedAt = Date.now();
    const bytes = bytesOf(state.ciphertexts ?? []);
    const changed = drawBytes("intruder-bytes", bytes, this.#last);
    this.#copies.push(copy);
    const name = nameOf(state, this.#changedAt);
    say("intruder-changed", from === undefined ? "The first copy." : changedText(changed, bytes.length));
    const reported = state.phase === "reported";
    say("intruder-status", reported ? "The report waits to be sent." : `A copy of state ${name} is taken.`);
    if (from !== undefined && this.#last !== undefined) {
      this.#offer(from, copy, this.#last, bytes, `Between states ${this.#lastName} and ${name}`);
    }
    this.#last = bytes;
    this.#lastName = name;
  }

  #offer(from: string, to: string, before: Uint8Array, after: Uint8Array, between: string): void {
    const item = element("li");
    const choices = element("fieldset");
    choices.append(element("legend", "", between));
    const interval: Interval = { from, to, item };
    for (const [guess, words] of [[true, "it happened"], [false, "it did not"]] as const) {
      const label = element("label");
      const choice = element("input") as HTMLInputElement;
      choice.type = "radio";
      choice.name = `interval-${this.#intervals.length}`;
      choice.addEventListener("change", () => {
        interval.guess = guess;
      });
      label.append(choice, ` ${words}`);
      choices.append(label);
    }
    item.append(stripe(before), stripe(after), choices);
    // At the end: what a person is about to press stays in place.
    part("intruder-intervals").append(item);
    this.#intervals.push(interval);
  }

  #ask(): void {
    this.#channel?.postMessage({ kind: "asked" } satisfies Asked);
    say(
      "intruder-waits",
      "The device’s tab shows what happened. If it was closed or loaded again, only you know.",
    );
  }

  #score({ ticks, byChance }: Told): void {
    if (this.#over) {
      return;
    }
    this.#over = true;
    this.#channel?.close();
    let right = 0;
    let guessed = 0;
    let unknown = 0;
    let lost = 0;
    for (const { from, to, item, guess } of this.#intervals) {
      const truth = happenedBetween(ticks, from, to);
      item.querySelectorAll("input").forEach((choice) => {
        choice.disabled = true;
      });
      if (truth === undefined) {
        unknown++;
        lost += Number(guess !== undefined);
        item.querySelector("fieldset")!.append(element("span", "told", "It is not known."));
        continue;
      }
      const mark = guess === undefined ? "" : guess === truth ? " You were right." : " You were wrong.";
      item.querySelector("fieldset")!.append(
        element("span", "told", `${truth ? "It happened." : "It did not happen."}${mark}`),
      );
      guessed += Number(guess !== undefined);
      right += Number(guess === truth);
    }
    say("intruder-status", "The device has reported, and its state is erased.");
    const all = this.#intervals.length;
    say(
      "intruder-waits",
      unknown === 0
        ? "What really happened is shown with each interval."
        : `What really happened is shown with ${all - unknown} of ${all} intervals. The others began ` +
          "before the device’s tab was loaded or took the device over. Only a page’s memory holds what was " +
          "pressed.",
    );
    part("intruder-score").hidden = false;
    const none = lost === 0 ? "You made no guess." : "What you guessed cannot be checked.";
    say("intruder-right", guessed === 0 ? none : `You were right in ${right} of ${guessed}.`);
    if (guessed > 0) {
      const chance = Math.round(100 * chanceOfAtLeast(right, guessed));
      say(
        "intruder-blind",
        `A tossed coin is right in ${guessed / 2} of ${guessed} on average, and does as well as you or ` +
          `better ${chance}% of the time.`,
      );
    }
    if (all === unknown) {
      return;
    }
    say(
      "intruder-known",
      byChance
        ? "A coin pressed, so you could not know beforehand. The copies gave you nothing to go by."
        : "You may have pressed yourself, or know how people press. None of that is in the copies. Let " +
          "chance press, and guess again.",
    );
  }
}

/** The device of the try that opened last, unless it is over. */
function newest(found: readonly DeviceState[]): DeviceState | undefined {
  const going = found.filter((state) => state.phase !== "done" && !isLeftOver(state));
  return going.sort((left, right) => timeOf(right, "opens_at") - timeOf(left, "opens_at"))[0];
}

function isLeftOver(state: DeviceState): boolean {
  return timeOf(state, "closes_at") + 1000 * LEFT_OVER_SECONDS <= Date.now();
}

function timeOf({ document }: DeviceState, member: string): number {
  return Date.parse(String(document?.[member]));
}

/** The text for a visitor if there is no device to inspect. */
function absent(found: readonly DeviceState[]): string {
  if (found.some(({ phase }) => phase === "done")) {
    return `The device in this browser has reported, and its state is erased. ${BEGIN}`;
  }
  if (found.length > 0) {
    return `The device’s tab was closed before it reported, and its try is over. ${BEGIN}`;
  }
  return "No device is in this browser. Begin a try in another tab: this page finds the device by itself.";
}

const intruder = new Intruder();
let looked = Promise.resolve();
setInterval(() => {
  looked = looked.then(() => intruder.look()).catch((error) => {
    say("intruder-status", `The storage cannot be read: ${error}`);
  });
}, LOOK_MILLISECONDS);
