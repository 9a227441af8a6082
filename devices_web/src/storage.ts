/**
 * The data in the browser's storage: a state of each device, the known checkpoints of public logs, and the
 * keys by which attesters know this browser; and the ε of each recipe that was ever joined.
 */

import { type DBSchema, type IDBPDatabase, openDB } from "idb";

import type { Identities } from "./attester.ts";
import type { Bytes } from "./bytes.ts";
import { Device, DeviceError, type DeviceState } from "./device.ts";
import { requireLifetime } from "./lifetime.ts";
import type { LogMemory, Remembered } from "./log_memory.ts";
import { systemRandom } from "./random.ts";
import { localEpsilon, USUAL_LIMITS } from "./recipe.ts";

const DATABASE = "devices-web";
export const STATES = "states";
const LOGS = "logs";
const IDENTITIES = "identities";
const LIFETIME = "lifetime";
const KEY_BYTES = 32;

interface Schema extends DBSchema {
  [STATES]: { key: string; value: DeviceState };
  [LOGS]: { key: string; value: Remembered };
  [IDENTITIES]: { key: string; value: Bytes };
  /** Recipe → the local ε of one report; nothing is ever deleted. */
  [LIFETIME]: { key: string; value: number };
}

/** @internal */
export type Database = IDBPDatabase<Schema>;

/** IndexedDB of this origin. @internal */
export function openStorage(): Promise<Database> {
  return openDB<Schema>(DATABASE, 2, {
    async upgrade(database, from, _to, transaction) {
      if (from < 1) {
        database.createObjectStore(STATES, { keyPath: "recipe" });
        database.createObjectStore(LOGS);
        database.createObjectStore(IDENTITIES);
      }
      const counted = database.createObjectStore(LIFETIME);
      const states = await transaction.objectStore(STATES).getAll();
      await Promise.all(states.map((state) => counted.put(epsilonOf(state), state.recipe)));
    },
    // So that a tab with a newer version is not kept waiting; the next tick opens it anew.
    blocking: (_from, _to, event) => (event.target as IDBDatabase).close(),
  });
}

/** Of a joined recipe. If the state does not show it, the most that a device with the usual limits joins. */
function epsilonOf(state: DeviceState): number {
  try {
    return localEpsilon(Device.resume(state).recipe);
  } catch {
    return USUAL_LIMITS.largestLocalEpsilon;
  }
}

/**
 * Keep the first state of a recipe, and count its ε, both or neither.
 *
 * @param largest the budget of all recipes that were ever joined; undefined for none.
 * @throws FieldError the recipe does not fit. @throws DeviceError the recipe was joined already, or left.
 * @internal
 */
export async function keepFirst(
  database: Database,
  state: DeviceState,
  epsilon: number,
  largest?: number,
): Promise<void> {
  const transaction = database.transaction([STATES, LIFETIME], "readwrite", { durability: "strict" });
  const [states, counted] = [transaction.objectStore(STATES), transaction.objectStore(LIFETIME)];
  if ((await states.getKey(state.recipe)) !== undefined) {
    throw new DeviceError("this browser has joined the recipe already, or left it");
  }
  if (largest !== undefined) {
    if ((await counted.getKey(state.recipe)) !== undefined) {
      throw new DeviceError("this browser has joined the recipe already, by its lifetime budget");
    }
    requireLifetime(sumOf(await counted.getAll()), epsilon, largest);
  }
  await Promise.all([states.put(state), counted.put(epsilon, state.recipe), transaction.done]);
}

/**
 * Keep a later state, unless the device has left the recipe in the meantime. A report that was sent until then
 * is noted all the same.
 *
 * @returns what is kept.
 * @internal
 */
export async function keepNext(database: Database, state: DeviceState): Promise<DeviceState> {
  const { store, done } = database.transaction(STATES, "readwrite", { durability: "strict" });
  const before = await store.get(state.recipe);
  const kept = before?.left === true && state.sent === undefined ? before : state;
  await Promise.all([store.put(kept), done]);
  return kept;
}

/** Leave a recipe: its state is replaced by a note, with which no page of this origin joins again. */
export async function leave(recipe: string): Promise<void> {
  const database = await openStorage();
  try {
    const { store, done } = database.transaction(STATES, "readwrite", { durability: "strict" });
    const before = await store.get(recipe);
    if (before?.phase !== "done") {
      await store.put(leftState(recipe, before));
    }
    await done;
  } finally {
    database.close();
  }
}

/** A damaged state can be left, too. */
function leftState(recipe: string, before: DeviceState | undefined): DeviceState {
  try {
    return Device.resume(before!).leave();
  } catch {
    return { phase: "done", recipe, left: true };
  }
}

/** All states, and the sum of ε of all recipes that were ever joined. */
export async function kept(): Promise<{ states: readonly DeviceState[]; used: number }> {
  const database = await openStorage();
  try {
    return { states: await database.getAll(STATES), used: sumOf(await database.getAll(LIFETIME)) };
  } finally {
    database.close();
  }
}

function sumOf(epsilons: readonly number[]): number {
  return epsilons.reduce((sum, epsilon) => sum + epsilon, 0);
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
