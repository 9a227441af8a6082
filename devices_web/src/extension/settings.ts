/** What the administrator's policy says (`extension/schema.json`). */

import { FieldError } from "../bytes.ts";
import type { Site } from "../site.ts";

export interface Settings {
  readonly server: string;
  readonly server_key: string;
  readonly helper_key?: string;
  readonly issuer_key?: string;
  readonly enrolment_code?: string;
  readonly log_policy: string;
  readonly recipes: readonly { readonly id: string; readonly event: string }[];
  readonly origins: readonly string[];
  readonly tick_seconds?: number;
}

/** A page's message to its content script. */
export interface EventMessage {
  readonly type: typeof EVENT;
  /** As the policy names it. */
  readonly event: string;
}

export const EVENT = "devices-web event";

/** Asks the device's document how it goes. */
export const STATUS = "devices-web status";

/** How one recipe goes, and what failed last. */
export interface Status {
  readonly id: string;
  readonly phase: string;
  readonly failure: string;
  /** Why the device gets no token of this recipe any more. */
  readonly refused?: string;
}

/**
 * The policy as settings; undefined where there is none. Keys and the log's policy are checked by `atSite`.
 *
 * @throws FieldError naming a member that is missing or of another kind.
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
  const { server, recipes, origins } = policy;
  if (!ADDRESS.test(server as string)) {
    const problem = "must be https only, without trailing slash, as https://telemetry.example";
    throw new FieldError("server", `${problem}; not ${JSON.stringify(server)}`);
  }
  const isRecipe = (recipe: unknown) => {
    const { id, event } = (recipe ?? {}) as Record<string, unknown>;
    return typeof id === "string" && typeof event === "string";
  };
  if (!Array.isArray(recipes) || !recipes.every(isRecipe)) {
    throw new FieldError("recipes", "must be a list of objects with id and event");
  }
  if (!Array.isArray(origins)) {
    throw new FieldError("origins", "must be a list of origins, as https://catalogue.example");
  }
  const wrong = origins.find((origin) => !isOrigin(origin));
  if (wrong !== undefined) {
    const problem = "must be https only, in lower case, without path and trailing slash";
    throw new FieldError("origins", `${problem}, as https://catalogue.example; not ${JSON.stringify(wrong)}`);
  }
  return policy as unknown as Settings;
}

/** Whom the devices of these settings speak with. */
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

/** This machine itself may be named, too: nobody listens on the way to it. */
const ADDRESS = /^(https:\/\/|http:\/\/127\.0\.0\.1[:/])\S*[^\s/]$/;

function isOrigin(text: unknown): boolean {
  return (
    typeof text === "string" && ADDRESS.test(text) && URL.canParse(text) && new URL(text).origin === text
  );
}
