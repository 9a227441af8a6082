/**
 * The document that holds this computer's devices, one for each recipe of the policy. It is open as long as
 * the browser, so an event outlives the page that sent it; it waits here, in memory, for the next tick.
 */

import { PageDevice } from "../page.ts";
import { atSite } from "../site.ts";
import { requireAllowed, type Settings, siteOf, STATUS, type Status } from "./settings.ts";

const settings = JSON.parse(decodeURIComponent(location.hash.slice(1))) as Settings;

const devices = settings.recipes.map(({ id, events }) => {
  let status: Status = { id, phase: "not joined", failure: "" };
  const device = new PageDevice(id, {
    ...atSite(id, siteOf(settings)),
    ...(settings.tick_seconds === undefined ? {} : { tickSeconds: settings.tick_seconds }),
    ...(settings.lifetime_epsilon === undefined ? {} : { lifetimeEpsilon: settings.lifetime_epsilon }),
    allow: (recipe) => requireAllowed(recipe, events),
    stored: ({ phase, refused }) => {
      status = { ...status, phase, ...(refused === undefined ? {} : { refused }) };
    },
    failed: (error) => {
      status = { ...status, failure: String(error) };
    },
  });
  return { events, device, status: () => status };
});

chrome.runtime.onMessage.addListener((message, { id, origin }, answer) => {
  if (id !== chrome.runtime.id) {
    return;
  }
  if (origin === location.origin && message === STATUS) {
    answer(devices.map(({ status }) => status()));
  } else if (settings.origins.includes(origin ?? "") && typeof message === "string") {
    for (const { events, device } of devices.filter(({ events }) => events.includes(message))) {
      // The only event of a recipe may be without a name there.
      device.event(events.length > 1 ? message : "");
    }
  }
});
