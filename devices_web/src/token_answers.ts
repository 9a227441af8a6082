/**
 * What a device does about an answer that brings no token, by the answer's `type` (docs/protocol.md).
 * `panprivacy/device/token_answers.py` has the same table; vectors hold both equal.
 */

import { type Answer, OUTDATED_KEY, problemOf } from "./way.ts";

/**
 * - `final`: nothing. No further attempt can bring this device a token of the recipe. - `seal anew`: the
 * issuer did not read the request. Fetch its keys, and seal the same request anew. - `blind anew`: ask for
 * the same token with a fresh blinding factor. - `later`: repeat the same request. The remedy for all types
 * that are not listed.
 */
export type Remedy = "final" | "seal anew" | "blind anew" | "later";

export type Answers = Readonly<Record<string, Remedy>>;

/** Of answers in the clear. */
export const OF_ATTESTER: Answers = {
  "/problems/already-issued": "final",
  // Another device asked with this blinded message and did not get the answer, so no device may get it.
  "/problems/request-used": "blind anew",
  [OUTDATED_KEY]: "seal anew",
  "/problems/capsule-refused": "seal anew",
};

/**
 * For answers in a capsule. After any of them nothing was issued, and the next attempt seals anew: the
 * attester may keep the answer to a capsule for a day.
 */
export const OF_ISSUER: Answers = {
  // The content of the request was drawn when the device joined, so another attempt would send the same.
  "/problems/malformed-token-request": "final",
  // It issues tokens from ahead of the recipe's publication until its end: it is never too early.
  "/problems/recipe-not-open": "final",
};

export function remedyOf(answer: Answer, answers: Answers): Remedy {
  const { type } = problemOf(answer);
  return typeof type === "string" && Object.hasOwn(answers, type) ? answers[type]! : "later";
}
