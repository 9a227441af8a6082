/** On pages of allowed origins: passes an event from the page to the device's document, in memory. */

import { EVENT, type EventMessage } from "./settings.ts";

addEventListener("message", ({ data, source }: MessageEvent<Partial<EventMessage> | null>) => {
  if (source === window && data?.type === EVENT && typeof data.event === "string") {
    // There is no answer; without the document the event is lost.
    void chrome.runtime.sendMessage(data.event).catch(() => undefined);
  }
});
