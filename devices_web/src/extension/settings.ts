/** The administrator's policy (`extension/schema.json`). */

import { FieldError, fromBase64, fromHex } from "../bytes.ts";
import { lifetimeEpsilon } from "../lifetime.ts";
import { eventName, MOST_NAMES } from "../questions.ts";
import type { Recipe } from "../recipe.ts";
import type { Site } from "../site.ts";
import { TICK_SECONDS } from "../ticks.ts";

export interface Settings {
  readonly server: string;
  readonly server_key: string;
  readonly helper_key?: string;
  readonly issuer_key?: string;
  readonly enrolment_code?: string;
  readonly log_policy: string;
  /** In which recipes this computer takes part, and which events it may record for each. */
  readonly recipes: readonly { readonly id: string; readonly events: readonly string[] }[];
  readonly origins: readonly string[];
  readonly tick_seconds?: number;
  /** Of the local ε of all recipes that this computer ever joins. */
  readonly lifetime_epsilon?: number;
}

/** A page's message to its content script. */
export interface EventMessage {
  readonly type: typeof EVENT;
  /** As the policy names it. */
  readonly event: string;
}

export const EVENT = "devices-web event";

/** A request to the device's document for its state. */
export const STATUS = "devices-web status";

/** The state of one recipe, and its last error. */
export interface Status {
  readonly id: string;
  readonly phase: string;
  readonly failure: string;
  /** Why the device gets no further token of this recipe. */
  readonly refused?: string;
}

/**
 * The policy as settings; undefined if there is none. The log's policy is checked by `atSite`.
 *
 * Ranges are checked here and not in the schema: Chromium drops a field that does not fit the schema, and the
 * others would be used without it.
 *
 * @throws FieldError naming a field that is missing, of another kind, or outside its range.
 */
export function readSettings(policy: Readonly<Record<string, unknown>>): Settings | undefined {
  if (Object.keys(policy).length === 0) {
    return undefined;
  }
  for (const name of ["server", "server_key", "log_policy"]) {
    if (typeof policy[name] !== "string") {
      throw new FieldError(name, "is missing, or no text");
    }
  }
  const { server, recipes, origins, enrolment_code: code = "none", tick_seconds: tick } = policy;
  if (!isAddress(server)) {
    const problem = "must be https only, without * and trailing slash, as https://telemetry.example";
    throw new FieldError("server", `${problem}; not ${JSON.stringify(server)}`);
  }
  for (const name of KEYS.filter((name) => Object.hasOwn(policy, name))) {
    fromBase64(name, policy[name], 32);
  }
  if (typeof code !== "string" || code === "") {
    throw new FieldError("enrolment_code", "must be a text of at least one character");
  }
  requireRecipes(recipes);
  if (!Array.isArray(origins)) {
    throw new FieldError("origins", "must be a list of origins, as https://catalogue.example");
  }
  const wrong = origins.find((origin) => !isOrigin(origin));
  if (wrong !== undefined) {
    const problem = "must be https only, in lower case, without *, path and trailing slash";
    throw new FieldError("origins", `${problem}, as https://catalogue.example; not ${JSON.stringify(wrong)}`);
  }
  if (tick !== undefined) {
    requireTick(tick);
  }
  if (policy.lifetime_epsilon !== undefined) {
    lifetimeEpsilon("lifetime_epsilon", policy.lifetime_epsilon);
  }
  return policy as unknown as Settings;
}

const KEYS = ["server_key", "helper_key", "issuer_key"];

function requireRecipes(recipes: unknown): void {
  const isRecipe = (recipe: unknown) => {
    const { id, events } = (recipe ?? {}) as Record<string, unknown>;
    return typeof id === "string" && Array.isArray(events);
  };
  if (!Array.isArray(recipes) || !recipes.every(isRecipe)) {
    throw new FieldError("recipes", "must be a list of objects with id and events");
  }
  const ids: string[] = recipes.map(({ id }) => id);
  ids.forEach((id, at) => fromHex(`recipes[${at}].id`, id, 32));
  recipes.forEach(({ events }, at) => requireEvents(`recipes[${at}].events`, events));
  // Two devices of one recipe would wait for each other's state, and send each other their events.
  const twice = ids.find((id, at) => ids.indexOf(id) < at);
  if (twice !== undefined) {
    throw new FieldError("recipes", `must name each recipe once, not ${twice} twice`);
  }
}

function requireEvents(field: string, events: readonly unknown[]): void {
  if (events.length < 1 || events.length > MOST_NAMES || new Set(events).size < events.length) {
    throw new FieldError(field, `must be 1 to ${MOST_NAMES} names that differ`);
  }
  events.forEach((name) => eventName(field, name));
}

/**
 * Check a recipe's events against those that the policy allows it.
 *
 * @throws FieldError unless they are the same, in any order; or one is allowed, and the recipe lists none.
 */
export function requireAllowed({ events }: Pick<Recipe, "events">, allowed: readonly string[]): void {
  const fits = events.every((name) => allowed.includes(name));
  if (!fits || allowed.length !== Math.max(1, events.length)) {
    const listed = `the recipe's ${events.join(", ")}`;
    const wanted = events.length === 0 ? "one name, because the recipe lists none" : listed;
    throw new FieldError("events", `must be ${wanted}; not ${allowed.join(", ")}`);
  }
}

function requireTick(seconds: unknown): void {
  const { least, most } = TICK_SECONDS;
  if (!Number.isInteger(seconds) || (seconds as number) < least || (seconds as number) > most) {
    const problem = `must be a whole number from ${least} to ${most}`;
    throw new FieldError("tick_seconds", `${problem}, not ${JSON.stringify(seconds)}`);
  }
}

/** The servers that the devices of these settings use. */
export function siteOf(settings: Settings): Site {
  const { server, server_key, helper_key, issuer_key, log_policy, enrolment_code } = settings;
  return {
    server,
    keys: {
      server: server_key,
      ...(helper_key === undefined ? {} : { helper: helper_key }),
      ...(issuer_key === undefined ? {} : { issuer: issuer_key }),
    },
    policy: log_policy,
    ...(enrolment_code === undefined ? {} : { code: enrolment_code }),
  };
}

/**
 * This machine itself may be named, too: no attacker listens on that path. A `*` would run the content script
 * on every host that it matches, but no event of these is accepted.
 */
const ADDRESS = /^(https:\/\/|http:\/\/127\.0\.0\.1[:/])[^\s*]*[^\s*/]$/;

function isAddress(text: unknown): text is string {
  return typeof text === "string" && ADDRESS.test(text) && URL.canParse(text);
}

function isOrigin(text: unknown): boolean {
  return isAddress(text) && new URL(text).origin === text;
}
