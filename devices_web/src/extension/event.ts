/** On pages of allowed origins: hands an event that the page tells to the device's document, in memory. */

import { EVENT, type EventMessage } from "./settings.ts";

addEventListener("message", ({ data, source }: MessageEvent<Partial<EventMessage> | null>) => {
  if (source === window && data?.type === EVENT && typeof data.event === "string") {
    // Nobody answers; without the document the event is lost.
    void chrome.runtime.sendMessage(data.event).catch(() => undefined);
  }
});
