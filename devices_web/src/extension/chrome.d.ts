/**
 * The parts of the browser's interface that the extension uses (developer.chrome.com, Extensions, API
 * reference).
 */

declare namespace chrome {
  interface Event<Listener> {
    addListener(listener: Listener): void;
  }
  namespace alarms {
    const onAlarm: Event<() => void>;
    function create(name: string, info: { periodInMinutes: number }): Promise<void>;
    function get(name: string): Promise<object | undefined>;
  }
  namespace offscreen {
    function closeDocument(): Promise<void>;
    function createDocument(asked: { url: string; reasons: string[]; justification: string }): Promise<void>;
  }
  namespace runtime {
    const id: string;
    const onInstalled: Event<() => void>;
    const onStartup: Event<() => void>;
    const onMessage: Event<
      (message: unknown, sender: { id?: string; origin?: string }, answer: (given: unknown) => void) => void
    >;
    function getContexts(filter: { contextTypes: string[] }): Promise<{ documentUrl?: string }[]>;
    function getURL(path: string): string;
    function sendMessage(message: unknown): Promise<unknown>;
  }
  namespace scripting {
    interface ContentScript {
      id: string;
      matches: string[];
      js: string[];
      runAt: "document_start";
    }
    function getRegisteredContentScripts(filter: { ids: string[] }): Promise<{ matches?: string[] }[]>;
    function registerContentScripts(scripts: ContentScript[]): Promise<void>;
    function unregisterContentScripts(filter: { ids: string[] }): Promise<void>;
  }
  namespace storage {
    const managed: { get(keys: null): Promise<Record<string, unknown>> };
  }
}
