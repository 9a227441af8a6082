/** Recipes as a device must read them: identifier, signatures and limits checked, strictly. */

import { sha256 } from "@noble/hashes/sha2.js";

import { type Bytes, concat, equal, FieldError, fromBase64, fromHex, toHex, utf8 } from "./bytes.ts";
import { requireWeight } from "./categories.ts";
import { canonicalJson, type Document, object, RecipeVerificationError, text } from "./document.ts";
import { signatureHolds } from "./ed25519.ts";
import { type EncryptionKey, SCHEME } from "./elgamal.ts";
import type { Coin, Parameters } from "./mechanisms.ts";
import { eventName, isRegular, QUESTIONS, readQuestion } from "./questions.ts";
import { challengeDigest, readTokenKey, type TokenKey } from "./token.ts";
import { NOT_YET, TRUST_MODELS, type TrustModel } from "./trust_models/index.ts";
import { hostOf, requireAddress } from "./way.ts";

const FORMAT = "panapp-recipe-3";

/** A recipe from the API; nothing in it is verified yet. Signatures in base64. */
export interface ServedRecipe {
  readonly id: string;
  readonly document: Readonly<Record<string, unknown>>;
  readonly signature: string;
  readonly status: string;
  readonly helper_signature?: string | null;
  readonly issuer_signature?: string | null;
}

/** Ed25519 keys of 32 bytes in base64, pinned beforehand. */
export interface PinnedKeys {
  readonly server: string;
  readonly helper?: string;
  /** Of the issuer of tokens. */
  readonly issuer?: string;
}

/** The bounds of recipes that this device takes part in; by default those of `panprivacy.device`. */
export interface Limits {
  readonly smallestCohort: number;
  readonly largestEpsilon: number;
  readonly largestLocalEpsilon: number;
  readonly largestDelta: number;
}

export const USUAL_LIMITS: Limits = {
  smallestCohort: 100,
  largestEpsilon: 8,
  largestLocalEpsilon: 16,
  largestDelta: 1e-4,
};

/** A verified recipe that this device does not take part in. */
export class RecipeRefusedError extends Error {
  override name = "RecipeRefusedError";
}

/** The issuer of a recipe's tokens, from its document. */
export interface Admission {
  /** Host of the issuer, with its port if it is not the usual one. */
  readonly issuerName: string;
  /** Ed25519, 32 bytes. */
  readonly issuerKey: Bytes;
  readonly attesterUrl: string;
  /** Of the tokens of this recipe. */
  readonly tokenKey: TokenKey;
  /** SHA-256 of the purpose of its tokens. */
  readonly challenge: Bytes;
}

/** A verified recipe. */
export interface Recipe {
  readonly id: string;
  readonly name: string;
  readonly question: string;
  readonly statistic: string;
  readonly parameters: Parameters;
  /** Names of the events, in the recipe's order; none if it is about one event without a name. */
  readonly events: readonly string[];
  /** The address and the form of its reports. */
  readonly servers: TrustModel;
  /** Absent if devices send plain shares. */
  readonly key?: EncryptionKey;
  readonly labels: readonly string[];
  /** Seconds since 1970. */
  readonly opensAt: number;
  readonly closesAt: number;
  readonly stepSeconds?: number;
  readonly simulation: boolean;
  /**
   * The only address to which anything of it may be sent: the one at the relay that leads to the publishing
   * site.
   */
  readonly relay?: string;
  /** Absent if any sender may report. */
  readonly admission?: Admission;
}

/** Raise RecipeVerificationError unless `signature` is that of `key` of this message. */
export function requireSignature(who: string, key: Bytes, signature: Bytes, message: Bytes): void {
  if (!signatureHolds(key, signature, message)) {
    throw new RecipeVerificationError(`the signature is not the ${who}'s`);
  }
}

/**
 * Read a served recipe as a device must.
 *
 * @throws RecipeVerificationError identifier or signature does not hold, or a key is missing or another.
 * @throws FieldError a field that is unknown, missing or impossible. @throws RecipeRefusedError something
 * that this client does not have.
 */
export function verifiedRecipe(served: ServedRecipe, keys: PinnedKeys): Recipe {
  const { document } = served;
  if (document.format !== FORMAT) {
    throw new FieldError("format", `must be ${FORMAT}`);
  }
  const canonical = canonicalJson(document);
  if (toHex(sha256(canonical)) !== served.id) {
    throw new RecipeVerificationError("the identifier is not the SHA-256 of the document");
  }
  const message = concat(utf8(`${FORMAT}\n`), canonical);
  const signature = fromBase64("signature", served.signature, 64);
  requireSignature("server", fromBase64("keys.server", keys.server, 32), signature, message);
  const recipe = readDocument(served.id, document);
  const { signer } = recipe.servers;
  if (signer !== undefined) {
    const { who, key } = signer;
    requireSigned(who, key, keys[who], served[`${who}_signature`], message);
  }
  if (recipe.admission !== undefined) {
    requireSigned("issuer", recipe.admission.issuerKey, keys.issuer, served.issuer_signature, message);
  }
  return recipe;
}

/**
 * Check the signature of another server than the publishing one, with a key that is pinned and that the
 * document names.
 */
function requireSigned(
  who: "helper" | "issuer",
  named: Bytes,
  key: string | undefined,
  signature: string | null | undefined,
  message: Bytes,
): void {
  if (key === undefined) {
    throw new RecipeVerificationError(`the recipe needs the ${who}'s key, pinned beforehand`);
  }
  const pinned = fromBase64(`keys.${who}`, key, 32);
  if (!equal(pinned, named)) {
    throw new RecipeVerificationError(`the document names another ${who} than the one whose key is pinned`);
  }
  if (signature === undefined || signature === null) {
    throw new RecipeVerificationError(`the ${who}'s signature is missing`);
  }
  requireSignature(who, pinned, fromBase64(`${who}_signature`, signature, 64), message);
}

/**
 * RecipeRefusedError if a device must keep out of a verified recipe; FieldError if the recipe exceeds the
 * device's limits.
 *
 * What ε the published result has is not computed here: `aggregator_epsilon`, and the ε that hides the number
 * of reports, rest on the site and on those who check it. The ε of this device's own report is.
 */
export function requireTakesPart(
  recipe: Recipe,
  {
    status,
    simulation,
    limits,
    relayed,
  }: { status: string; simulation: boolean; limits: Limits; relayed: boolean },
): void {
  if (recipe.relay !== undefined && !relayed) {
    throw new RecipeRefusedError("this recipe is answered through its relay only: use atSite");
  }
  if (recipe.simulation !== simulation) {
    const kind = recipe.simulation ? "simulated devices" : "real devices, not for simulated ones";
    throw new RecipeRefusedError(`this recipe is for ${kind}`);
  }
  if (status === "closed") {
    throw new RecipeRefusedError("this recipe is closed");
  }
  const { cohort_size, epsilon, delta } = recipe.parameters;
  if (recipe.statistic === "mean") {
    requireLocalMean(recipe.parameters);
  }
  if (recipe.statistic === "categories") {
    requireWeight(recipe.parameters);
  }
  if (simulation) {
    return;
  }
  if (cohort_size < limits.smallestCohort) {
    throw new FieldError("cohort_size", `must be at least ${limits.smallestCohort} for this device`);
  }
  if (epsilon > limits.largestEpsilon) {
    throw new FieldError("epsilon", `must be at most ${limits.largestEpsilon} for this device`);
  }
  if (delta > limits.largestDelta) {
    throw new FieldError("delta", `must be at most ${limits.largestDelta} for this device`);
  }
  if (localEpsilon(recipe) > limits.largestLocalEpsilon) {
    throw new FieldError("epsilon", `leaves single reports a local ε above ${limits.largestLocalEpsilon}`);
  }
}

/** The ε of one report, against a server that decrypts it. */
export function localEpsilon({ statistic, parameters }: Recipe): number {
  // Replacing a value changes two places of a histogram, or of categories.
  return (["histogram", "categories"].includes(statistic) ? 2 : 1) * parameters.epsilon;
}

/** A mean whose noise keeps its guarantee for one report alone; the device refuses any other. */
function requireLocalMean(parameters: Parameters): void {
  if (parameters.guarantee !== "local") {
    throw new RecipeRefusedError("a browser takes part in a mean with the guarantee local only");
  }
  const { noise_scale: scale, k, epsilon, delta } = parameters;
  // As `panprivacy` sets aside for noise beyond the largest.
  const usable = delta * (1 - 2 ** -20);
  if (scale === undefined || k === undefined || deltaOfNoise(scale, k, epsilon) > usable) {
    throw new FieldError("noise_scale", "is too small for the local guarantee that the recipe promises");
  }
}

/** δ at ε of one report with discrete Gaussian noise, a count of 0 against one of k, rounded up. */
function deltaOfNoise(scale: number, k: number, epsilon: number): number {
  const far = Math.ceil(40 * scale) + k;
  let total = 0;
  let excess = 0;
  for (let x = -far; x <= far; x++) {
    const here = Math.exp(-(x ** 2) / (2 * scale ** 2));
    total += here;
    excess += Math.max(0, here - Math.exp(epsilon - (x + k) ** 2 / (2 * scale ** 2)));
  }
  return (excess / total) * (1 + 1e-9);
}

const TEXTS = ["name", "question", "population"];
const COMMON = [
  "format", ...TEXTS, "statistic", "trust", "opens_at", "closes_at", "simulation", "epsilon", "delta",
  "cohort_size", "sampling_rate",
];
const OPTIONAL = ["event_definition", "labels", "aggregator_epsilon", "hidden_count", "relay", "admission"];
const STEPS = ["steps", "step_seconds"];
const OWN: Readonly<Record<string, readonly string[]>> = {
  count_nonzero: STEPS,
  histogram: [...STEPS, "k", "coin"],
  mean: [...STEPS, "k", "guarantee", "noise_scale"],
  categories: ["k", "max_weight"],
  ...Object.fromEntries(
    Object.entries(QUESTIONS).map(([name, { fields }]) => [name, [...STEPS, "coin", ...fields]]),
  ),
};

/** Fields of documents that devices in Python read, and that this client does not support. */
const MISSING: Readonly<Record<string, string>> = {
  segments: "segments",
  round: "rounds",
  hpke: "X-Wing",
};

const RANGES: Readonly<Record<string, readonly [number, number, boolean]>> = {
  epsilon: [1e-6, 20, false],
  delta: [1e-30, 0.1, false],
  cohort_size: [2, 1e9, true],
  sampling_rate: [1e-6, 1, false],
  steps: [1, 100_000, true],
  step_seconds: [1, 31 * 86_400, true],
  k: [1, 1000, true],
  noise_scale: [0.04, 2 ** 20, false],
  max_weight: [1, 1000, true],
  period_steps: [1, 50_000, true],
  periods: [2, 26, true],
  longest: [2, 31, true],
};

function readDocument(id: string, document: Document): Recipe {
  const statistic = text(document, "statistic");
  const trust = text(document, "trust");
  if (Object.hasOwn(NOT_YET, trust)) {
    throw new RecipeRefusedError(NOT_YET[trust]);
  }
  if (!Object.hasOwn(OWN, statistic) || !Object.hasOwn(TRUST_MODELS, trust)) {
    throw new RecipeRefusedError(`a browser takes no part in ${statistic} with ${trust}`);
  }
  const Model = TRUST_MODELS[trust]!;
  if (!Model.statistics.includes(statistic)) {
    const models = Object.keys(TRUST_MODELS);
    const possible = models.filter((name) => TRUST_MODELS[name]!.statistics.includes(statistic));
    throw new FieldError("trust", `must be ${possible.join(" or ")} for ${statistic}`);
  }
  const encrypts = Model.encrypts(statistic);
  const scheme = encrypts ? ["encryption"] : [];
  const needed = [...COMMON, ...OWN[statistic]!, ...Model.members, ...scheme];
  // Questions name their events themselves.
  const own = isRegular(statistic) ? (QUESTIONS[statistic]!.optional ?? []) : ["event"];
  const optional = [...OPTIONAL, ...own];
  for (const name of Object.keys(document)) {
    if (Object.hasOwn(MISSING, name)) {
      throw new RecipeRefusedError(`the recipe asks for ${MISSING[name]}, which this client does not have`);
    }
    if (!needed.includes(name) && !optional.includes(name)) {
      throw new FieldError(name, `is not a field of a ${statistic} recipe`);
    }
  }
  const missing = needed.find((name) => !Object.hasOwn(document, name));
  if (missing !== undefined) {
    throw new FieldError(missing, "is missing");
  }
  if (encrypts && document.encryption !== SCHEME) {
    throw new RecipeRefusedError(`the recipe's encryption is ${document.encryption}, not ${SCHEME}`);
  }
  if (typeof document.simulation !== "boolean") {
    throw new FieldError("simulation", "must be true or false");
  }
  const [opensAt, closesAt] = [time(document, "opens_at"), time(document, "closes_at")];
  if (closesAt <= opensAt) {
    throw new FieldError("closes_at", "must be later than opens_at");
  }
  const numbers = Object.keys(RANGES).filter((name) => Object.hasOwn(document, name));
  const read = Object.fromEntries(numbers.map((name) => [name, number(document, name)]));
  const { step_seconds: stepSeconds, ...parameters } = read;
  const question = isRegular(statistic) ? readQuestion(statistic, document, read.steps!) : undefined;
  const servers = new Model(id, document);
  const { key } = servers;
  return {
    id,
    name: text(document, "name"),
    question: text(document, "question"),
    statistic,
    parameters: {
      ...(parameters as unknown as Parameters),
      ...(statistic === "mean" ? { guarantee: text(document, "guarantee") } : {}),
      ...hiddenCount(statistic, document),
      ...(OWN[statistic]!.includes("coin") ? { coin: coin(trust, document) } : {}),
      ...(question === undefined ? {} : { question }),
    },
    events: question?.events ?? (document.event === undefined ? [] : [eventName("event", document.event)]),
    servers,
    ...(key === undefined ? {} : { key }),
    labels: labels(document),
    opensAt,
    closesAt,
    ...(stepSeconds === undefined ? {} : { stepSeconds }),
    simulation: document.simulation,
    ...(document.relay === undefined ? {} : { relay: requireAddress("relay", document.relay) }),
    ...(document.admission === undefined ? {} : { admission: admission(id, servers.verifying, document) }),
  };
}

function admission(id: string, verifying: readonly string[], document: Document): Admission {
  const { kind, issuer_name: issuerName, ...members } = object(document, "admission");
  if (kind !== "token") {
    throw new FieldError("admission.kind", "must be token");
  }
  if (typeof issuerName !== "string" || !/^[^/\\,]{1,260}$/.test(issuerName)) {
    throw new FieldError("admission.issuer_name", "must be a host, as issuer.example or issuer.example:8443");
  }
  requireAddress("admission.issuer_name", `https://${issuerName}`);
  return {
    issuerName,
    issuerKey: fromBase64("admission.issuer_key", members.issuer_key, 32),
    attesterUrl: requireAddress("admission.attester_url", members.attester_url),
    tokenKey: readTokenKey(fromBase64("admission.token_key", members.token_key)),
    challenge: challengeDigest(issuerName, fromHex("id", id, 32), verifying.map(hostOf)),
  };
}

function hiddenCount(statistic: string, document: Document): { dummy_rate?: number } {
  if (document.hidden_count === undefined) {
    return {};
  }
  const rate = object(document, "hidden_count").dummy_rate;
  const counts = isRegular(statistic) || ["count_nonzero", "histogram"].includes(statistic);
  if (!counts || typeof rate !== "number" || !(rate >= 0 && rate <= 1)) {
    throw new FieldError("hidden_count.dummy_rate", "must be from 0 to 1; a mean, or categories, has none");
  }
  return { dummy_rate: rate };
}

function coin(trust: string, document: Document): Coin {
  const { coin: found } = document;
  if (found !== "bucket" && (found !== "vector" || trust === "two_server")) {
    throw new FieldError("coin", `must be ${trust === "two_server" ? "" : "vector or "}bucket`);
  }
  return found;
}

function labels(document: Document): string[] {
  const found = document.labels ?? [];
  if (!Array.isArray(found) || found.some((label) => typeof label !== "string")) {
    throw new FieldError("labels", "must be a list of texts");
  }
  return found;
}

function number(document: Document, name: string): number {
  const value = document[name];
  const [least, most, whole] = RANGES[name]!;
  const inRange = typeof value === "number" && value >= least && value <= most;
  if (!inRange || (whole && !Number.isInteger(value))) {
    throw new FieldError(name, `must be a ${whole ? "whole " : ""}number from ${least} to ${most}`);
  }
  return value;
}

/** A time of the form 2026-01-31T12:00:00Z, in seconds since 1970. */
function time(document: Document, name: string): number {
  const value = text(document, name);
  const milliseconds = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(value) ? Date.parse(value) : Number.NaN;
  if (!(0 <= milliseconds && milliseconds < Date.UTC(3000))) {
    throw new FieldError(name, "must be a time in the years 1970 to 2999, of the form 2026-01-31T12:00:00Z");
  }
  return milliseconds / 1000;
}
