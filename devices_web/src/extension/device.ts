/**
 * The document that holds this computer's devices, one for each recipe of the policy. It is open as long as
 * the browser, so an event outlives the page that told it; it waits here, in memory, for the next tick.
 */

import { PageDevice } from "../page.ts";
import { atSite } from "../site.ts";
import type { Settings } from "./settings.ts";

const settings = JSON.parse(decodeURIComponent(location.hash.slice(1))) as Settings;

const keys = {
  server: settings.server_key,
  ...(settings.helper_key === undefined ? {} : { helper: settings.helper_key }),
};

const devices = settings.recipes.map(({ id, event }) => {
  const device = new PageDevice(id, {
    ...atSite(id, { server: settings.server, keys, policy: settings.log_policy }),
    ...(settings.tick_seconds === undefined ? {} : { tickSeconds: settings.tick_seconds }),
    failed: (error) => console.warn(`${id}: ${error}`),
  });
  return { event, device };
});

chrome.runtime.onMessage.addListener((message, { id, origin }) => {
  if (id === chrome.runtime.id && settings.origins.includes(origin ?? "")) {
    devices.filter(({ event }) => event === message).forEach(({ device }) => device.event());
  }
});
