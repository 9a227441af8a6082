/**
 * The page on which this browser is a device: a real one, whose every state is shown.
 *
 * Only here are presses remembered beyond the next tick, in the page's memory, to be shown at the end.
 */

import { joinRecipe, PageDevice, type Recipe, type ServedRecipe, verifiedRecipe } from "../index.ts";
import type { Device, DeviceState } from "../device.ts";
import { drawBit, systemRandom } from "../random.ts";
import { bytesOf, changedText, drawBytes, element, part, say, stripe } from "./drawn.ts";
import { type Asked, channelOf, joined, nameOf, type Tick, tickSeconds, type Told } from "./told.ts";

/** Seconds by which this computer's clock may differ from the site's. */
const CLOCK_SECONDS = 5;

/** Ticks come this long after the full step, so that a step that is over counts as over. */
const MARGIN_MILLISECONDS = 100;

/** After the first tick, for the first state; after that another tab has the device, or it is done. */
const PATIENCE_MILLISECONDS = 4_000;

const OVER = "This try is over.";

class Try {
  readonly #recipe: Recipe;
  readonly #join: () => Device;
  readonly #tickSeconds: number;
  readonly #ticks: Tick[] = [];
  #device: PageDevice | undefined;
  #before: Uint8Array | undefined;
  #pending = false;
  #byChance = true;
  #nextTick = 0;
  #reported = false;
  #sent = false;
  /** This page itself joined: the device never was in another page, nor in this one until a reload. */
  #hasJoined = false;
  /** The page shows why there is no state yet, until there is one. */
  #isToldWhy = false;

  constructor(recipe: Recipe, served: ServedRecipe, server: string) {
    this.#recipe = recipe;
    this.#join = () => {
      this.#hasJoined = true;
      return joinRecipe(served, { server }, { simulation: true });
    };
    this.#tickSeconds = tickSeconds(recipe.stepSeconds!);
    part("try-event").addEventListener("click", () => this.#press());
    this.#keepChance(part<HTMLInputElement>("try-chance"));
    const channel = channelOf(recipe.id);
    channel.onmessage = ({ data }: MessageEvent<Asked | Told>) => {
      if (data.kind === "asked" && this.#reported) {
        channel.postMessage(this.#told());
      }
    };
    this.#show();
    setInterval(() => this.#show(), 250);
    // Ticks fall on the ends of steps.
    const tick = 1000 * this.#tickSeconds;
    const ahead = (((1000 * recipe.opensAt - Date.now()) % tick) + tick) % tick;
    setTimeout(() => this.#start(), ahead + MARGIN_MILLISECONDS);
  }

  #start(): void {
    this.#device = new PageDevice(this.#recipe.id, {
      join: this.#join,
      deliver: (device) => this.#deliver(device),
      stored: (state) => this.#stored(state),
      failed: (error) => {
        this.#isToldWhy = true;
        say("try-status", `It failed, and is tried again: ${text(error)}`);
      },
      tickSeconds: this.#tickSeconds,
    });
    setTimeout(() => {
      if (this.#ticks.length === 0 && !this.#hasJoined && !this.#isToldWhy) {
        this.#isToldWhy = true;
        without("This browser’s device is in another tab. Go on there, or begin another try.");
      }
    }, PATIENCE_MILLISECONDS);
  }

  /**
   * Whether chance presses outlasts a reload. It reveals nothing about events. A press or a coin would, and
   * is in this page's memory alone: an attacker that reads the profile reads the storage of tabs, too.
   */
  #keepChance(box: HTMLInputElement): void {
    const name = `try chance ${this.#recipe.id}`;
    box.checked = sessionStorage.getItem(name) !== null;
    box.addEventListener("change", () => {
      if (box.checked) {
        sessionStorage.setItem(name, "");
      } else {
        sessionStorage.removeItem(name);
      }
    });
  }

  #press(): void {
    this.#device?.event();
    this.#pending = true;
    this.#byChance = false;
    say("try-pressed", "Noted in this page’s memory. At the next tick it goes into the encrypted state.");
  }

  #stored(state: DeviceState): void {
    this.#nextTick = Date.now() + 1000 * this.#tickSeconds;
    if (state.phase === "done") {
      this.#done(state);
      return;
    }
    const known = joined(state.ciphertexts);
    if (this.#ticks.at(-1)?.state === known) {
      return; // the report, once more
    }
    // A press in the few milliseconds in which the state was being stored counts to this tick here.
    this.#ticks.push({ state: known, happened: this.#pending });
    const bytes = bytesOf(state.ciphertexts ?? []);
    const changed = drawBytes("try-bytes", bytes, this.#before);
    if (this.#before === undefined) {
      const first = this.#hasJoined ? "The first state." : "The first state since this page has the device.";
      say("try-changed", first);
      part("try-forgotten").hidden = this.#hasJoined;
      showDevice(true);
    } else {
      say("try-changed", changedText(changed, bytes.length));
    }
    this.#before = bytes;
    this.#reported = state.phase === "reported";
    this.#list(bytes, nameOf(state, Date.now()));
    this.#pending = false;
    say("try-pressed", "It has not happened since the last tick.");
    if (!this.#reported) {
      this.#toss(part<HTMLInputElement>("try-chance").checked);
    }
    this.#show();
  }

  /** A coin is tossed at every tick, and presses only if the visitor chose so. */
  #toss(asked: boolean): void {
    const presses = drawBit(systemRandom) === 1 && asked && this.#isOpen();
    if (presses) {
      this.#device?.event();
    }
    this.#pending = presses;
    this.#byChance &&= asked || !this.#isOpen();
  }

  #list(bytes: Uint8Array, called: string): void {
    const rows = part("try-states");
    const row = element("tr");
    const name = element("th", "", called);
    name.setAttribute("scope", "row");
    const since = element("td", "since");
    const shown = element("td");
    shown.append(stripe(bytes), element("span", "unseen", `${bytes.length} bytes that look random`));
    row.append(name, since, shown);
    rows.append(row);
    this.#tellRows();
  }

  #tellRows(): void {
    const secret = part<HTMLInputElement>("try-chance").checked && !this.#reported;
    part("try-states").querySelectorAll(".since").forEach((cell, at) => {
      const happened = this.#ticks[at]!.happened ? "It happened" : "Nothing";
      const first = this.#hasJoined ? "It begins" : "Not known here";
      cell.textContent = at === 0 ? first : secret ? "The coin knows" : happened;
    });
  }

  #isOpen(): boolean {
    const now = Date.now() / 1000;
    return now >= this.#recipe.opensAt && now < endOf(this.#recipe);
  }

  #show(): void {
    const now = Date.now() / 1000;
    const { opensAt, stepSeconds } = this.#recipe;
    const steps = this.#recipe.parameters.steps!;
    const open = this.#isOpen() && !this.#reported && this.#ticks.length > 0;
    part<HTMLButtonElement>("try-event").disabled = !open;
    part<HTMLInputElement>("try-chance").disabled = this.#reported;
    const waits = this.#ticks.length === 0;
    if (this.#reported || now >= this.#recipe.closesAt || (waits && this.#isToldWhy)) {
      return;
    }
    if (now < opensAt) {
      say("try-status", "This browser becomes a device.");
      count(`The first step begins in ${seconds(opensAt - now)}.`);
    } else if (waits) {
      say("try-status", "Looking for this browser’s device.");
    } else if (now < endOf(this.#recipe)) {
      const step = Math.floor((now - opensAt) / stepSeconds!) + 1;
      say("try-status", `Step ${step} of ${steps}: press the button, or do not.`);
      count(`The state changes in ${seconds((this.#nextTick - Date.now()) / 1000)}.`);
    } else {
      say("try-status", "The steps are over: a coin falls, and the report goes out.");
      count("");
    }
  }

  async #deliver(device: Device): Promise<void> {
    const address = `/api/v1/recipes/${device.recipe.id}/reports/`;
    const body = JSON.stringify(device.report());
    const shown = part("try-report");
    const spread = JSON.stringify(device.report(), null, 2);
    shown.textContent = `POST ${address}\nContent-Type: application/json\n\n${spread}`;
    shown.hidden = false;
    say("try-reported", "This goes out now.");
    const headers = { "Content-Type": "application/json" };
    // Without cookies: a report does not reveal which user is signed in.
    const sent = await fetch(address, { method: "POST", headers, body, credentials: "omit" });
    // It may already be there if an answer got lost. A try that is over answers 409, too.
    const isThere = sent.status === 409 && (await sent.json()).reason === "duplicate_nonce";
    if (!sent.ok && !isThere) {
      throw new Error(`the site answers ${sent.status}`);
    }
    this.#sent = true;
    say("try-reported", `This went out: ${body.length} bytes, as many as if you had done the opposite.`);
  }

  #done(state: DeviceState): void {
    this.#isToldWhy = true;
    if (this.#ticks.length === 0) {
      const done = "This browser’s device is done with this try. Begin another one to see it again.";
      without(this.#hasJoined ? OVER : done);
      return;
    }
    if (!this.#reported) {
      say("try-status", "This try ended before this browser could report.");
      say("try-reported", "None was made, and none will be.");
    } else if (this.#sent) {
      say("try-status", "Your report is sent. The total follows below.");
    } else {
      say("try-status", "The try ended before your report arrived. The total follows below, without it.");
      say("try-reported", "It did not arrive, and is deleted.");
    }
    count("");
    say("try-pressed", "The steps are over.");
    say("try-kept", JSON.stringify(state));
    part("try-left").hidden = false;
    part("try-bytes").replaceChildren();
    part("try-bytes").setAttribute("aria-label", "The encrypted answer is erased");
    say("try-changed", "The encrypted answer is erased.");
    this.#tellRows();
    if (this.#reported) {
      const channel = channelOf(this.#recipe.id);
      channel.postMessage(this.#told());
      channel.close();
    }
  }

  #told(): Told {
    return { kind: "told", ticks: this.#ticks, byChance: this.#byChance };
  }
}

function endOf({ opensAt, stepSeconds, parameters }: Recipe): number {
  return opensAt + stepSeconds! * parameters.steps!;
}

function seconds(left: number): string {
  return `${Math.max(0, Math.ceil(left))} s`;
}

/** Show the state of this page's own device, or hide it. */
function showDevice(shown: boolean): void {
  document.querySelectorAll<HTMLElement>("[data-own-device]").forEach((own) => {
    own.hidden = !shown;
  });
}

/** Show why no device is in this page. */
function without(why: string): void {
  showDevice(false);
  say("try-status", why);
  count("");
}

function count(line: string): void {
  // A space keeps the line's height.
  say("try-countdown", line || "\u00a0");
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function begin(page: HTMLElement): Promise<void> {
  const { recipe: id = "", key: server = "" } = page.dataset;
  const answer = await fetch(`/api/v1/recipes/${id}/`, { credentials: "omit" });
  if (!answer.ok) {
    throw new Error(`the site answers ${answer.status}`);
  }
  const served = (await answer.json()) as ServedRecipe;
  const recipe = verifiedRecipe(served, { server });
  if (served.status === "closed") {
    without(OVER);
    return;
  }
  const date = Date.parse(answer.headers.get("Date") ?? "");
  const off = Math.round((Date.now() - date) / 1000);
  if (Math.abs(off) > CLOCK_SECONDS) {
    without(`A device follows its own clock, and this computer’s is ${Math.abs(off)} s ${
      off > 0 ? "fast" : "slow"}. Set it right, and try again.`);
    return;
  }
  if (Date.now() >= 1000 * recipe.closesAt) {
    without(OVER);
    return;
  }
  new Try(recipe, served, server);
}

const able = "locks" in navigator && "indexedDB" in window && "BroadcastChannel" in window;
const start = document.getElementById("try-begin");
if (start !== null) {
  (able ? start : part("try-lacking")).hidden = false;
}
const page = document.getElementById("try-device");
if (page !== null) {
  const refused = (why: string) => without(`This browser cannot take part: ${why}.`);
  if (able) {
    begin(page).catch((error) => refused(`${text(error)}. Load the page again, or begin another try`));
  } else {
    refused("it lacks locks, storage, or an https address. Another one, or a newer version, will do");
  }
}
