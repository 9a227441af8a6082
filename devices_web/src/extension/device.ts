/**
 * The document that holds this computer's devices, one for each recipe of the policy. It is open as long as
 * the browser, so an event outlives the page that sent it; it waits here, in memory, for the next tick.
 */

import { PageDevice } from "../page.ts";
import { atSite } from "../site.ts";
import { type Settings, siteOf, STATUS, type Status } from "./settings.ts";

const settings = JSON.parse(decodeURIComponent(location.hash.slice(1))) as Settings;

const devices = settings.recipes.map(({ id, event }) => {
  let status: Status = { id, phase: "not joined", failure: "" };
  const failed = (error: unknown): void => {
    status = { ...status, failure: String(error) };
  };
  const device = new PageDevice(id, {
    ...atSite(id, siteOf(settings)),
    ...(settings.tick_seconds === undefined ? {} : { tickSeconds: settings.tick_seconds }),
    stored: ({ phase, refused }) => {
      status = { ...status, phase, ...(refused === undefined ? {} : { refused }) };
    },
    failed,
  });
  return { event, device, failed, status: () => status };
});

chrome.runtime.onMessage.addListener((message, { id, origin }, answer) => {
  if (id !== chrome.runtime.id) {
    return;
  }
  if (origin === location.origin && message === STATUS) {
    answer(devices.map(({ status }) => status()));
  } else if (settings.origins.includes(origin ?? "")) {
    for (const { device, failed } of devices.filter(({ event }) => event === message)) {
      // A recipe of several events refuses one without its name; others of this event go on.
      try {
        device.event();
      } catch (error) {
        failed(error);
      }
    }
  }
});
