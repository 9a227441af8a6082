/**
 * With an event and without, a device does the same work: it calls every function as often, and draws as many
 * bytes. The engine counts the calls. What `BigInt` does inside of one operation is not counted.
 */

import assert from "node:assert/strict";
import { Session } from "node:inspector/promises";
import { mock, test } from "node:test";

import { Automaton } from "../src/automaton.ts";
import { Device, joinRecipe } from "../src/device.ts";
import { GivenBytes, python } from "./given.ts";

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

/** Function, by its place in this program → calls; and the bytes drawn. */
type Work = Readonly<Record<string, number>>;

/** What `run` does from bytes that are the same each time; the curve's own blinding takes them, too. */
async function workOf(run: (random: GivenBytes) => void): Promise<Work> {
  const random = new GivenBytes("work");
  const blinding = new GivenBytes("blinding");
  mock.method(crypto, "getRandomValues", (into: Uint8Array) => {
    into.set(blinding.bytes(into.length));
    return into;
  });
  await session.post("Profiler.takePreciseCoverage");
  run(random);
  const { result } = await session.post("Profiler.takePreciseCoverage");
  mock.restoreAll();
  const own = result.filter(({ url }) => url === import.meta.url).flatMap(({ functions }) => functions);
  const calls = own.map(({ functionName, ranges: [range] }) => {
    return [`${functionName} at ${range!.startOffset}`, range!.count] as const;
  });
  return { ...Object.fromEntries(calls.filter(([, count]) => count > 0)), bytes: random.taken };
}

async function withoutAndWith(
  run: (random: GivenBytes, events: number) => void,
  events = 1,
): Promise<[Work, Work]> {
  const found: Work[] = [];
  // What is computed once and kept is not counted.
  for (const happened of [0, events, 0, events]) {
    found.push(await workOf((random) => run(random, happened)));
  }
  return [found[2]!, found[3]!];
}

const COUNTERS = [
  "count", "histogram", "histogram-vector", "mean", "count-two-servers", "histogram-two-servers",
];
for (const name of [...COUNTERS, "funnel", "time-to-first", "longest-streak", "automaton"]) {
  const { served, keys } = python.recipes[name]!;
  const start = joinRecipe(served, keys, { simulation: true, random: new GivenBytes("start") });
  const { length: names } = start.recipe.events;

  test(`${name}: a step with an event does the work of one without`, async () => {
    const [without, withEvent] = await withoutAndWith((random, event) => {
      Device.resume(start.state, random).step(event);
    });
    assert.deepEqual(withEvent, without);
    assert.ok(Object.keys(without).length > 50 && without.bytes! > 0);
  });

  for (let events = 2; events < 1 << names; events++) {
    test(`${name}: a step with the events ${events.toString(2)} does the work of one without`, async () => {
      const [without, withEvents] = await withoutAndWith((random, happened) => {
        Device.resume(start.state, random).step(happened);
      }, events);
      assert.deepEqual(withEvents, without);
    });
  }

  if (start.ticksTakeEvents) {
    test(`${name}: a tick with an event does the work of one without`, async () => {
      const [without, withEvent] = await withoutAndWith((random, event) => {
        Device.resume(start.state, random).tick(event);
      });
      assert.deepEqual(withEvent, without);
    });
  }

  test(`${name}: the same count catches a step that only rerandomizes where there is no event`, async () => {
    const [without, withEvent] = await withoutAndWith((random, event) => {
      const device = Device.resume(start.state, random);
      if (event === 1) {
        device.step(1);
      } else {
        device.tick();
      }
    });
    assert.notDeepEqual(withEvent, without);
  });
}

test("funnel: the same count catches a step that adds up only for names that happened", async () => {
  const { served, keys } = python.recipes.funnel!;
  const start = joinRecipe(served, keys, { simulation: true, random: new GivenBytes("start") });
  const { stepped } = Automaton.prototype;
  type Given = Parameters<typeof stepped>;
  const saving = function (this: Automaton, ...[key, vector, happened, ...others]: Given) {
    const stay = this.on[0]!.map((_, state) => state);
    const on = this.on.map((table, name) => ((happened >> name) & 1 ? table : stay));
    return stepped.call(new Automaton({ ...this, on }), key, vector, happened, ...others);
  };
  Automaton.prototype.stepped = saving;
  try {
    const [without, withEvent] = await withoutAndWith((random, event) => {
      Device.resume(start.state, random).step(event);
    });
    assert.notDeepEqual(withEvent, without);
  } finally {
    Automaton.prototype.stepped = stepped;
  }
});
