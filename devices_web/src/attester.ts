/**
 * A device's token of a recipe (docs/protocol.md, "Tokens from an attester"). The attester knows the device
 * and not the recipe, the issuer behind it the recipe and not the device.
 *
 * All draws are made when a device joins, and every request is stored first and then sent: the same bytes are
 * sent after a crash, and a device never asks for a second token. The time of the request depends on no
 * event.
 */

import { ed25519 } from "@noble/curves/ed25519.js";
import { sha256 } from "@noble/hashes/sha2.js";

import { type Bytes, fromBase64, toBase64, utf8 } from "./bytes.ts";
import type { Device, DeviceState } from "./device.ts";
import {
  LEAST_CAPSULE_BYTES,
  OHTTP_REQUEST_TYPE,
  openAnswer,
  SECRET_BYTES,
  sealRequest,
} from "./oblivious.ts";
import { systemRandom } from "./random.ts";
import type { Admission } from "./recipe.ts";
import {
  askForToken,
  blindedAnew,
  drawsOf,
  type PendingToken,
  TokenError,
  tokenKept,
  type TokenState,
} from "./token.ts";
import { OF_ATTESTER, OF_ISSUER, remedyOf } from "./token_answers.ts";
import {
  type Answer,
  answerOf,
  carried,
  DirectWay,
  gatewayKey,
  JSON_TYPE,
  NoAnswerError,
  problemOf,
  UndeliverableError,
} from "./way.ts";

const TOKEN_REQUEST_TYPE = "application/private-token-request";
const NOT_ATTESTED = "/problems/not-attested";
/** The number of characters of a server's text that are kept and shown. */
const MOST_TOLD = 300;

/** The attester does not know this device. */
export class NotAttestedError extends NoAnswerError {
  override name = "NotAttestedError";
}

/** By which attesters know this browser. */
export interface Identities {
  /** An Ed25519 private key of 32 bytes, drawn once for each attester. */
  of(attesterUrl: string): Promise<Bytes>;
}

/** A device's identification to an attester. */
export interface Shown {
  readonly identities: Identities;
  /** A one-time code of the attester's administrator, with which the device enrols if it is not known. */
  readonly code?: string;
}

export type Store = (state: DeviceState) => Promise<void>;

/**
 * Ask for the device's token until it is here. Repeat it after any error but an UndeliverableError.
 *
 * @param store keeps the state; awaited ahead of every request, and with the token. @throws NotAttestedError,
 * NoAnswerError no token this time. @throws UndeliverableError this device will never get a token of this
 * recipe (`token_answers.ts`).
 */
export async function obtainToken(device: Device, shown: Shown, store: Store): Promise<void> {
  const { admission, id } = device.recipe;
  if (admission === undefined || device.asksAt === undefined) {
    return;
  }
  const drawn = device.state.token!;
  const pending = askForToken(admission.tokenKey, admission.challenge, drawsOf(drawn));
  const seal = async () => {
    const sealed = await withCapsule(drawn, admission, id, pending);
    await store(device.keepToken(sealed));
    return sealed;
  };
  let asked = drawn.capsule === "" ? await seal() : drawn;
  let answer = await posted(asked, admission, shown);
  if (answer.status !== 200 && remedyOf(answer, OF_ATTESTER) === "seal anew") {
    // The issuer has not read the request, so sealing it to a newer key asks for no second token.
    asked = await seal();
    answer = await posted(asked, admission, shown);
  }
  if (answer.status !== 200) {
    if (remedyOf(answer, OF_ATTESTER) === "blind anew") {
      // The token stays the same, whatever hides it from the issuer.
      await store(device.keepToken(blindedAnew(asked, admission.tokenKey, systemRandom)));
    }
    throw await refusal(answer, admission, shown);
  }
  const body = fromBase64("token.capsule", asked.capsule, LEAST_CAPSULE_BYTES);
  const secret = fromBase64("token.secret", asked.secret, SECRET_BYTES);
  const inner = await answerOf(() => openAnswer(body, secret, answer.content));
  if (inner.status !== 200) {
    // Nothing was issued; the same capsule would only bring the same answer.
    await store(device.keepToken({ ...asked, capsule: "", secret: "" }));
    const isFinal = remedyOf(inner, OF_ISSUER) === "final";
    throw new (isFinal ? UndeliverableError : NoAnswerError)(`the issuer answers ${told(inner)}`);
  }
  await store(device.keepToken(tokenKept(asked, finished(pending, inner.content))));
}

function finished(pending: PendingToken, response: Bytes): Bytes {
  try {
    return pending.finish(response);
  } catch (error) {
    if (error instanceof TokenError) {
      // The same request gets the same signature, and a second one is not allowed.
      throw new UndeliverableError(`the issuer's answer gives no token: ${error.message}`);
    }
    throw error;
  }
}

async function withCapsule(
  state: TokenState,
  { attesterUrl, issuerKey, issuerName }: Admission,
  recipe: string,
  pending: PendingToken,
): Promise<TokenState> {
  const key = await gatewayKey(`${attesterUrl}/issuer-keys`, issuerKey);
  const { body, secret } = await sealRequest(key, {
    method: "POST",
    authority: issuerName,
    path: `/recipes/${recipe}/token`,
    headers: [["content-type", TOKEN_REQUEST_TYPE]],
    content: pending.request,
  });
  return { ...state, capsule: toBase64(body), secret: toBase64(secret) };
}

/** Post the capsule; once more if the device has to enrol first. */
async function posted(state: TokenState, { attesterUrl }: Admission, shown: Shown): Promise<Answer> {
  const url = `${attesterUrl}/token`;
  const capsule = fromBase64("token.capsule", state.capsule);
  const key = await shown.identities.of(attesterUrl);
  const send = () => carried(url, capsule, signCapsule(url, capsule, key, Math.trunc(Date.now() / 1000)));
  const answer = await send();
  if (problemOf(answer).type !== NOT_ATTESTED || shown.code === undefined) {
    return answer;
  }
  await enrolled(attesterUrl, shown.code, key);
  return send();
}

/** Have the attester know this device. The same again after a lost answer does no harm. */
async function enrolled(attesterUrl: string, code: string, key: Bytes): Promise<void> {
  const content = utf8(JSON.stringify({ code, key: publicKey(key) }));
  const body = { type: JSON_TYPE, content };
  const answer = await new DirectWay(attesterUrl).ask({ path: "/enrolments", accept: JSON_TYPE, body });
  if (answer.status !== 200) {
    throw new NotAttestedError(`the attester does not enrol this device: ${told(answer)}`);
  }
}

async function refusal(answer: Answer, { attesterUrl }: Admission, shown: Shown): Promise<Error> {
  if (problemOf(answer).type === NOT_ATTESTED) {
    const key = publicKey(await shown.identities.of(attesterUrl));
    return new NotAttestedError(
      `the attester does not know this device, whose key is ${key}; ` +
        "or the device was revoked, or this computer's clock is wrong",
    );
  }
  const isFinal = remedyOf(answer, OF_ATTESTER) === "final";
  return new (isFinal ? UndeliverableError : NoAnswerError)(`the attester answers ${told(answer)}`);
}

/** An answer that is a problem, in words. */
function told(answer: Answer): string {
  const { title, detail } = problemOf(answer);
  const said = [title, detail].filter((text) => typeof text === "string").join(": ").slice(0, MOST_TOLD);
  return said === "" ? String(answer.status) : `${answer.status}: ${said}`;
}

/** As lists of devices have it. */
function publicKey(key: Bytes): string {
  return toBase64(ed25519.getPublicKey(key));
}

/**
 * The proof that this device posts a capsule: a signature of method, address and content (RFC 9421,
 * RFC 9530).
 *
 * @param created the current time, in seconds since 1970.
 */
export function signCapsule(
  url: string,
  capsule: Bytes,
  key: Bytes,
  created: number,
): Readonly<Record<string, string>> {
  const digest = `sha-256=:${toBase64(sha256(capsule))}:`;
  const covered = {
    "@method": "POST",
    "@target-uri": url,
    "content-digest": digest,
    "content-type": OHTTP_REQUEST_TYPE,
  };
  const names = Object.keys(covered).map((name) => `"${name}"`).join(" ");
  const described = `(${names});created=${created};alg="ed25519";tag="dap-18"`;
  const lines = Object.entries(covered).map(([name, value]) => `"${name}": ${value}`);
  const base = [...lines, `"@signature-params": ${described}`].join("\n");
  return {
    "Panapp-Device-Key": publicKey(key),
    "Content-Digest": digest,
    "Signature-Input": `dap=${described}`,
    Signature: `dap=:${toBase64(ed25519.sign(utf8(base), key))}:`,
  };
}
