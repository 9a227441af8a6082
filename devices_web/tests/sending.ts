/**
 * A device that joins and sends, told what to do by a test in Python: reads one JSON object per line, writes
 * one per line.
 */

import { createInterface } from "node:readline";

import type { Identities } from "../src/attester.ts";
import { Device, type DeviceState } from "../src/device.ts";
import type { LogMemory, Remembered } from "../src/log_memory.ts";
import { atSite, type Site } from "../src/site.ts";

const kept = new Map<string, Remembered>();
const memory: LogMemory = {
  async update(origin, change) {
    const remembered = await change(kept.get(origin));
    kept.set(origin, remembered);
    return remembered;
  },
};

/** One key for every attester; the test in Python knows it. */
const identities: Identities = { of: async () => Uint8Array.from({ length: 32 }, (_, at) => at + 1) };

/** All states that were stored in asking for the token. */
const stored: DeviceState[] = [];

interface Order {
  readonly operation: string;
  readonly recipe: string;
  readonly site: Site;
  readonly state?: DeviceState;
}

let device: Device | undefined;

async function carriedOut({ operation, recipe, site, state }: Order): Promise<object> {
  const { join, token, deliver } = atSite(recipe, { ...site, memory, identities });
  switch (operation) {
    case "join":
      device = await join();
      return { phase: device.phase };
    case "finish":
      device = Device.resume(device!.state);
      while (device.stepsTaken < device.steps) {
        device.step(1);
      }
      device.finish();
      return { phase: device.phase };
    case "token":
      stored.length = 0;
      device = Device.resume(device!.state);
      await token!(device, async (state) => void stored.push(state));
      return { asked: device.asksAt === undefined };
    case "stored":
      return { states: stored };
    case "state":
      return device!.state;
    case "resume":
      device = Device.resume(state!);
      return {};
    case "deliver":
      await deliver(device!);
      return {};
    case "remembered":
      return Object.fromEntries(kept);
    default:
      throw new RangeError(`there is no operation ${operation}`);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const answer = await carriedOut(JSON.parse(line)).catch((error) => ({
    error: `${error.constructor.name}: ${error.message}`,
  }));
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
