/** What is kept in the browser: a state of each device, and what was seen of public logs. */

import { type DBSchema, type IDBPDatabase, openDB } from "idb";

import type { DeviceState } from "./device.ts";
import type { LogMemory, Remembered } from "./log_memory.ts";

const DATABASE = "devices-web";
export const STATES = "states";
const LOGS = "logs";

interface Schema extends DBSchema {
  [STATES]: { key: string; value: DeviceState };
  [LOGS]: { key: string; value: Remembered };
}

export type Database = IDBPDatabase<Schema>;

/** IndexedDB of this origin. */
export function openStorage(): Promise<Database> {
  return openDB<Schema>(DATABASE, 2, {
    upgrade(database, before) {
      if (before < 1) {
        database.createObjectStore(STATES, { keyPath: "recipe" });
      }
      database.createObjectStore(LOGS);
    },
    // So that a tab with a newer version is not kept waiting; the next tick opens it anew.
    blocking: (_from, _to, event) => (event.target as IDBDatabase).close(),
  });
}

/** The memory of logs of this origin, one for all its devices and tabs. */
export const storedLogs: LogMemory = {
  update: (origin, change) =>
    navigator.locks.request(`${DATABASE} logs`, async () => {
      const database = await openStorage();
      try {
        const known = await database.get(LOGS, origin);
        const kept = await change(known);
        if (kept !== known) {
          await database.put(LOGS, kept, origin);
        }
        return kept;
      } finally {
        database.close();
      }
    }) as Promise<Remembered>,
};
