/** Trust in a single server: ciphertexts to its key, and one report over the API of the publishing site. */

import { type Bytes, FieldError, toBase64, utf8 } from "../bytes.ts";
import type { Device, ValueReport } from "../device.ts";
import type { Document } from "../document.ts";
import { ElGamalKey } from "../elgamal.ts";
import { QUESTIONS } from "../questions.ts";
import type { RandomSource } from "../random.ts";
import type { Recipe } from "../recipe.ts";
import type { Bit } from "../response.ts";
import {
  type Behind,
  JSON_TYPE,
  NoAnswerError,
  problemOf,
  recipePath,
  UndeliverableError,
  type Way,
} from "../way.ts";
import type { TrustModel } from "./interface.ts";

const NOT_OPEN = "/problems/recipe-not-open";
const DUPLICATE = "duplicate_nonce";

/** The server that published the recipe. Its documents do not name it. */
export class SingleServer implements TrustModel {
  static readonly statistics = [
    "count_nonzero", "histogram", "mean", "categories", ...Object.keys(QUESTIONS),
  ];
  static readonly members = ["public_key"];

  static encrypts(): boolean {
    return true;
  }

  readonly trust = "single_server";
  readonly verifying = [];
  readonly key: ElGamalKey;

  constructor(_id: string, document: Document) {
    this.key = ElGamalKey.fromMember("public_key", document.public_key);
  }

  /** Their length in base64, as elements of a list in JSON. */
  reportBytes(ciphertexts: number, each: number): number {
    return ciphertexts * (4 * Math.ceil(each / 3) + 4);
  }

  behind(): ReadonlyMap<string, Behind> {
    return new Map();
  }

  upload(): never {
    throw new FieldError("trust", "must be two_server: this report goes to one server");
  }

  valueReport(_recipe: Recipe, bits: readonly Bit[], nonce: Bytes, random: RandomSource): ValueReport {
    const ciphertexts = bits.map((bit) => toBase64(this.key.encrypt(bit, random)));
    return { kind: "rest", report: { nonce: toBase64(nonce), ciphertexts } };
  }

  async deliver(device: Device, way: Way): Promise<boolean> {
    const content = utf8(JSON.stringify(device.report()));
    const path = `${recipePath(device.recipe.id)}reports/`;
    const answer = await way.ask({ path, accept: JSON_TYPE, body: { type: JSON_TYPE, content } });
    const { type, reason, detail } = problemOf(answer);
    // A previous attempt arrived, but its answer was lost.
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
}
