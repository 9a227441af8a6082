/**
 * A device's requests to the site of its recipe and to the site's partners: the requests for joining, and its
 * report. All of them are made at ticks; none depends on an event.
 */

import { type Identities, obtainToken } from "./attester.ts";
import { FieldError, fromBase64 } from "./bytes.ts";
import { joinRecipe, requestBytes } from "./device.ts";
import { parsePolicy, requireLogged } from "./log.ts";
import { type LogMemory, requireContinues } from "./log_memory.ts";
import type { PageOptions } from "./page.ts";
import { type Limits, type PinnedKeys, type Recipe, type ServedRecipe, verifiedRecipe } from "./recipe.ts";
import { storedIdentities, storedLogs } from "./storage.ts";
import {
  ANY_TYPE,
  type Behind,
  DirectWay,
  JSON_TYPE,
  jsonOf,
  NoAnswerError,
  recipePath,
  RelayedWay,
  UndeliverableError,
  type Way,
} from "./way.ts";

/** The servers that a device uses, and the keys that it trusts. */
export interface Site {
  /** Base address of the site that published the recipe, e.g. `https://telemetry.example`. */
  readonly server: string;
  /** Pinned beforehand, never fetched with the recipe. */
  readonly keys: PinnedKeys;
  /**
   * The log that must have the recipe, and its witnesses (C2SP, tlog-policy). `null`: the device does not
   * check whether others are shown the same recipe.
   */
  readonly policy: string | null;
  readonly limits?: Limits;
  readonly simulation?: boolean;
  /** Where checkpoints are remembered; this origin's IndexedDB by default. */
  readonly memory?: LogMemory;
  /** A one-time code with which this device enrols at the attester of a recipe with tokens. */
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

  /** The transport to the site, after the log was checked over it. */
  async function vouched(served: ServedRecipe, verified: Recipe): Promise<Way> {
    const way = verified.relay === undefined ? direct : relayed(verified, verified.relay, site);
    if (policy !== undefined) {
      const { status, content } = await way.ask({ path: `${recipePath(recipe)}proof/`, accept: ANY_TYPE });
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
      if (!(await device.recipe.servers.deliver(device, way))) {
        const { status } = await fetchedRecipe(way, recipe);
        if (status === "closed") {
          throw new UndeliverableError("the recipe is closed: it takes no reports");
        }
        throw new NoAnswerError("the recipe takes no reports now");
      }
    },
  };
}

async function fetchedRecipe(way: Way, recipe: string): Promise<ServedRecipe> {
  const served = jsonOf(await way.ask({ path: recipePath(recipe), accept: JSON_TYPE }));
  const { id, document, signature, status } = served;
  const isRecipe = id === recipe && typeof document === "object" && document !== null;
  if (!isRecipe || typeof signature !== "string" || typeof status !== "string") {
    throw new NoAnswerError("the server's answer is not this recipe");
  }
  return served as unknown as ServedRecipe;
}

/** The only transport to the servers of a recipe with a relay. */
function relayed(recipe: Recipe, relay: string, { server, keys }: Site): Way {
  const own: Behind = { name: "", verificationKey: fromBase64("keys.server", keys.server, 32) };
  const servers = new Map([[server, own], ...recipe.servers.behind(own, keys)]);
  return new RelayedWay(server, relay, servers, requestBytes(recipe));
}
