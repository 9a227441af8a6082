/** Reports to two servers, by DAP (draft 18): a share sealed to each, uploaded to the leader. */

import { Aes128Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from "@hpke/core";

import { type Bytes, bigEndian, concat, FieldError, fromHex, toBase64Url, utf8 } from "./bytes.ts";
import { type Ciphertext, SCHEME_CODE } from "./elgamal.ts";
import { required } from "./mechanisms.ts";
import { type RandomSource, systemRandom } from "./random.ts";
import type { Recipe } from "./recipe.ts";
import { DAP_VERSION, type SharedKey } from "./shared_key.ts";

const PAN_PRIVATE_COUNT_VEC = 0xffff1001;
const MULTIHOT_COUNT_VEC = 5;
const TIME_INTERVAL = 1;
/** Type of the public extension that carries a token: a number of ours, which no draft assigns. */
const TOKEN_EXTENSION = 0xff01;
/** The time that every report of a recipe carries. */
const REPORT_TIME = 0;
const CLIENT = 1;
const [LEADER, HELPER] = [2, 3] as const;
/** Entropy of an ephemeral key: as many bytes as `panprivacy.protocols.hpke` draws. */
const EPHEMERAL_BYTES = 32;

export const UPLOAD_TYPE = "application/ppm-dap;message=upload-req";
export const HPKE_CONFIG_LIST_TYPE = "application/ppm-dap;message=hpke-config-list";

/** An aggregator's key and algorithms, by their numbers in RFC 9180, section 7. */
export interface HpkeConfig {
  readonly id: number;
  readonly publicKey: Bytes;
}

/** An unsealed report. Both input shares together give the measurement. */
export interface DapUpload {
  readonly url: string;
  readonly leaderUrl: string;
  readonly helperUrl: string;
  /**
   * The body of the upload.
   *
   * @param random the browser's generator by default; given bytes in tests only, because they open every
   * share.
   */
  seal(leader: HpkeConfig, helper: HpkeConfig, random?: RandomSource): Promise<Bytes>;
}

/** The two servers of a recipe, from its document. */
export interface DapServers {
  readonly leaderUrl: string;
  readonly helperUrl: string;
  /** Absent if devices send plain shares. */
  readonly key?: SharedKey;
}

/** Parameters of the VDAF of categories: proofs are shortest near the square root of what they check. */
export function categoriesVdaf(recipe: Recipe): { k: number; weight: number; chunk: number } {
  const k = required(recipe.parameters, "k");
  const weight = required(recipe.parameters, "max_weight");
  const checked = k + weight.toString(2).length;
  return { k, weight, chunk: Math.floor(Math.sqrt(checked - 1)) + 1 };
}

/**
 * The upload of a report.
 *
 * @param parts sharings; or, if devices send plain shares, the public, the leader's and the helper's. @param
 * token of the report, if the recipe asks for one.
 */
export function dapUpload(
  recipe: Recipe,
  servers: DapServers,
  nonce: Bytes,
  parts: readonly Ciphertext[],
  token?: Bytes,
): DapUpload {
  const { leaderUrl, helperUrl, key } = servers;
  const taskId = fromHex("id", recipe.id, 32);
  const [publicShare, leaderShare, helperShare] = sharesOf(key, parts);
  const extensions = token === undefined ? [] : [bigEndian(TOKEN_EXTENSION, 2), opaque(token, 2)];
  const metadata = concat(nonce, bigEndian(REPORT_TIME, 8), opaque(concat(...extensions), 2));
  const aad = concat(taskId, taskConfiguration(recipe, servers), metadata, opaque(publicShare, 4));
  return {
    url: `${leaderUrl}/tasks/${toBase64Url(taskId)}/reports`,
    leaderUrl,
    helperUrl,
    async seal(leader, helper, random = systemRandom) {
      const toLeader = await sealed(leader, LEADER, aad, leaderShare, random);
      const toHelper = await sealed(helper, HELPER, aad, helperShare, random);
      return concat(metadata, opaque(publicShare, 4), toLeader, toHelper);
    },
  };
}

/** The first configuration that this client can seal to. FieldError for anything that is no list of them. */
export function readHpkeConfigs(encoded: Bytes): HpkeConfig {
  const malformed = new FieldError("hpke_config", "must be a list with a key of X25519, SHA-256 and AES-128");
  const view = new DataView(encoded.buffer, encoded.byteOffset, encoded.byteLength);
  if (encoded.length < 2 || view.getUint16(0) !== encoded.length - 2) {
    throw malformed;
  }
  for (let at = 2; at + 9 <= encoded.length; ) {
    const [id, kem, kdf, aead] = [at, at + 1, at + 3, at + 5].map((place, member) =>
      member === 0 ? view.getUint8(place) : view.getUint16(place),
    );
    const length = view.getUint16(at + 7);
    const publicKey = encoded.slice(at + 9, at + 9 + length);
    if (kem === 0x20 && kdf === 1 && aead === 1 && publicKey.length === 32) {
      return { id: id!, publicKey };
    }
    at += 9 + length;
  }
  throw malformed;
}

/** The identifier of the recipe as a task of both servers (`panprivacy.recipe.dap_task`). */
function taskConfiguration(recipe: Recipe, { leaderUrl, helperUrl, key }: DapServers): Bytes {
  const [type, vdaf] = vdafOf(recipe, key);
  const interval = concat(bigEndian(REPORT_TIME, 8), bigEndian(1, 8));
  const extension = concat(bigEndian(1, 2), opaque(interval, 2));
  return concat(
    opaque(utf8("panapp recipe"), 1),
    opaque(utf8(leaderUrl), 2),
    opaque(utf8(helperUrl), 2),
    bigEndian(recipe.closesAt, 8),
    bigEndian(recipe.parameters.cohort_size, 8),
    Uint8Array.of(TIME_INTERVAL),
    opaque(new Uint8Array(0), 2),
    bigEndian(type, 4),
    opaque(vdaf, 2),
    opaque(extension, 2),
  );
}

function vdafOf(recipe: Recipe, key: SharedKey | undefined): [number, Bytes] {
  if (key === undefined) {
    const { k, weight, chunk } = categoriesVdaf(recipe);
    return [MULTIHOT_COUNT_VEC, concat(bigEndian(k, 4), bigEndian(chunk, 4), bigEndian(weight, 8))];
  }
  const sharings = recipe.statistic === "histogram" ? required(recipe.parameters, "k") + 1 : 1;
  return [PAN_PRIVATE_COUNT_VEC, concat(Uint8Array.of(SCHEME_CODE), bigEndian(sharings, 4))];
}

function sharesOf(key: SharedKey | undefined, parts: readonly Ciphertext[]): [Bytes, Bytes, Bytes] {
  if (key === undefined) {
    return [parts[0]!, parts[1]!, parts[2]!];
  }
  const split = parts.map((part) => key.split(part));
  // The leader's parts of all sharings, and the helper's.
  return [
    new Uint8Array(0),
    concat(...split.map(([leader]) => leader)),
    concat(...split.map(([, helper]) => helper)),
  ];
}

/** An input share, encrypted to one aggregator and bound to all that surrounds it (HPKE, base mode). */
async function sealed(
  config: HpkeConfig,
  role: number,
  aad: Bytes,
  share: Bytes,
  random: RandomSource,
): Promise<Bytes> {
  const suite = new CipherSuite({
    kem: new DhkemX25519HkdfSha256(),
    kdf: new HkdfSha256(),
    aead: new Aes128Gcm(),
  });
  const sender = await suite.createSenderContext({
    recipientPublicKey: await suite.kem.deserializePublicKey(config.publicKey.buffer),
    info: concat(DAP_VERSION, utf8(" input share"), Uint8Array.of(CLIENT, role)).buffer,
    ekm: random.bytes(EPHEMERAL_BYTES).buffer,
  });
  const plaintext = concat(bigEndian(0, 2), opaque(share, 4));
  const payload = new Uint8Array(await sender.seal(plaintext.buffer, aad.buffer));
  return concat(Uint8Array.of(config.id), opaque(new Uint8Array(sender.enc), 2), opaque(payload, 4));
}

/** Bytes after their length, which takes `width` bytes. */
function opaque(content: Uint8Array, width: number): Bytes {
  return concat(bigEndian(content.length, width), content);
}
