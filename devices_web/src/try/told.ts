/**
 * What the device's tab tells the intruder's once the report is made: which intervals had an event. Until
 * then nothing is said, whatever happened.
 */

/** What was stored at a tick, and whether there was an event since the tick before. */
export interface Tick {
  /** The ciphertexts, joined. */
  readonly state: string;
  readonly happened: boolean;
}

export interface Told {
  readonly kind: "told";
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
