/** Trust in one of two servers: a share for each, sealed to it, and uploaded to the leader (DAP). */

import { type Bytes, concat, equal, FieldError, fromBase64, fromHex } from "../bytes.ts";
import {
  categoriesVdaf,
  type DapUpload,
  dapUpload,
  HPKE_CONFIG_LIST_TYPE,
  type HpkeConfig,
  readHpkeConfigs,
  UPLOAD_TYPE,
} from "../dap.ts";
import type { Device, ValueReport } from "../device.ts";
import { type Document, object } from "../document.ts";
import { type Ciphertext, ElGamalKey } from "../elgamal.ts";
import { takesSteps } from "../mechanisms.ts";
import { Prio3 } from "../prio3.ts";
import type { RandomSource } from "../random.ts";
import type { PinnedKeys, Recipe } from "../recipe.ts";
import type { Bit } from "../response.ts";
import { DAP_VERSION, SharedKey } from "../shared_key.ts";
import { type Behind, NoAnswerError, requireAddress, UndeliverableError, type Way } from "../way.ts";
import type { TrustModel } from "./interface.ts";

const UPLOAD_ERRORS_TYPE = "application/ppm-dap;message=upload-errors";
/** An uploaded report that the leader did not take, by its number in DAP. */
const REPLAYED = 2;
/** A good report at the wrong time: dropped, too early, not started, expired, collected. */
const NOT_NOW: readonly number[] = [3, 9, 10, 7, 1];
const OUTDATED_CONFIG = 11;
const NONCE_BYTES = 16;
/** The bytes of an upload without its sharings. */
const SEALED_BYTES = 256;

/** A leader, which publishes the recipe, and a helper, which signs it too. */
export class TwoServer implements TrustModel {
  static readonly statistics = ["count_nonzero", "histogram", "categories"];
  static readonly members = ["leader", "helper"];

  /** Shares are encrypted for as long as a device keeps them: one without steps keeps none. */
  static encrypts(statistic: string): boolean {
    return takesSteps(statistic);
  }

  readonly trust = "two_server";
  readonly key?: SharedKey;
  readonly leaderUrl: string;
  readonly helperUrl: string;
  readonly signer: { readonly who: "helper"; readonly key: Bytes };

  constructor(id: string, document: Document) {
    const [leader, helper] = [object(document, "leader"), object(document, "helper")];
    if (document.encryption !== undefined) {
      this.key = sharedKey(id, leader, helper);
    }
    this.leaderUrl = requireAddress("leader.url", leader.url);
    this.helperUrl = requireAddress("helper.url", helper.url);
    if (this.leaderUrl === this.helperUrl) {
      throw new FieldError("helper.url", "must differ from the leader's: one server is not two");
    }
    const field = "helper.verification_key";
    this.signer = { who: "helper", key: fromBase64(field, helper.verification_key, 32) };
  }

  get verifying(): readonly string[] {
    return [this.leaderUrl, this.helperUrl];
  }

  reportBytes(ciphertexts: number, each: number): number {
    return ciphertexts * each + SEALED_BYTES;
  }

  behind(publishing: Behind, keys: PinnedKeys): ReadonlyMap<string, Behind> {
    const verificationKey = fromBase64("keys.helper", keys.helper, 32);
    return new Map([
      [this.leaderUrl, publishing],
      [this.helperUrl, { name: "helper", verificationKey }],
    ]);
  }

  upload(recipe: Recipe, nonce: Bytes, parts: readonly Ciphertext[], token?: Bytes): DapUpload {
    return dapUpload(recipe, this, nonce, parts, token);
  }

  valueReport(recipe: Recipe, bits: readonly Bit[], nonce: Bytes, random: RandomSource): ValueReport {
    const { k, weight, chunk } = categoriesVdaf(recipe);
    const vdaf = Prio3.multihotCountVec(k, weight, chunk);
    const shares = vdaf.shard(taskContext(recipe.id), bits, nonce, random.bytes(vdaf.randomBytes));
    const parts = [shares.publicShare, shares.leader, shares.helper];
    return { kind: "dap", upload: this.upload(recipe, nonce, parts) };
  }

  /** To the leader, sealed to the current keys. */
  async deliver(device: Device, way: Way): Promise<boolean> {
    const upload = device.upload();
    const leader = way.at(upload.leaderUrl);
    const configs = await Promise.all([leader, way.at(upload.helperUrl)].map(fetchedConfig));
    const content = await upload.seal(configs[0]!, configs[1]!);
    const path = upload.url.slice(upload.leaderUrl.length);
    const body = { type: UPLOAD_TYPE, content };
    const answer = await leader.ask({ path, accept: UPLOAD_ERRORS_TYPE, body });
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
}

function sharedKey(id: string, leader: Document, helper: Document): SharedKey {
  const ours = ElGamalKey.fromMember("leader.public_key", leader.public_key);
  const theirs = ElGamalKey.fromMember("helper.public_key", helper.public_key);
  // Points have one spelling; the fields that hold them may have any order.
  if (object(leader, "public_key").point === object(helper, "public_key").point) {
    throw new FieldError("helper.public_key", "must differ from the leader's: one key opens both shares");
  }
  return new SharedKey(ours, theirs, taskContext(id));
}

function taskContext(id: string): Bytes {
  return concat(DAP_VERSION, fromHex("id", id, 32));
}

async function fetchedConfig(server: Way): Promise<HpkeConfig> {
  const { status, type, content } = await server.ask({ path: "/hpke_config", accept: HPKE_CONFIG_LIST_TYPE });
  if (status !== 200 || type !== HPKE_CONFIG_LIST_TYPE) {
    throw new NoAnswerError(`a server does not hand out its keys: ${status}`);
  }
  return readHpkeConfigs(content);
}

/** The error of the one report that was sent; undefined if it was taken. */
function uploadError(content: Bytes, nonce: Bytes): number | undefined {
  if (content.length === 0) {
    return undefined;
  }
  if (content.length !== NONCE_BYTES + 1 || !equal(content.slice(0, NONCE_BYTES), nonce)) {
    throw new NoAnswerError("the leader's answer is not about this report");
  }
  return content[NONCE_BYTES]!;
}
