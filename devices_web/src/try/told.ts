/**
 * What the device's tab tells the intruder's once the report is made: which intervals had an event. Until
 * then nothing is said, whatever happened. And what both tabs call a state, without a word between them.
 */

import type { DeviceState } from "../device.ts";

const TICKS_PER_STEP = 2;

/** What was stored at a tick, and whether there was an event since the tick before. */
export interface Tick {
  /** The ciphertexts, joined. */
  readonly state: string;
  readonly happened: boolean;
}

export interface Told {
  readonly kind: "told";
  /** From the first state on that the telling page saw: what was before lay in another page's memory. */
  readonly ticks: readonly Tick[];
  /** Whether a coin pressed, at every tick that could have an event. */
  readonly byChance: boolean;
}

export interface Asked {
  readonly kind: "asked";
}

/** Between the tabs of one try. */
export function channelOf(recipe: string): BroadcastChannel {
  return new BroadcastChannel(`try ${recipe}`);
}

export function joined(ciphertexts: readonly string[] = []): string {
  return ciphertexts.join(" ");
}

export function tickSeconds(stepSeconds: number): number {
  return Math.max(1, stepSeconds / TICKS_PER_STEP);
}

/**
 * What a state is called that was stored at the last tick.
 *
 * @param now milliseconds since 1970, less than a tick after it was stored.
 */
export function nameOf({ phase, document }: DeviceState, now: number): string {
  if (phase === "reported") {
    return "Report";
  }
  const tick = tickSeconds(Number(document!.step_seconds));
  const at = tick * Math.floor((now - Date.parse(String(document!.opens_at))) / (1000 * tick));
  return `${String(at).replace("-", "\u2212")} s`;
}
