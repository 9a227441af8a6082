/** The browser device's part of each trust model: one class for each model, in `TRUST_MODELS`. */

import type { Bytes } from "../bytes.ts";
import type { DapUpload } from "../dap.ts";
import type { Device, ValueReport } from "../device.ts";
import type { Document } from "../document.ts";
import type { Ciphertext, EncryptionKey } from "../elgamal.ts";
import type { RandomSource } from "../random.ts";
import type { PinnedKeys, Recipe } from "../recipe.ts";
import type { Bit } from "../response.ts";
import type { Behind, Way } from "../way.ts";

/** A trust model, independent of any recipe. */
export interface TrustModelClass {
  /** Statistics that browsers take part in. */
  readonly statistics: readonly string[];
  /** Whether a recipe of one of them has a scheme of encryption; else its devices send plain shares. */
  encrypts(statistic: string): boolean;
  /** Fields that documents of this trust model have in addition to the common ones, without `encryption`. */
  readonly members: readonly string[];
  /**
   * The servers of one recipe.
   *
   * @param id of the recipe: 32 bytes in hexadecimal.
   * @throws FieldError a server's field is invalid.
   */
  new (id: string, document: Document): TrustModel;
}

/** The servers of one recipe, and how its devices report to them. */
export interface TrustModel {
  /** As documents name the model. */
  readonly trust: string;
  /** Absent if devices send plain shares. */
  readonly key?: EncryptionKey;
  /** The servers that check tokens, by their addresses; only those that documents name. */
  readonly verifying: readonly string[];
  /**
   * The parties that must sign the document in addition to the publishing server, each with its Ed25519 key
   * (32 bytes).
   */
  readonly signer?: { readonly who: "helper"; readonly key: Bytes };

  /**
   * Bytes of a report's ciphertexts and of their enclosing text, in the request that sends it. Without the
   * token.
   *
   * @param ciphertexts how many.
   * @param each bytes of one.
   */
  reportBytes(ciphertexts: number, each: number): number;

  /**
   * The servers that the recipe's document names, by their addresses: the targets of its relay.
   *
   * @param publishing the server that published it.
   * @throws FieldError a key is not pinned.
   */
  behind(publishing: Behind, keys: PinnedKeys): ReadonlyMap<string, Behind>;

  /**
   * What to seal, and where it goes. Arguments as in `dapUpload`.
   *
   * @throws FieldError reports of this trust model are not sealed.
   */
  upload(recipe: Recipe, nonce: Bytes, parts: readonly Ciphertext[], token?: Bytes): DapUpload;

  /**
   * The report of a device that takes no steps.
   *
   * @param bits its value, randomized.
   * @param nonce of the report, 16 bytes.
   */
  valueReport(recipe: Recipe, bits: readonly Bit[], nonce: Bytes, random: RandomSource): ValueReport;

  /**
   * Send the report of a device that has made it. False if the server does not take it yet.
   *
   * @param way the transport to the publishing server. @throws NoAnswerError, UndeliverableError
   */
  deliver(device: Device, way: Way): Promise<boolean>;
}
