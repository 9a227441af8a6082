/** The trust models that browsers take part in, by their names in documents. */

import type { TrustModelClass } from "./interface.ts";
import { SingleServer } from "./single_server.ts";
import { TwoServer } from "./two_server.ts";

export type { TrustModel, TrustModelClass } from "./interface.ts";

export const TRUST_MODELS: Readonly<Record<string, TrustModelClass>> = {
  single_server: SingleServer,
  two_server: TwoServer,
};

/** Those that browsers cannot take part in yet, in words of a reason. */
export const NOT_YET: Readonly<Record<string, string>> = {
  joint_key: "recipes with a joint key cannot run in browsers yet",
};
