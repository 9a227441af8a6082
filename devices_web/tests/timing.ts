/**
 * `node build/tests/timing.mjs [pairs]`: the processor time of steps with an event and without, in pairs
 * whose order a coin decides. An experiment, not a test: it depends on the machine.
 */

import { Device, joinRecipe } from "../src/device.ts";
import { python } from "./given.ts";

const pairs = Number(process.argv[2] ?? 2000);
/** Of the normal distribution: beyond it with probability 1e-6 (two sides), and 1e-3 (one side). */
const [WIDE, LIKELY] = [4.89, 3.09];

function microseconds(run: () => void): number {
  const begun = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(begun);
  return user + system;
}

for (const name of ["count", "histogram", "mean", "count-two-servers", "funnel-of-six"]) {
  const { served, keys } = python.recipes[name]!;
  let state = joinRecipe(served, keys, { simulation: true }).state;
  const timed = (event: 0 | 1) => {
    const device = Device.resume({ ...state, step: 0 });
    const taken = microseconds(() => device.step(event));
    state = device.state;
    return taken;
  };
  for (let warming = 0; warming < 50; warming++) {
    timed(0);
    timed(1);
  }
  const differences: number[] = [];
  let total = 0;
  for (let pair = 0; pair < pairs; pair++) {
    const first = crypto.getRandomValues(new Uint8Array(1))[0]! < 128;
    const times = first ? [timed(1), timed(0)] : [timed(0), timed(1)];
    differences.push(first ? times[0]! - times[1]! : times[1]! - times[0]!);
    total += times[1]!;
  }
  // The collector runs in some steps: the tenth of the pairs that differ most is left out.
  const kept = differences.sort((left, right) => Math.abs(left) - Math.abs(right)).slice(0, 0.9 * pairs);
  const mean = kept.reduce((sum, value) => sum + value, 0) / kept.length;
  const variance = kept.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (kept.length - 1);
  const error = Math.sqrt(variance / kept.length);
  console.log(
    `${name}: ${(total / pairs).toFixed(0)} µs a step; with an event ${mean.toFixed(2)} µs more, ` +
      `± ${(WIDE * error).toFixed(2)} (failure probability 1e-6); ` +
      `found with probability 0.999 from ${((WIDE + LIKELY) * error).toFixed(2)} µs on`,
  );
}
