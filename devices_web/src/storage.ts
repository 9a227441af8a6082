/**
 * The data in the browser's storage: a state of each device, the known checkpoints of public logs, and the
 * keys by which attesters know this browser.
 */

import { type DBSchema, type IDBPDatabase, openDB } from "idb";

import type { Identities } from "./attester.ts";
import type { Bytes } from "./bytes.ts";
import type { DeviceState } from "./device.ts";
import type { LogMemory, Remembered } from "./log_memory.ts";
import { systemRandom } from "./random.ts";

const DATABASE = "devices-web";
export const STATES = "states";
const LOGS = "logs";
const IDENTITIES = "identities";
const KEY_BYTES = 32;

interface Schema extends DBSchema {
  [STATES]: { key: string; value: DeviceState };
  [LOGS]: { key: string; value: Remembered };
  [IDENTITIES]: { key: string; value: Bytes };
}

export type Database = IDBPDatabase<Schema>;

/** IndexedDB of this origin. */
export function openStorage(): Promise<Database> {
  return openDB<Schema>(DATABASE, 1, {
    upgrade(database) {
      database.createObjectStore(STATES, { keyPath: "recipe" });
      database.createObjectStore(LOGS);
      database.createObjectStore(IDENTITIES);
    },
    // So that a tab with a newer version is not kept waiting; the next tick opens it anew.
    blocking: (_from, _to, event) => (event.target as IDBDatabase).close(),
  });
}

/** Keys of this origin, one for each attester. */
export const storedIdentities: Identities = {
  async of(attesterUrl) {
    const database = await openStorage();
    try {
      // One transaction: of two devices that draw at once, one key is kept.
      const { store, done } = database.transaction(IDENTITIES, "readwrite", { durability: "strict" });
      const key = (await store.get(attesterUrl)) ?? systemRandom.bytes(KEY_BYTES);
      await Promise.all([store.put(key, attesterUrl), done]);
      return key;
    } finally {
      database.close();
    }
  },
};

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
