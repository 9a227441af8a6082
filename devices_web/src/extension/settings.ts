/** What the administrator's policy says (`extension/schema.json`). */

import { FieldError } from "../bytes.ts";

export interface Settings {
  readonly server: string;
  readonly server_key: string;
  readonly helper_key?: string;
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

/**
 * The policy as settings; undefined where there is none. What is in its values is checked by who uses them.
 *
 * @throws FieldError naming a member that is missing or of another kind.
 */
export function readSettings(policy: Readonly<Record<string, unknown>>): Settings | undefined {
  if (Object.keys(policy).length === 0) {
    return undefined;
  }
  for (const name of ["server", "server_key", "log_policy"]) {
    if (typeof policy[name] !== "string") {
      throw new FieldError(name, "must be a text");
    }
  }
  const { recipes, origins } = policy;
  const isRecipe = (recipe: unknown) => {
    const { id, event } = (recipe ?? {}) as Record<string, unknown>;
    return typeof id === "string" && typeof event === "string";
  };
  if (!Array.isArray(recipes) || !recipes.every(isRecipe)) {
    throw new FieldError("recipes", "must be a list of objects with id and event");
  }
  if (!Array.isArray(origins) || !origins.every((origin) => isOrigin(origin))) {
    throw new FieldError("origins", "must be a list of origins, as https://catalogue.example");
  }
  return policy as unknown as Settings;
}

function isOrigin(text: unknown): boolean {
  return typeof text === "string" && URL.canParse(text) && new URL(text).origin === text;
}
