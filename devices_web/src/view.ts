/** What a state shows to a person, which is what an intruder sees: no event, no value, no time of either. */

import { utf8 } from "./bytes.ts";
import { Device, type DeviceState } from "./device.ts";
import { localEpsilon } from "./recipe.ts";

/** The public facts of one state, as `panprivacy.device.view`: the same for all events. */
export interface StateView {
  /** Of the recipe. */
  readonly id: string;
  /** Null if the device left before it joined. */
  readonly name: string | null;
  /** The names of its events, with commas between; null if it names none. */
  readonly event: string | null;
  /** Whether the device is still in the recipe. */
  readonly joined: boolean;
  /** The size of the state as JSON. */
  readonly kept_bytes: number;
  /** The last step that was taken, 0..T, which the recipe's public clock sets; null if `joined` is false. */
  readonly last_changed: number | null;
  /** As `DeviceState.sent`; null while there is no report. */
  readonly sent: string | null;
  /** The local ε of one report. */
  readonly epsilon: number | null;
}

/** @throws FieldError, RecipeVerificationError the state is damaged. */
export function stateView(state: DeviceState): StateView {
  const { name, event = null, epsilon, joined, last } = factsOf(state);
  return {
    id: state.recipe,
    name: name ?? null,
    event,
    joined,
    kept_bytes: utf8(JSON.stringify(state)).length,
    last_changed: last,
    sent: state.sent ?? null,
    epsilon: epsilon ?? null,
  };
}

function factsOf(state: DeviceState) {
  if (state.phase === "done") {
    const { name, event, epsilon } = state;
    return { name, event, epsilon, joined: false, last: null };
  }
  const { recipe, stepsTaken } = Device.resume(state);
  const event = recipe.events.join(", ") || undefined;
  return { name: recipe.name, event, epsilon: localEpsilon(recipe), joined: true, last: stepsTaken };
}
