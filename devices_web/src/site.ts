/**
 * A device's requests to the site of its recipe and to the site's partners: what is asked before it joins,
 * and its report. All of them are made at ticks; none depends on an event.
 */

import { type Identities, obtainToken } from "./attester.ts";
import { type Bytes, equal, FieldError, fromBase64, utf8 } from "./bytes.ts";
import { HPKE_CONFIG_LIST_TYPE, type HpkeConfig, readHpkeConfigs, UPLOAD_TYPE } from "./dap.ts";
import { type Device, joinRecipe, requestBytes } from "./device.ts";
import { parsePolicy, requireLogged } from "./log.ts";
import { type LogMemory, requireContinues } from "./log_memory.ts";
import type { PageOptions } from "./page.ts";
import { type Limits, type PinnedKeys, type Recipe, type ServedRecipe, verifiedRecipe } from "./recipe.ts";
import { storedIdentities, storedLogs } from "./storage.ts";
import {
  ANY_TYPE,
  type Behind,
  DirectWay,
  jsonOf,
  NoAnswerError,
  problemOf,
  RelayedWay,
  UndeliverableError,
  type Way,
} from "./way.ts";

const JSON_TYPE = "application/json";
const UPLOAD_ERRORS_TYPE = "application/ppm-dap;message=upload-errors";
const NOT_OPEN = "/problems/recipe-not-open";
const DUPLICATE = "duplicate_nonce";
/** An uploaded report that the leader did not take, by its number in DAP. */
const REPLAYED = 2;
/** A good report at the wrong time: dropped, too early, not started, expired, collected. */
const NOT_NOW: readonly number[] = [3, 9, 10, 7, 1];
const OUTDATED_CONFIG = 11;
const NONCE_BYTES = 16;

/** Whom a device speaks with, and what it believes. */
export interface Site {
  /** Base address of the site that published the recipe, as `https://telemetry.example`. */
  readonly server: string;
  /** Pinned beforehand, never fetched with the recipe. */
  readonly keys: PinnedKeys;
  /**
   * The log that must have the recipe, and its witnesses (C2SP, tlog-policy). `null`: nobody is asked whether
   * others are shown the same recipe.
   */
  readonly policy: string | null;
  readonly limits?: Limits;
  readonly simulation?: boolean;
  /** Where checkpoints are remembered; this origin's IndexedDB by default. */
  readonly memory?: LogMemory;
  /** A one-time code with which the attester of a recipe with tokens comes to know this device. */
  readonly code?: string;
  /** Keys by which attesters know this device; in this origin's IndexedDB by default. */
  readonly identities?: Identities;
}

/**
 * What a `PageDevice` of a recipe needs to join, to ask for its token and to deliver.
 *
 * @throws FieldError, LogError the address, or the policy, is not as it must be.
 */
export function atSite(recipe: string, site: Site): Pick<PageOptions, "join" | "token" | "deliver"> {
  if (site.policy !== null && typeof site.policy !== "string") {
    throw new FieldError("policy", "must be a text, or null to look at no log");
  }
  const policy = site.policy === null ? undefined : parsePolicy(site.policy);
  const direct = new DirectWay(site.server);

  /** The way to the site, once the log was asked on it. */
  async function vouched(served: ServedRecipe, verified: Recipe): Promise<Way> {
    const way = verified.relay === undefined ? direct : relayed(verified, verified.relay, site);
    if (policy !== undefined) {
      const { status, content } = await way.ask({ path: `${pathOf(recipe)}proof/`, accept: ANY_TYPE });
      if (status !== 200) {
        throw new NoAnswerError(`the site has no proof that the recipe is in its log: ${status}`);
      }
      const logged = requireLogged(served, new TextDecoder().decode(content), policy, Date.now() / 1000);
      await requireContinues(logged, site.memory ?? storedLogs, way);
    }
    return way;
  }

  return {
    async join() {
      const served = await fetchedRecipe(direct, recipe);
      await vouched(served, verifiedRecipe(served, site.keys));
      const { simulation = false, limits } = site;
      const options = { simulation, relayed: true, server: site.server };
      return joinRecipe(served, site.keys, limits === undefined ? options : { ...options, limits });
    },
    token(device, store) {
      const { code, identities = storedIdentities } = site;
      return obtainToken(device, { identities, ...(code === undefined ? {} : { code }) }, store);
    },
    async deliver(device) {
      const { document, signature } = device.state;
      const served = { id: recipe, document: document!, signature: signature!, status: "open" };
      const way = await vouched(served, device.recipe);
      const { trust } = device.recipe.servers;
      const isTaken = trust === "single_server" ? await posted(way, device) : await uploaded(way, device);
      if (!isTaken) {
        const { status } = await fetchedRecipe(way, recipe);
        if (status === "closed") {
          throw new UndeliverableError("the recipe is closed: it takes no reports any more");
        }
        throw new NoAnswerError("the recipe takes no reports now");
      }
    },
  };
}

function pathOf(recipe: string): string {
  return `/api/v1/recipes/${encodeURIComponent(recipe)}/`;
}

async function fetchedRecipe(way: Way, recipe: string): Promise<ServedRecipe> {
  const served = jsonOf(await way.ask({ path: pathOf(recipe), accept: JSON_TYPE }));
  const { id, document, signature, status } = served;
  const isRecipe = id === recipe && typeof document === "object" && document !== null;
  if (!isRecipe || typeof signature !== "string" || typeof status !== "string") {
    throw new NoAnswerError("the server's answer is not this recipe");
  }
  return served as unknown as ServedRecipe;
}

/** The one way to the servers of a recipe with a relay. */
function relayed(recipe: Recipe, relay: string, { server, keys }: Site): Way {
  const own: Behind = { name: "", verificationKey: fromBase64("keys.server", keys.server, 32) };
  const servers = new Map([[server, own]]);
  if (recipe.servers.trust === "two_server") {
    const verificationKey = fromBase64("keys.helper", keys.helper, 32);
    servers.set(recipe.servers.leaderUrl, own);
    servers.set(recipe.servers.helperUrl, { name: "helper", verificationKey });
  }
  return new RelayedWay(server, relay, servers, requestBytes(recipe));
}

/** Send a report to a single server. False where it takes none now. */
async function posted(way: Way, device: Device): Promise<boolean> {
  const content = utf8(JSON.stringify(device.report()));
  const path = `${pathOf(device.recipe.id)}reports/`;
  const answer = await way.ask({ path, accept: JSON_TYPE, body: { type: JSON_TYPE, content } });
  const { type, reason, detail } = problemOf(answer);
  // An earlier attempt arrived, and its answer did not.
  if (answer.status === 201 || reason === DUPLICATE) {
    return true;
  }
  if (reason !== undefined) {
    throw new UndeliverableError(`the server refuses the report: ${reason} (${detail ?? ""})`);
  }
  if (type !== NOT_OPEN) {
    throw new NoAnswerError(`the server answers ${answer.status}`);
  }
  return false;
}

/** Send a report to the leader of two servers, sealed to the keys of now. False where it takes none now. */
async function uploaded(way: Way, device: Device): Promise<boolean> {
  const upload = device.upload();
  const leader = way.at(upload.leaderUrl);
  const configs = await Promise.all([leader, way.at(upload.helperUrl)].map(fetchedConfig));
  const content = await upload.seal(configs[0]!, configs[1]!);
  const path = upload.url.slice(upload.leaderUrl.length);
  const answer = await leader.ask({ path, accept: UPLOAD_ERRORS_TYPE, body: { type: UPLOAD_TYPE, content } });
  if (Math.trunc(answer.status / 100) !== 2) {
    throw new NoAnswerError(`the leader answers ${answer.status}`);
  }
  const error = uploadError(answer.content, fromBase64("nonce", device.report().nonce, NONCE_BYTES));
  if (error === OUTDATED_CONFIG) {
    throw new NoAnswerError("the leader does not know the keys that it has just handed out");
  }
  if (error === undefined || error === REPLAYED) {
    return true;
  }
  if (!NOT_NOW.includes(error)) {
    throw new UndeliverableError(`the leader refuses the report: error ${error} of DAP`);
  }
  return false;
}

async function fetchedConfig(server: Way): Promise<HpkeConfig> {
  const { status, type, content } = await server.ask({ path: "/hpke_config", accept: HPKE_CONFIG_LIST_TYPE });
  if (status !== 200 || type !== HPKE_CONFIG_LIST_TYPE) {
    throw new NoAnswerError(`a server does not hand out its keys: ${status}`);
  }
  return readHpkeConfigs(content);
}

/** The error of the one report that was sent; undefined where it was taken. */
function uploadError(content: Bytes, nonce: Bytes): number | undefined {
  if (content.length === 0) {
    return undefined;
  }
  if (content.length !== NONCE_BYTES + 1 || !equal(content.slice(0, NONCE_BYTES), nonce)) {
    throw new NoAnswerError("the leader's answer is not about this report");
  }
  return content[NONCE_BYTES]!;
}
