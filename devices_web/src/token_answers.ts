/**
 * What a device does about an answer that brings no token, by the answer's `type` (docs/protocol.md).
 * `devices_sim/token_answers.py` has the same table; vectors hold both equal.
 */

import { type Answer, OUTDATED_KEY, problemOf } from "./way.ts";

/**
 * - `final`: nothing. No attempt can bring this device a token of the recipe any more.
 * - `seal anew`: the issuer did not read the request. Fetch its keys, and seal the same request anew.
 * - `blind anew`: ask for the same token with a fresh blinding factor.
 * - `later`: ask again, as before. The remedy for all types that are named nowhere.
 */
export type Remedy = "final" | "seal anew" | "blind anew" | "later";

export type Answers = Readonly<Record<string, Remedy>>;

/** Of answers in the clear. */
export const OF_ATTESTER: Answers = {
  "/problems/already-issued": "final",
  // Another device asked with this blinded message and did not get the answer, so that nobody may.
  "/problems/request-used": "blind anew",
  [OUTDATED_KEY]: "seal anew",
  "/problems/capsule-refused": "seal anew",
};

/**
 * Of answers in a capsule. After any of them nothing was issued, and the next attempt seals anew: the
 * attester may keep the answer to a capsule for a day.
 */
export const OF_ISSUER: Answers = {
  // What the request says was drawn when the device joined, so another attempt would say the same.
  "/problems/malformed-token-request": "final",
  // It issues from before the recipe is published until it ends: it is never too early.
  "/problems/recipe-not-open": "final",
};

export function remedyOf(answer: Answer, answers: Answers): Remedy {
  const { type } = problemOf(answer);
  return typeof type === "string" && Object.hasOwn(answers, type) ? answers[type]! : "later";
}
