/**
 * Keeps the device's document and the content scripts in place, by a clock and at the browser's start. It
 * receives no event: messages would start a service worker that listened to them.
 */

import { readSettings, type Settings } from "./settings.ts";

const NAME = "device";
/** The shortest period of an alarm. */
const PERIOD_MINUTES = 0.5;
const DOCUMENT = "device.html";
const KIND = "OFFSCREEN_DOCUMENT";

async function arrange(): Promise<void> {
  if ((await chrome.alarms.get(NAME)) === undefined) {
    await chrome.alarms.create(NAME, { periodInMinutes: PERIOD_MINUTES });
  }
  const settings = usable(await chrome.storage.managed.get(null));
  await listenOn(settings?.origins ?? []);
  await show(settings);
}

/** The settings; undefined if there are none, or if they forbid everything (`options.ts` shows why). */
function usable(policy: Readonly<Record<string, unknown>>): Settings | undefined {
  try {
    return readSettings(policy);
  } catch (error) {
    console.warn(String(error));
    return undefined;
  }
}

/** Content scripts on these origins, and on no others. */
async function listenOn(origins: readonly string[]): Promise<void> {
  const [registered] = await chrome.scripting.getRegisteredContentScripts({ ids: [NAME] });
  const matches = origins.map((origin) => `${new URL(origin).protocol}//${new URL(origin).hostname}/*`);
  if (JSON.stringify(registered?.matches ?? []) === JSON.stringify(matches)) {
    return;
  }
  if (registered !== undefined) {
    await chrome.scripting.unregisterContentScripts({ ids: [NAME] });
  }
  if (matches.length > 0) {
    const script = { id: NAME, matches, js: ["event.js"], runAt: "document_start" } as const;
    await chrome.scripting.registerContentScripts([{ ...script, js: [...script.js] }]);
  }
}

/** The one document that holds the devices. It cannot read the policy by itself: its address has it. */
async function show(settings: Settings | undefined): Promise<void> {
  const address = `${DOCUMENT}#${encodeURIComponent(JSON.stringify(settings))}`;
  const [shown] = await chrome.runtime.getContexts({ contextTypes: [KIND] });
  const isWanted = settings !== undefined && shown?.documentUrl === chrome.runtime.getURL(address);
  if (shown !== undefined && !isWanted) {
    await chrome.offscreen.closeDocument();
  }
  if (settings !== undefined && !isWanted) {
    const justification = "Holds events in memory until a clock writes the encrypted state to IndexedDB.";
    await chrome.offscreen.createDocument({ url: address, reasons: ["LOCAL_STORAGE"], justification });
  }
}

// One after the other: there may be one document only.
let arranged = Promise.resolve();

function arrangeNext(): void {
  arranged = arranged.then(arrange).catch((error) => console.warn(String(error)));
}

chrome.runtime.onInstalled.addListener(arrangeNext);
chrome.runtime.onStartup.addListener(arrangeNext);
chrome.alarms.onAlarm.addListener(arrangeNext);
