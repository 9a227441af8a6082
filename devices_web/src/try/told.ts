/**
 * The message from the device's tab to the intruder's tab once the report is made: which intervals had an
 * event. Until then the device's tab sends nothing, whatever happened. This file also names states, in the
 * same way in both tabs.
 */

import type { DeviceState } from "../device.ts";

const TICKS_PER_STEP = 2;

/** What was stored at a tick, and whether there was an event since the previous tick. */
export interface Tick {
  /** The ciphertexts, joined. */
  readonly state: string;
  readonly happened: boolean;
}

export interface Told {
  readonly kind: "told";
  /** Starts at the first state that the sending page saw: older ones were in another page's memory. */
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
 * The name of the state that was stored at the last tick.
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
