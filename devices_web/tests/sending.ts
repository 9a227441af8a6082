/**
 * A device that joins and sends, told what to do by a test in Python: reads one JSON object per line, writes
 * one per line.
 */

import { createInterface } from "node:readline";

import { Device } from "../src/device.ts";
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

interface Order {
  readonly operation: string;
  readonly recipe: string;
  readonly site: Site;
}

let device: Device | undefined;

async function carriedOut({ operation, recipe, site }: Order): Promise<object> {
  const { join, deliver } = atSite(recipe, { ...site, memory });
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
