/**
 * One device's part in one recipe, in memory. An adapter decides when and in which storage the state is
 * written: `state` is a plain object with the fields of a state file of `panprivacy.device`.
 */

import { equal, FieldError, fromBase64, toBase64 } from "./bytes.ts";
import { randomizedCategory } from "./categories.ts";
import type { DapUpload } from "./dap.ts";
import type { Ciphertext, EncryptionKey } from "./elgamal.ts";
import { type Mechanism, mechanismOf, reportingRate, required } from "./mechanisms.ts";
import { drawUnit, type RandomSource, systemRandom } from "./random.ts";
import {
  type Limits,
  localEpsilon,
  type PinnedKeys,
  type Recipe,
  RecipeRefusedError,
  requireTakesPart,
  type ServedRecipe,
  USUAL_LIMITS,
  verifiedRecipe,
} from "./recipe.ts";
import type { Bit } from "./response.ts";
import { reportNonce, requireTokenState, TOKEN_BYTES, tokenDrawn, type TokenState } from "./token.ts";

const NONCE_BYTES = 16;

/** Something that this device must not or cannot do in its phase. */
export class DeviceError extends Error {
  override name = "DeviceError";
}

/**
 * The device's phase. It depends on public facts and the sampling coin, never on events. `reported`: the
 * report is made and waits for its delivery.
 */
export type Phase = "collecting" | "not_sampled" | "reported" | "done";

/**
 * All that a device keeps; nothing in it is a plaintext, a seed or a time of anything that happened. Byte
 * strings in base64. In the phase `done` only public facts are left: `phase`, `recipe`, and what is below
 * `token`. They are the same whether the device was sampled or not.
 */
export interface DeviceState {
  readonly phase: Phase;
  /** Identifier. */
  readonly recipe: string;
  readonly document?: Readonly<Record<string, unknown>>;
  readonly signature?: string;
  readonly verification_key?: string;
  readonly helper_key?: string;
  readonly helper_signature?: string;
  readonly issuer_key?: string;
  readonly issuer_signature?: string;
  readonly server?: string;
  /** Steps taken, 0..T. */
  readonly step?: number;
  readonly ciphertexts?: readonly string[];
  readonly nonce?: string;
  /** If the recipe asks for one: kept in the same form by devices that take part and by others. */
  readonly token?: TokenState;
  /** Of the recipe, once the device is done; the names of its events with commas between. */
  readonly name?: string;
  readonly event?: string;
  /** The local ε of one report, once the device is done. */
  readonly epsilon?: number;
  /**
   * The day (UTC) on which the device sent its report, or would have if it had been sampled. A day, because a
   * time would show which report is whose to a reader of the server's log.
   */
  readonly sent?: string;
  /** The device left the recipe before its report. */
  readonly left?: true;
  /**
   * Why a device is done that never got its token, for display. It reveals nothing about events or the coin:
   * every device asks for a token.
   */
  readonly refused?: string;
}

/** A report in the form of a single server's API. */
export interface RestReport {
  readonly nonce: string;
  readonly ciphertexts: readonly string[];
  readonly token?: string;
}

export interface JoinOptions {
  /** The server's address, kept in the state. */
  readonly server?: string;
  readonly simulation?: boolean;
  readonly limits?: Limits;
  /**
   * The caller sends nothing of a recipe with a relay over another transport, like `atSite`; else it is
   * refused.
   */
  readonly relayed?: boolean;
  /**
   * Seconds since 1970, by this computer's clock unless given. Between it and the first possible report lies
   * the random time from which the device asks for its token.
   */
  readonly now?: number;
  /** The browser's generator by default; given bytes in tests only. */
  readonly random?: RandomSource;
}

/**
 * Verify a recipe, toss the sampling coin, and make the first state.
 *
 * @throws RecipeVerificationError, FieldError, RecipeRefusedError nothing is kept then.
 */
export function joinRecipe(served: ServedRecipe, keys: PinnedKeys, options: JoinOptions = {}): Device {
  const random = options.random ?? systemRandom;
  const recipe = verifiedRecipe(served, keys);
  const { simulation = false, limits = USUAL_LIMITS, server = "", relayed = false } = options;
  requireTakesPart(recipe, { status: served.status, simulation, limits, relayed });
  const mechanism = mechanismOf(recipe.statistic, recipe.parameters);
  if (mechanism === undefined) {
    throw new RecipeRefusedError("devices take no steps in this recipe: they send one value (valueReport)");
  }
  const enrolment = {
    recipe: served.id,
    document: served.document,
    signature: served.signature,
    verification_key: keys.server,
    server,
    ...(keys.helper === undefined ? {} : { helper_key: keys.helper }),
    ...(typeof served.helper_signature === "string" ? { helper_signature: served.helper_signature } : {}),
    ...(keys.issuer === undefined ? {} : { issuer_key: keys.issuer }),
    ...(typeof served.issuer_signature === "string" ? { issuer_signature: served.issuer_signature } : {}),
    ...drawnToken(recipe, options.now ?? Date.now() / 1000, random),
  };
  if (drawUnit(random) >= reportingRate(recipe.parameters)) {
    const state = { ...enrolment, phase: "not_sampled", step: 0, ciphertexts: [], nonce: "" } as const;
    return new Device(recipe, mechanism, state, random);
  }
  const { token } = enrolment;
  const fixed = token === undefined ? () => random.bytes(NONCE_BYTES) : () => reportNonce(token);
  const nonce = recipe.key!.bindsNonce ? fixed() : new Uint8Array(0);
  const ciphertexts = mechanism.start(recipe.key!.boundTo(nonce), random).map(toBase64);
  const state = { ...enrolment, phase: "collecting", step: 0, ciphertexts, nonce: toBase64(nonce) } as const;
  return new Device(recipe, mechanism, state, random);
}

/**
 * All draws of a token, made first, then the coin is tossed. It is asked for at a uniform time between
 * joining and the first possible report; at once if that is past, or of a simulation.
 */
function drawnToken(recipe: Recipe, now: number, random: RandomSource): { token?: TokenState } {
  const { admission, opensAt, stepSeconds, parameters } = recipe;
  if (admission === undefined) {
    return {};
  }
  const first = opensAt + required(parameters, "steps") * stepSeconds!;
  const span = Math.max(0, Math.trunc(first - now));
  const wait = recipe.simulation ? 0 : Math.trunc(span * drawUnit(random));
  return { token: tokenDrawn(admission.tokenKey, Math.trunc(now) + wait, random) };
}

/** One device's part in one recipe, made by `joinRecipe` (once) or `Device.resume` (every later time). */
export class Device {
  #state: DeviceState;
  readonly #mechanism: Mechanism;
  readonly #random: RandomSource;

  /** @internal */
  constructor(readonly recipe: Recipe, mechanism: Mechanism, state: DeviceState, random: RandomSource) {
    this.#mechanism = mechanism;
    this.#state = state;
    this.#random = random;
  }

  /**
   * Go on from a state, whose recipe is verified again.
   *
   * @throws DeviceError the device is done.
   * @throws FieldError, RecipeVerificationError the state is damaged.
   */
  static resume(state: DeviceState, random: RandomSource = systemRandom): Device {
    if (state.phase === "done") {
      throw new DeviceError(`this device is done with recipe ${state.recipe}`);
    }
    const { document, signature = "", verification_key: server = "" } = state;
    if (document === undefined) {
      throw new FieldError("document", "is missing");
    }
    const helper = state.helper_key === undefined ? {} : { helper: state.helper_key };
    const issuer = state.issuer_key === undefined ? {} : { issuer: state.issuer_key };
    const { recipe: id, helper_signature = null, issuer_signature = null } = state;
    const recipe = verifiedRecipe(
      { id, document, signature, status: "open", helper_signature, issuer_signature },
      { server, ...helper, ...issuer },
    );
    const mechanism = mechanismOf(recipe.statistic, recipe.parameters);
    if (mechanism === undefined) {
      throw new FieldError("statistic", "takes no steps");
    }
    requireState(state, recipe, mechanism);
    return new Device(recipe, mechanism, state, random);
  }

  /** The state to be kept. */
  get state(): DeviceState {
    return this.#state;
  }

  get phase(): Phase {
    return this.#state.phase;
  }

  get stepsTaken(): number {
    return this.#state.step ?? 0;
  }

  get steps(): number {
    return required(this.recipe.parameters, "steps");
  }

  /**
   * Of an event, its bit in `step`.
   *
   * @param name may be left out if the recipe has one event.
   * @throws FieldError the recipe does not list it.
   */
  bitOf(name?: string): number {
    const { events } = this.recipe;
    if (name === undefined && events.length <= 1) {
      return 1;
    }
    const at = events.findIndex((event) => event === name);
    if (at < 0) {
      const listed = events.length === 0 ? "left out: the recipe names none" : `one of ${events.join(", ")}`;
      throw new FieldError("event", `must be ${listed}; not ${name ?? "left out"}`);
    }
    return 1 << at;
  }

  /**
   * Take the next time step: all ciphertexts change, with an event and without. After a pause also all
   * further ones up to `last`, without events.
   *
   * One rerandomization replaces all of them. A step adds r·(G, H) to what it leaves in each place, with an r
   * drawn for it alone, uniform except for at most five values out of q ≈ 2^256 (0, and what would lead to
   * infinity). So after the first step, as after any number of them, the randomness of every ciphertext is
   * uniform, independently of all previous states; and the plaintext is the same. No attacker sees the states
   * in between: none is kept. The two distributions differ by less than 2^−230, for all places.
   *
   * @param events how often the event occurred in the next step; more than once is once. If the recipe has
   * several events, the sum of the bits (`bitOf`) of those that occurred; they are taken in its order.
   * @param last number of the last step that is taken: by default of the next.
   * @throws FieldError a bit of no event. @throws DeviceError after the last step, or when the report is made.
   */
  step(events: number, last = this.stepsTaken + 1): DeviceState {
    this.#requireCollecting();
    if (this.stepsTaken >= this.steps) {
      throw new DeviceError(`all ${this.steps} steps have been taken`);
    }
    if (!Number.isInteger(last) || last <= this.stepsTaken || last > this.steps) {
      throw new DeviceError(`steps ${this.stepsTaken + 1} to ${this.steps} can be taken, not up to ${last}`);
    }
    const [happened, steps] = [this.#happened(events), { first: this.stepsTaken + 1, last }];
    if (this.phase === "not_sampled") {
      return this.#become({ ...this.#state, step: last });
    }
    const taken = this.#mechanism.step(this.#key, this.#ciphertexts, happened, steps, this.#random);
    return this.#become({ ...this.#state, step: last, ciphertexts: taken.map(toBase64) });
  }

  #happened(events: number): number {
    const names = this.recipe.events.length;
    if (names <= 1) {
      return Number(events > 0);
    }
    if (!Number.isInteger(events) || events < 0 || events >= 1 << names) {
      throw new FieldError("events", `must be a sum of bits of ${names} events, not ${events}`);
    }
    return events;
  }

  /** Whether `tick` accepts events. Else they stay in memory until `step`; closing the page loses them. */
  get ticksTakeEvents(): boolean {
    return this.#mechanism.ticksTakeEvents;
  }

  /**
   * Between two steps, on a clock: all ciphertexts change, with an event and without. After a pause one tick
   * replaces all that were missed.
   *
   * @param events how often the event occurred since the last tick; 0 unless `ticksTakeEvents`.
   * @throws DeviceError after the last step, or when the report is made.
   */
  tick(events = 0): DeviceState {
    this.#requireCollecting();
    // Asked with an event and without: the same work.
    const [takesEvents, isOver] = [this.ticksTakeEvents, this.stepsTaken >= this.steps];
    if (!takesEvents && events > 0) {
      throw new DeviceError("events of this recipe are taken at the end of a step only");
    }
    if (isOver && events > 0) {
      throw new DeviceError(`all ${this.steps} steps have been taken`);
    }
    if (this.phase === "not_sampled") {
      return this.#state;
    }
    const event = Number(events > 0) as Bit;
    const taken = this.#mechanism.tick(this.#key, this.#ciphertexts, event, this.#random);
    return this.#become({ ...this.#state, ciphertexts: taken.map(toBase64) });
  }

  /**
   * When the device may ask for its token, in seconds since 1970; undefined if it has it, or needs none.
   * Every device asks, whether it takes part or not.
   */
  get asksAt(): number | undefined {
    const { token } = this.#state;
    return token === undefined || token.token !== "" ? undefined : Date.parse(token.asks_at) / 1000;
  }

  /** Go on with a token that was asked for, or that came. */
  keepToken(token: TokenState): DeviceState {
    return this.#become({ ...this.#state, token });
  }

  /**
   * Make the report, after the last step, in place of the counters. Once made, it stays: keep the state
   * first, then send. A device that is not sampled is done.
   *
   * @param now seconds since 1970, by this computer's clock unless given; of it the day is kept.
   * @throws DeviceError before the last step, or while the token is missing.
   */
  finish(now = Date.now() / 1000): DeviceState {
    if (this.phase === "reported") {
      return this.#state;
    }
    this.#requireCollecting();
    if (this.stepsTaken < this.steps) {
      throw new DeviceError(`only ${this.stepsTaken} of ${this.steps} steps have been taken`);
    }
    // Before reading the coin: otherwise a late request would reveal which devices take part.
    if (this.asksAt !== undefined) {
      throw new DeviceError("this recipe takes reports with a token only, and the device has none yet");
    }
    if (this.phase === "not_sampled") {
      return this.sent(now);
    }
    const report = this.#mechanism.report(this.#key, this.#ciphertexts, this.#random);
    const { token } = this.#state;
    const drawn = () => (token === undefined ? this.#random.bytes(NONCE_BYTES) : reportNonce(token));
    const nonce = this.#state.nonce || toBase64(drawn());
    return this.#become({ ...this.#state, phase: "reported", ciphertexts: report.map(toBase64), nonce });
  }

  /** The report in the form of a single server's API, once it is made. */
  report(): RestReport {
    this.#requireReported();
    const { nonce, ciphertexts, token } = this.#state;
    return {
      nonce: nonce!,
      ciphertexts: ciphertexts!,
      ...(token === undefined ? {} : { token: token.token }),
    };
  }

  /**
   * The report, if it is sealed to two servers: what to seal to both, and where it goes.
   *
   * @throws FieldError reports of the recipe's trust model are not sealed.
   */
  upload(): DapUpload {
    this.#requireReported();
    const { nonce, token } = this.#state;
    const shown = token === undefined ? undefined : fromBase64("token.token", token.token);
    const { recipe } = this;
    return recipe.servers.upload(recipe, fromBase64("nonce", nonce, NONCE_BYTES), this.#ciphertexts, shown);
  }

  /** The report is delivered: the device is done. @param now as in `finish`. */
  sent(now = Date.now() / 1000): DeviceState {
    return this.#end({ sent: new Date(1000 * now).toISOString().slice(0, 10) });
  }

  /** The device is done without a report. @param refused why it gets no token, if that is so. */
  done(refused?: string): DeviceState {
    return this.#end(refused === undefined ? {} : { refused });
  }

  /** Leave the recipe before its report. Keep the state: with it the device does not join again. */
  leave(): DeviceState {
    return this.#end({ left: true });
  }

  #end(how: Pick<DeviceState, "sent" | "refused" | "left">): DeviceState {
    const { id, name, events } = this.recipe;
    const event = events.length === 0 ? {} : { event: events.join(", ") };
    return this.#become({
      phase: "done", recipe: id, name, ...event, epsilon: localEpsilon(this.recipe), ...how,
    });
  }

  get #ciphertexts(): Ciphertext[] {
    return this.#state.ciphertexts!.map((encoded) => fromBase64("ciphertexts", encoded));
  }

  get #key(): EncryptionKey {
    return this.recipe.key!.boundTo(fromBase64("nonce", this.#state.nonce));
  }

  #become(state: DeviceState): DeviceState {
    this.#state = state;
    return state;
  }

  #requireCollecting(): void {
    if (this.phase === "done" || this.phase === "reported") {
      throw new DeviceError("this device takes no further steps");
    }
  }

  #requireReported(): void {
    if (this.phase !== "reported") {
      throw new DeviceError("the report is not made yet: finish first");
    }
  }
}

/**
 * The bytes of a request in addition to its values: method, address, headers, and the names of the body's
 * fields.
 */
const ENVELOPE_BYTES = 320;

/**
 * About how many bytes the longest request of a recipe has, the same as in `panprivacy.recipe.request_bytes`. A
 * relay's requests are all padded to one length, from browsers and from other devices.
 *
 * @throws RecipeRefusedError its devices take no steps.
 */
export function requestBytes(recipe: Recipe): number {
  const { key } = recipe;
  const mechanism = mechanismOf(recipe.statistic, recipe.parameters);
  if (mechanism === undefined || key === undefined) {
    throw new RecipeRefusedError("this client sends values through no relay");
  }
  const report = recipe.servers.reportBytes(mechanism.reportCiphertexts, key.ciphertextBytes);
  const token = recipe.admission === undefined ? 0 : 4 * Math.ceil(TOKEN_BYTES / 3);
  return ENVELOPE_BYTES + report + token;
}

/** The report of one value that a device randomizes itself and does not keep (`categories`). */
export type ValueReport =
  | { readonly kind: "rest"; readonly report: RestReport }
  | { readonly kind: "dap"; readonly upload: DapUpload }
  | { readonly kind: "none" };

/**
 * The report of a device with one value; `none` if the coin leaves it out. Nothing is kept.
 *
 * @param value the category: a whole number from 0 to k − 1.
 */
export function valueReport(
  served: ServedRecipe,
  keys: PinnedKeys,
  value: number,
  options: JoinOptions = {},
): ValueReport {
  const random = options.random ?? systemRandom;
  const { simulation = false, limits = USUAL_LIMITS, relayed = false } = options;
  const recipe = verifiedRecipe(served, keys);
  requireTakesPart(recipe, { status: served.status, simulation, limits, relayed });
  if (recipe.statistic !== "categories") {
    throw new RecipeRefusedError(`devices of ${recipe.statistic} have no values`);
  }
  if (recipe.admission !== undefined) {
    throw new RecipeRefusedError("this client sends values without a token only: nothing of it is kept");
  }
  if (drawUnit(random) >= recipe.parameters.sampling_rate) {
    return { kind: "none" };
  }
  const bits = randomizedCategory(recipe.parameters, value, random);
  return recipe.servers.valueReport(recipe, bits, random.bytes(NONCE_BYTES), random);
}

function requireState(state: DeviceState, recipe: Recipe, mechanism: Mechanism): void {
  const { phase, step, ciphertexts, nonce } = state;
  const steps = required(recipe.parameters, "steps");
  if (!["collecting", "not_sampled", "reported"].includes(phase)) {
    throw new FieldError("phase", "must be collecting, not_sampled, reported or done");
  }
  if (typeof step !== "number" || !Number.isInteger(step) || step < 0 || step > steps) {
    throw new FieldError("step", `must be a whole number from 0 to ${steps}`);
  }
  const expected = { collecting: mechanism.stateCiphertexts, reported: mechanism.reportCiphertexts };
  const wanted = phase === "collecting" || phase === "reported" ? expected[phase] : 0;
  if (!Array.isArray(ciphertexts) || ciphertexts.length !== wanted) {
    throw new FieldError("ciphertexts", `must be ${wanted} in phase ${phase}`);
  }
  ciphertexts.forEach((encoded) => recipe.key!.require(fromBase64("ciphertexts", encoded)));
  const bound = phase === "reported" || (phase === "collecting" && recipe.key!.bindsNonce);
  const read = fromBase64("nonce", nonce, bound ? NONCE_BYTES : 0);
  if (recipe.admission === undefined) {
    return;
  }
  if (state.token === undefined) {
    throw new FieldError("token", "is missing");
  }
  requireTokenState(state.token, recipe.admission.tokenKey, recipe.admission.challenge);
  if (bound && !equal(read, reportNonce(state.token))) {
    throw new FieldError("nonce", "is not that of the token");
  }
}
