/** For administrators: whether the policy is valid, and the state of each of its recipes. */

import { atSite } from "../site.ts";
import { readSettings, type Settings, siteOf, STATUS, type Status } from "./settings.ts";

function line(parent: string, text: string): void {
  const made = document.createElement(parent === "recipes" ? "li" : "p");
  made.textContent = text;
  document.getElementById(parent)!.append(made);
}

/** The settings; undefined if there is no policy. Throws what the devices would. */
async function usable(): Promise<Settings | undefined> {
  const settings = readSettings(await chrome.storage.managed.get(null));
  settings?.recipes.forEach(({ id }) => atSite(id, siteOf(settings)));
  return settings;
}

async function show(): Promise<void> {
  const settings = await usable();
  if (settings === undefined) {
    line("policy", "This computer has no policy for this extension. It does nothing.");
    return;
  }
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
    line("recipes", `${names} (${id}): ${status?.phase ?? "starts within 30 seconds"}.${why}`);
  }
}

show().catch((error) => line("policy", `The policy is refused, and nothing is counted. ${error.message}`));
