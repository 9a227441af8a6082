/**
 * The key of two servers: a bit as two encrypted shares with proofs (LPP, Algorithm 6), the same as in
 * `panprivacy.protocols.encrypted_shares.shared_key`. To a mechanism it is a key like any other.
 */

import { type Bytes, concat, FieldError, utf8 } from "./bytes.ts";
import { byteCiphertexts, type Ciphertext, ElGamalKey, type EncryptionKey } from "./elgamal.ts";
import { Prio3, type Shares } from "./prio3.ts";
import type { RandomSource } from "./random.ts";
import type { Bit } from "./response.ts";

const COUNT = Prio3.count();
const ONE_CIPHERTEXT = 66;
const LEADER_BYTES = ONE_CIPHERTEXT * byteCiphertexts(COUNT.leaderShareBytes);
const HELPER_BYTES = ONE_CIPHERTEXT * byteCiphertexts(COUNT.helperShareBytes);

/** The bytes in front of the identifier to which every proof of a two-server recipe is bound (DAP 18). */
export const DAP_VERSION = utf8("dap-18");

/** One sharing: the leader's ciphertexts, then the helper's. */
export class SharedKey implements EncryptionKey {
  readonly ciphertextBytes = LEADER_BYTES + HELPER_BYTES;
  readonly bindsNonce = true;

  /**
   * @param context of the task: `DAP_VERSION` and its identifier.
   * @param nonce of the report; without it nothing can be encrypted.
   */
  constructor(
    readonly leader: ElGamalKey,
    readonly helper: ElGamalKey,
    readonly context: Bytes,
    private readonly nonce?: Bytes,
  ) {}

  boundTo(nonce: Bytes): SharedKey {
    return new SharedKey(this.leader, this.helper, this.context, nonce);
  }

  encrypt(bit: Bit, random: RandomSource): Ciphertext {
    const shares = this.#shares(bit, random);
    return concat(
      ...this.leader.encryptBytes(shares.leader, random),
      ...this.helper.encryptBytes(shares.helper, random),
    );
  }

  replaceOrRerandomize(replace: Bit, bit: Bit, ciphertext: Ciphertext, random: RandomSource): Ciphertext {
    const shares = this.#shares(bit, random);
    const [leader, helper] = this.split(ciphertext).map(pieces);
    return concat(
      ...this.leader.replaceBytesOrRerandomize(replace, shares.leader, leader!, random),
      ...this.helper.replaceBytesOrRerandomize(replace, shares.helper, helper!, random),
    );
  }

  rerandomizeOneOf(choice: Bit, left: Ciphertext, right: Ciphertext, random: RandomSource): Ciphertext {
    const [leftLeader, leftHelper] = this.split(left).map(pieces);
    const [rightLeader, rightHelper] = this.split(right).map(pieces);
    return concat(
      ...leftLeader!.map((own, at) => this.leader.rerandomizeOneOf(choice, own, rightLeader![at]!, random)),
      ...leftHelper!.map((own, at) => this.helper.rerandomizeOneOf(choice, own, rightHelper![at]!, random)),
    );
  }

  opened(): never {
    return this.sumWithNoise();
  }

  rerandomizedSum(): never {
    return this.sumWithNoise();
  }

  sumWithNoise(): never {
    throw new FieldError("trust", "must be another one for a sum: shares are not added on devices");
  }

  require(ciphertext: Bytes): void {
    const [leader, helper] = this.split(ciphertext).map(pieces);
    leader!.forEach((own) => this.leader.require(own));
    helper!.forEach((own) => this.helper.require(own));
  }

  /** The leader's part and the helper's of an encoded sharing. FieldError naming `ciphertexts`. */
  split(ciphertext: Ciphertext): [Bytes, Bytes] {
    if (ciphertext.length !== this.ciphertextBytes) {
      throw new FieldError("ciphertexts", `must have ${this.ciphertextBytes} bytes each`);
    }
    return [ciphertext.slice(0, LEADER_BYTES), ciphertext.slice(LEADER_BYTES)];
  }

  #shares(bit: Bit, random: RandomSource): Shares {
    if (this.nonce === undefined) {
      throw new TypeError("bind this key to the report's nonce before encrypting");
    }
    const randomness = random.bytes(COUNT.randomBytes);
    return COUNT.shard(concat(this.context, this.nonce), [bit], this.nonce, randomness);
  }
}

function pieces(part: Bytes): Ciphertext[] {
  return Array.from({ length: part.length / ONE_CIPHERTEXT }, (_, at) =>
    part.slice(at * ONE_CIPHERTEXT, (at + 1) * ONE_CIPHERTEXT),
  );
}
