/**
 * For administrators: whether the policy is valid, and the state of each of its recipes. For all others: what
 * this computer keeps of each recipe, what it sent, what that can reveal, and how to leave.
 */

import type { DeviceState } from "../device.ts";
import { shown } from "../lifetime.ts";
import { atSite } from "../site.ts";
import { kept, leave } from "../storage.ts";
import { stateView } from "../view.ts";
import { readSettings, type Settings, siteOf, STATUS, type Status } from "./settings.ts";

function line(parent: string, text: string): HTMLElement {
  const made = document.createElement(parent === "recipes" ? "li" : "p");
  made.textContent = text;
  document.getElementById(parent)!.append(made);
  return made;
}

/** The settings; undefined if there is no policy. Throws what the devices would. */
async function usable(): Promise<Settings | undefined> {
  const settings = readSettings(await chrome.storage.managed.get(null));
  settings?.recipes.forEach(({ id }) => atSite(id, siteOf(settings)));
  return settings;
}

async function show(settings: Settings, states: readonly DeviceState[]): Promise<void> {
  line("policy", `The policy can be used. Site: ${settings.server}`);
  line("policy", `Pages that may report events: ${settings.origins.join(", ") || "none"}`);
  // The device's document opens with the browser, or at the next alarm.
  const told = (await chrome.runtime.sendMessage(STATUS).catch(() => undefined)) as Status[] | undefined;
  for (const { id, events } of settings.recipes) {
    const status = told?.find((one) => one.id === id);
    const failure = status?.failure ? ` Last failure: ${status.failure}` : "";
    // Final, so previous failures do not matter.
    const why = status?.refused === undefined ? failure : ` It sends no report: ${status.refused}`;
    const names = events.map((name) => `“${name}”`).join(", ");
    const item = line("recipes", `${names} (${id}): ${status?.phase ?? "starts within 30 seconds"}.${why}`);
    explain(item, id, states.find(({ recipe }) => recipe === id));
  }
}

/** What is kept of a recipe, from the storage alone, and a button with which to leave. */
function explain(item: HTMLElement, id: string, state: DeviceState | undefined): void {
  const list = item.appendChild(document.createElement("dl"));
  for (const [name, text] of state === undefined ? [["Kept", "nothing"]] : factsOf(state)) {
    list.appendChild(document.createElement("dt")).textContent = name!;
    list.appendChild(document.createElement("dd")).textContent = text!;
  }
  if (state?.phase !== "done") {
    const button = item.appendChild(document.createElement("button"));
    button.textContent = "Leave this recipe";
    button.addEventListener("click", async () => {
      if (confirm("Leave for good? The state is deleted, and no report is sent.")) {
        await leave(id);
        location.reload();
      }
    });
  }
}

function factsOf(state: DeviceState): string[][] {
  try {
    const { name, event, kept_bytes: bytes, last_changed: step, joined, sent, epsilon } = stateView(state);
    const unsent = joined ? "nothing yet" : "nothing that was accepted, and nothing will be";
    const reveals = epsilon === null ? null : `privacy loss (ε) ${shown(epsilon)} by one report, ${LOCAL}`;
    return [
      ["Recipe", name ?? "unknown: left before it joined"],
      ["Event", event ?? "without a name"],
      ["Joined", joined ? "yes" : `no: it ${state.left === true ? "has left" : "is done"}`],
      ["Kept", `${bytes.toLocaleString("en")} bytes, which show no event`],
      ["Last changed", joined ? `at the last tick of the clock, after ${step} steps` : "when it ended"],
      ["Sent", sent === null ? unsent : `on ${sent}, unless its coin kept it out`],
      ["Can reveal", joined || sent !== null ? (reveals ?? "nothing") : "nothing, unless a report arrived without an answer"],
    ];
  } catch (error) {
    return [["Kept", `a state that is damaged: ${String(error)}`]];
  }
}

const LOCAL = "if a server decrypts it (local model)";

async function showAll(): Promise<void> {
  const { states, used } = await kept();
  let settings: Settings | undefined;
  try {
    settings = await usable();
    if (settings === undefined) {
      line("policy", "This computer has no policy for this extension. It does nothing.");
    } else {
      await show(settings, states);
    }
  } catch (error) {
    line("policy", `The policy is refused, and nothing is counted. ${(error as Error).message}`);
  }
  const named = settings?.recipes.map(({ id }) => id) ?? [];
  for (const state of states.filter(({ recipe }) => !named.includes(recipe))) {
    explain(line("recipes", `${state.recipe}: not in the policy, so nothing is sent.`), state.recipe, state);
  }
  const most = settings?.lifetime_epsilon;
  const limit = most === undefined ? "without a limit" : `of at most ${shown(most)}`;
  line("lifetime", `All recipes ever joined can reveal a privacy loss (ε) of ${shown(used)} together, ${limit}.`);
}

showAll().catch((error) => line("policy", `This computer's storage cannot be read. ${error.message}`));
