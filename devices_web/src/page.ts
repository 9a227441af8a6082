/**
 * A device in a page: its state in IndexedDB, written on a clock.
 *
 * A browser's storage keeps old versions, so the times and the number of writes are data. Here only the clock
 * writes: at every tick one state, all of whose ciphertexts have changed, with an event and without. An event
 * puts its name into one variable of the page and does nothing else.
 */

import { FieldError } from "./bytes.ts";
import { Device, type DeviceState } from "./device.ts";
import { messageOf, namesOf, PendingEvents } from "./pending.ts";
import { lifetimeEpsilon } from "./lifetime.ts";
import { localEpsilon, type Recipe } from "./recipe.ts";
import { type Database, keepFirst, keepNext, openStorage, STATES } from "./storage.ts";
import { TICK_SECONDS } from "./ticks.ts";
import { UndeliverableError } from "./way.ts";

const NAME = "devices-web";
/** The longest pause after attempts that failed. */
const MOST_PAUSE_TICKS = 64;

export interface PageOptions {
  /** Verify and join the recipe; asked once, of the tab that owns the state, while none is stored. */
  readonly join: () => Device | Promise<Device>;
  /**
   * Throw if this page must keep out of a verified recipe. Called ahead of the first state, and for a stored
   * one, which then stays as it is.
   */
  readonly allow?: (recipe: Recipe) => void;
  /**
   * Ask for the token of a recipe that has tokens, from `device.asksAt` on. Called at ticks, like `deliver`;
   * `store` keeps a state, and only then a request is sent.
   */
  readonly token?: (device: Device, store: (state: DeviceState) => Promise<void>) => Promise<void>;
  /**
   * Send the report, which is stored by then and never changes. Called at ticks until it succeeds, or throws
   * an UndeliverableError: no further attempt can succeed.
   */
  readonly deliver: (device: Device) => Promise<void>;
  /** Seconds between two ticks, 1 to 3600; 30 by default. */
  readonly tickSeconds?: number;
  /**
   * Join no recipe with which the local ε of all recipes that this origin ever joined would add up to more: 0 to
   * 1,000,000; no budget by default. Each recipe counts once, also after it ended or its state was deleted.
   */
  readonly lifetimeEpsilon?: number;
  /** After each state that was stored, and once for a device that was already done. */
  readonly stored?: (state: DeviceState) => void;
  /**
   * An error of joining, storing, asking for a token or delivering. The next tick tries again; after further
   * failures every second, every fourth, … at most every 64th.
   */
  readonly failed?: (error: unknown) => void;
}

/**
 * One tab's hold on this browser's device of one recipe.
 *
 * One tab owns the state. The others report to it at each of their own ticks which events there were, in a
 * message of one size, even if there were none; when it closes, another takes over.
 */
export class PageDevice {
  readonly #recipe: string;
  readonly #options: PageOptions;
  readonly #channel: BroadcastChannel;
  readonly #closing = new AbortController();
  readonly #timer: ReturnType<typeof setInterval>;
  #release = (): void => {};
  /** Events since the last tick that took them in. */
  readonly #pending = new PendingEvents();
  #owner = false;
  #busy = false;
  #database: Database | undefined;
  #device: Device | undefined;
  #ended = false;
  #failures = 0;
  #pause = 0;

  /**
   * @param recipe the recipe's identifier.
   * @throws FieldError `tickSeconds` or `lifetimeEpsilon` outside its range.
   */
  constructor(recipe: string, options: PageOptions) {
    const { tickSeconds = TICK_SECONDS.usual } = options;
    if (!(tickSeconds >= TICK_SECONDS.least && tickSeconds <= TICK_SECONDS.most)) {
      throw new FieldError("tickSeconds", `must be from ${TICK_SECONDS.least} to ${TICK_SECONDS.most}`);
    }
    if (options.lifetimeEpsilon !== undefined) {
      lifetimeEpsilon("lifetimeEpsilon", options.lifetimeEpsilon);
    }
    this.#recipe = recipe;
    this.#options = options;
    const name = `${NAME} ${recipe}`;
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = ({ data }) => {
      // Only the owner takes it in: other tabs would forward it to each other without end.
      if (this.#owner) {
        this.#note(namesOf(data));
      }
    };
    this.#timer = setInterval(() => void this.#tick(), 1000 * tickSeconds);
    navigator.locks.request(name, { signal: this.#closing.signal }, () => this.#own()).catch((error) => {
      if (!this.#closing.signal.aborted) {
        this.#options.failed?.(error);
      }
    });
  }

  /**
   * An event happened. It waits in memory for the next tick; closing the page until then loses it.
   *
   * @param name may be left out if the recipe has one event.
   * @throws FieldError the recipe does not list it. A tab that does not know the recipe yet keeps up to 8
   * names, and the one that does passes the error to `failed`.
   */
  event(name = ""): void {
    this.#device?.bitOf(name || undefined);
    this.#pending.add(name);
  }

  /** Events that happened elsewhere, or earlier than the recipe was known. */
  #note(names: readonly string[]): void {
    for (const name of names) {
      try {
        this.event(name);
      } catch (error) {
        this.#options.failed?.(error);
      }
    }
  }

  /** What is pending, as `step` takes it; the same work whatever it is. */
  #happened({ recipe: { events } }: Device): number {
    const unnamed = Number(events.length <= 1 && this.#pending.has(""));
    return events.reduce((found, name, at) => found | (Number(this.#pending.has(name)) << at), unnamed);
  }

  /** Let go: no further ticks here; another tab may take over. Events since the last tick are lost. */
  close(): void {
    clearInterval(this.#timer);
    this.#closing.abort();
    this.#channel.close();
    this.#ended = true;
    if (!this.#busy) {
      this.#letGo();
    }
  }

  #letGo(): void {
    this.#database?.close();
    this.#release();
  }

  async #own(): Promise<void> {
    if (this.#ended) {
      return;
    }
    const released = new Promise<void>((resolve) => {
      this.#release = resolve;
    });
    this.#owner = true;
    // One tick replaces all that were missed while no tab was open.
    await this.#tick();
    await released;
  }

  async #tick(): Promise<void> {
    if (this.#busy || this.#ended) {
      return;
    }
    if (!this.#owner) {
      this.#channel.postMessage(messageOf(this.#pending.taken()));
      return;
    }
    this.#busy = true;
    try {
      await this.#advance();
    } catch (error) {
      // Opened anew at the next tick: the browser may have closed it.
      this.#database?.close();
      this.#database = undefined;
      this.#options.failed?.(error);
    } finally {
      this.#busy = false;
      if (this.#ended) {
        this.#letGo();
      }
    }
  }

  /** Change everything, store it, and deliver what is due. */
  async #advance(): Promise<void> {
    this.#database ??= await openStorage();
    if (this.#device === undefined) {
      const kept = await this.#database.get(STATES, this.#recipe);
      if (kept?.phase === "done") {
        clearInterval(this.#timer);
        this.#options.stored?.(kept);
        return;
      }
      this.#device = await this.#attempted(() => this.#begun(kept));
      this.#note(this.#pending.taken());
    }
    const device = this.#device;
    if (device === undefined) {
      return;
    }
    const now = Date.now() / 1000;
    if (now >= device.recipe.closesAt) {
      device.done();
    } else if (device.phase !== "reported") {
      this.#take(device, now);
    }
    await this.#store(device.state);
    if (device.asksAt !== undefined && now >= device.asksAt) {
      await this.#attempted(() => this.#asked(device));
    }
    if (device.phase === "reported") {
      const ended = await this.#attempted(() => this.#delivered(device));
      if (ended !== undefined) {
        await this.#store(ended);
      }
    }
    if (device.phase === "done") {
      clearInterval(this.#timer);
    }
  }

  /** The result of an attempt; undefined while it pauses after others that failed, or failed this time. */
  async #attempted<Given>(attempt: () => Promise<Given>): Promise<Given | undefined> {
    if (this.#pause > 0) {
      this.#pause--;
      return undefined;
    }
    try {
      const given = await attempt();
      this.#failures = 0;
      return given;
    } catch (error) {
      this.#pause = Math.min(2 ** this.#failures++, MOST_PAUSE_TICKS) - 1;
      this.#options.failed?.(error);
      return undefined;
    }
  }

  async #delivered(device: Device): Promise<DeviceState> {
    const ended = await this.#endedBy(() => this.#options.deliver(device));
    return ended === undefined ? device.sent() : device.done();
  }

  async #asked(device: Device): Promise<void> {
    const ended = await this.#endedBy(() => this.#options.token!(device, (state) => this.#keep(state)));
    if (ended !== undefined) {
      await this.#store(device.done(ended.message));
    }
  }

  /** Why no further attempt can succeed; undefined if this one did. */
  async #endedBy(attempt: () => Promise<void>): Promise<UndeliverableError | undefined> {
    try {
      await attempt();
      return undefined;
    } catch (error) {
      if (!(error instanceof UndeliverableError)) {
        throw error;
      }
      this.#options.failed?.(error);
      return error;
    }
  }

  async #begun(kept: DeviceState | undefined): Promise<Device> {
    const device = kept === undefined ? await this.#joined() : Device.resume(kept);
    this.#options.allow?.(device.recipe);
    if (kept === undefined) {
      const { lifetimeEpsilon: largest } = this.#options;
      await keepFirst(this.#database!, device.state, localEpsilon(device.recipe), largest);
    }
    return device;
  }

  async #joined(): Promise<Device> {
    // Without this the browser may drop the state when its disk is full. It may refuse.
    navigator.storage.persist().catch(() => false);
    const device = await this.#options.join();
    if (device.recipe.id !== this.#recipe) {
      throw new FieldError("recipe", `must be ${this.#recipe}: another was joined`);
    }
    if (device.asksAt !== undefined && this.#options.token === undefined) {
      throw new FieldError("token", "must be there: this recipe takes reports with a token only (atSite)");
    }
    return device;
  }

  /**
   * All steps that are over, as one; or else a tick. An event since the last tick belongs to the first of
   * them; an event earlier than the recipe's opening belongs to none.
   */
  #take(device: Device, now: number): void {
    const { opensAt, stepSeconds } = device.recipe;
    if (now < opensAt) {
      this.#pending.clear();
    }
    const over = Math.min(device.steps, Math.floor((now - opensAt) / stepSeconds!));
    const happened = this.#happened(device);
    if (device.stepsTaken >= over) {
      device.tick(device.ticksTakeEvents && device.stepsTaken < device.steps ? happened : 0);
      if (device.ticksTakeEvents) {
        this.#pending.clear();
      }
    } else {
      device.step(happened, over);
      this.#pending.clear();
    }
    if (device.stepsTaken === device.steps && device.asksAt === undefined) {
      device.finish();
    }
  }

  async #store(state: DeviceState): Promise<void> {
    const kept = await keepNext(this.#database!, state);
    if (kept !== state) {
      this.#device!.leave();
    }
    this.#options.stored?.(kept);
  }

  /** The same ahead of a request, which a device that has left must not send. */
  async #keep(state: DeviceState): Promise<void> {
    await this.#store(state);
    if (this.#device!.phase === "done") {
      throw new UndeliverableError("this browser has left the recipe");
    }
  }
}
