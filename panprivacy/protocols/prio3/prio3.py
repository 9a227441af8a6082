"""Prio3, the definition: one report at a time, integers modulo a prime (VDAF draft 20, section 7.2).

Shares and messages are encoded bytes (section 7.2.7) on both sides of every function. An aggregator is a
number from 0, the leader, to `shares` − 1.
"""

from collections.abc import Iterable, Sequence
from typing import Generic

from panprivacy.formats.errors import FieldError
from panprivacy.protocols.prio3 import xof
from panprivacy.protocols.prio3.circuits import (
    Circuit,
    CountCircuit,
    HistogramCircuit,
    L1BoundSumCircuit,
    L2BoundSumCircuit,
    Measurement,
    MultihotCountVecCircuit,
    SumCircuit,
    SumVecCircuit,
)
from panprivacy.protocols.prio3.field import FIELD64, FIELD128
from panprivacy.protocols.prio3.flp import FullyLinearProof
from panprivacy.protocols.prio3.interface import InvalidShareError, VerificationError, require_length
from panprivacy.protocols.prio3.xof import SEED_SIZE

NONCE_SIZE = 16
VERIFY_KEY_SIZE = SEED_SIZE

# Usages of the extendable output function (section 7.2).
MEASUREMENT_SHARE = 1
PROOF_SHARE = 2
JOINT_RANDOMNESS = 3
PROVE_RANDOMNESS = 4
QUERY_RANDOMNESS = 5
JOINT_RANDOMNESS_SEED = 6
JOINT_RANDOMNESS_PART = 7

# Reasons of a VerificationError.
INVALID_MEASUREMENT = "the measurement is not valid, or its proof is not"
OTHER_RANDOMNESS = "the public share claims other joint randomness than the shares give"


class Prio3(Generic[Measurement]):
    """One variant with its parameters (section 7.2). Holds no secrets and no state.

    Attributes:
        identifier: registered number of the VDAF, DAP's `vdaf_type`.
        rand_size: bytes of randomness that `shard` takes.
        public_share_bytes, verifier_share_bytes, verifier_message_bytes: lengths of the encodings.
        out_share_bytes: of output shares and of aggregate shares.
        largest_batch: the most reports whose sum is below the field's modulus, whatever they measure.
    """

    def __init__(
        self, identifier: int, circuit: Circuit[Measurement], *, shares: int = 2, proofs: int = 1
    ) -> None:
        """
        Args:
            identifier: in [0, 2^32).
            circuit: which measurements are valid.
            shares: number of aggregators, 2 to 255.
            proofs: independent proofs of one measurement, 1 to 255 (section 7.1.2).

        Raises:
            FieldError: `shares` or `proofs` is out of range.
        """
        if not 2 <= shares <= 255:
            raise FieldError("shares", f"must be from 2 to 255, not {shares}")
        if not 1 <= proofs <= 255:
            raise FieldError("proofs", f"must be from 1 to 255, not {proofs}")
        self.identifier = identifier
        self.circuit = circuit
        self.flp = FullyLinearProof(circuit)
        self.field = circuit.field
        self.shares = shares
        self.proofs = proofs
        self.has_joint_randomness = circuit.joint_randomness_length > 0
        self._seed_bytes = SEED_SIZE * self.has_joint_randomness
        self.rand_size = (SEED_SIZE + self._seed_bytes) * shares
        self.public_share_bytes = self._seed_bytes * shares
        size = self.field.encoded_size
        self.verifier_share_bytes = size * self.flp.verifier_length * proofs + self._seed_bytes
        self.verifier_message_bytes = self._seed_bytes
        self.out_share_bytes = size * circuit.output_length
        self.largest_batch = (self.field.modulus - 1) // circuit.largest_output

    def input_share_bytes(self, aggregator: int) -> int:
        """Length of an encoded input share: the leader's is written out, the other aggregators' are seeds."""
        if aggregator > 0:
            return SEED_SIZE + self._seed_bytes
        elements = self.circuit.measurement_length + self.flp.proof_length * self.proofs
        return self.field.encoded_size * elements + self._seed_bytes

    # Sharding (section 7.2.1) ---------------------------------------------------

    def shard(
        self, context: bytes, measurement: Measurement, nonce: bytes, rand: bytes
    ) -> tuple[bytes, tuple[bytes, ...]]:
        """Split a measurement into shares, each with its share of a proof.

        Args:
            context: of the application; what is sharded under one does not verify under another.
            measurement: in the form that the circuit defines.
            nonce: 16 bytes, public, of this report alone.
            rand: `rand_size` bytes from a cryptographic source, used once.

        Returns:
            The encoded public share and the encoded input shares, the leader's first.

        Raises:
            FieldError: the measurement is not valid, or an argument has another length.
        """
        # Step 1: encode the measurement as the circuit specifies.
        return self.shard_encoded(context, self.circuit.encode(measurement), nonce, rand)

    def shard_encoded(
        self, context: bytes, encoded: Sequence[int], nonce: bytes, rand: bytes
    ) -> tuple[bytes, tuple[bytes, ...]]:
        """As `shard`, of elements that only the aggregators check: what a cheat would send.

        Steps 2 to 5 of section 7.2.1, as sections 7.2.1.1 (no joint randomness) and 7.2.1.2 list them.
        """
        if len(encoded) != self.circuit.measurement_length:
            raise FieldError("encoded", f"must be {self.circuit.measurement_length} elements")
        if len(nonce) != NONCE_SIZE:
            raise FieldError("nonce", f"must be {NONCE_SIZE} bytes, not {len(nonce)}")
        if len(rand) != self.rand_size:
            raise FieldError("rand", f"must be {self.rand_size} bytes, not {len(rand)}")
        # Split the randomness into seeds: the last one is the prover's.
        seeds = [rand[at : at + SEED_SIZE] for at in range(0, len(rand), SEED_SIZE)]
        prove_seed = seeds.pop()
        blinds = [b""] * self.shares
        if self.has_joint_randomness:
            # Seed and blind of every helper in turn, then the leader's blind.
            blinds = [seeds.pop(), *seeds[1::2]]
            seeds = seeds[0::2]

        # Step 2: a helper's measurement share is expanded from its seed; the leader's is what is left.
        helpers = range(1, self.shares)
        helper_shares = [
            self._helper_measurement_share(context, helper, seeds[helper - 1]) for helper in helpers
        ]
        leader_share = encoded = [element % self.field.modulus for element in encoded]
        for share in helper_shares:
            leader_share = self.field.subtract(leader_share, share)

        parts: list[bytes] = []
        joint_randomness: list[int] = []
        if self.has_joint_randomness:
            # Step 3 (7.2.1.2): a part from each share and blind, a seed from all parts, then the randomness.
            parts = [
                self._joint_randomness_part(context, aggregator, blind, self.field.encode(share), nonce)
                for aggregator, (blind, share) in enumerate(
                    zip(blinds, [leader_share, *helper_shares], strict=True)
                )
            ]
            seed = self._joint_randomness_seed(context, parts)
            joint_randomness = self._joint_randomness(context, seed)

        # Step 4: a proof, `proofs` times, each with randomness of its own (`prove_rands`, `flp.prove`).
        prove_randomness = self._elements(
            PROVE_RANDOMNESS,
            context,
            prove_seed,
            bytes([self.proofs]),
            self.flp.prove_randomness_length * self.proofs,
        )
        leader_proofs: list[int] = []
        for proof in range(self.proofs):
            leader_proofs += self.flp.prove(
                encoded,
                _part(prove_randomness, proof, self.proofs),
                _part(joint_randomness, proof, self.proofs),
            )
        # Step 5: helpers expand their shares of the proofs from their seeds; the leader's is what is left.
        for helper in helpers:
            leader_proofs = self.field.subtract(
                leader_proofs, self._helper_proofs_share(context, helper, seeds[helper - 1])
            )
        # Public share: the parts. Input shares: measurement and proofs, or their seed; then the blind.
        leader = self.field.encode(leader_share + leader_proofs) + blinds[0]
        return b"".join(parts), (
            leader,
            *(seed + blind for seed, blind in zip(seeds, blinds[1:], strict=True)),
        )

    # Verification (section 7.2.2) -----------------------------------------------

    def verify_init(
        self,
        verify_key: bytes,
        context: bytes,
        aggregator: int,
        nonce: bytes,
        public_share: bytes,
        input_share: bytes,
    ) -> tuple[bytes, bytes]:
        """An aggregator's view of one report, on its own.

        Args:
            verify_key: 32 bytes that all aggregators share and no client knows.
            context, nonce, public_share: as in `shard`.
            aggregator: whose `input_share` it is.

        Returns:
            The state for `verify_next` (the encoded output share, and the joint randomness's seed as far
            as it can be known yet), and the encoded verifier share for the other aggregators.

        Raises:
            InvalidShareError: nonce or shares do not decode.
            VerificationError: the test point reveals too much, which happens once in 2^32 at most.
        """
        require_length("nonce", nonce, NONCE_SIZE)
        require_length("public share", public_share, self.public_share_bytes)
        # `expand_input_share`: shares of the measurement and of the proofs, and the blind.
        measurement, proofs, blind = self._expand_input_share(context, aggregator, input_share)

        seed = part = b""
        joint_randomness: list[int] = []
        if self.has_joint_randomness:
            # The joint randomness: this aggregator's part computed, the others' from the public share.
            part = self._joint_randomness_part(
                context, aggregator, blind, self.field.encode(measurement), nonce
            )
            parts = [public_share[at : at + SEED_SIZE] for at in range(0, len(public_share), SEED_SIZE)]
            parts[aggregator] = part
            seed = self._joint_randomness_seed(context, parts)
            joint_randomness = self._joint_randomness(context, seed)

        # Query measurement and proof shares (`query_rands`, `flp.query`), one proof after the other.
        query_randomness = self._elements(
            QUERY_RANDOMNESS,
            context,
            verify_key,
            bytes([self.proofs]) + nonce,
            self.flp.query_randomness_length * self.proofs,
        )
        verifiers: list[int] = []
        for proof in range(self.proofs):
            verifiers += self.flp.query(
                measurement,
                _part(proofs, proof, self.proofs),
                _part(query_randomness, proof, self.proofs),
                _part(joint_randomness, proof, self.proofs),
                self.shares,
            )
        # State: output share and corrected seed. Verifier share: those of all proofs, and the part.
        out_share = self.field.encode(self.circuit.truncate(measurement))
        return out_share + seed, self.field.encode(verifiers) + part

    def verifier_shares_to_message(self, context: bytes, verifier_shares: Sequence[bytes]) -> bytes:
        """The joint message of all verifier shares of one report, in the order of the aggregators.

        Raises:
            InvalidShareError: a share does not decode.
            VerificationError: the measurement is not valid.
        """
        if len(verifier_shares) != self.shares:
            raise InvalidShareError(f"verifier shares: must be {self.shares}, not {len(verifier_shares)}")
        # Unshard: add the verifier shares up.
        elements = self.flp.verifier_length * self.proofs
        total = [0] * elements
        parts = []
        for encoded in verifier_shares:
            verifiers, part = self._without_seed(encoded)
            total = self.field.add(total, self.field.decode(verifiers, elements, "verifier share"))
            parts.append(part)
        # Decide: every proof is well-formed, and the measurement is valid.
        if not all(self.flp.decide(_part(total, proof, self.proofs)) for proof in range(self.proofs)):
            raise VerificationError(INVALID_MEASUREMENT)
        # The message is the true seed of the joint randomness, from the parts that aggregators computed.
        return self._joint_randomness_seed(context, parts) if self.has_joint_randomness else b""

    def verify_next(self, state: bytes, verifier_message: bytes) -> bytes:
        """The encoded output share, once the message is known.

        Raises:
            InvalidShareError: state or message does not decode.
            VerificationError: the client's public share claimed other joint randomness.
        """
        require_length("state", state, self.out_share_bytes + self._seed_bytes)
        require_length("verifier message", verifier_message, self.verifier_message_bytes)
        # The joint randomness that the aggregators computed must be the one that the client used.
        out_share, seed = self._without_seed(state)
        if seed != verifier_message:
            raise VerificationError(OTHER_RANDOMNESS)
        return out_share

    def require_parts_of_all(self, public_share: bytes, verifier_shares: Sequence[bytes]) -> None:
        """Refuse a report whose public share some aggregator would refuse in `verify_next`.

        In the draft, each aggregator compares the parts of the joint randomness that are not its own, as the
        public share states them. The holder of all verifier shares can compare all parts: then no aggregator
        refuses later.

        Args:
            public_share: of the length that `verify_init` takes.
            verifier_shares: of all aggregators in their order, the same that `verifier_shares_to_message`
                took.

        Raises:
            VerificationError: the client's public share claimed other joint randomness.
        """
        if public_share != b"".join(self._without_seed(share)[1] for share in verifier_shares):
            raise VerificationError(OTHER_RANDOMNESS)

    # Aggregation and unsharding (sections 7.2.4, 7.2.5) -------------------------

    def aggregate(self, shares: Iterable[bytes]) -> bytes:
        """The encoded sum of output or aggregate shares. InvalidShareError for one that does not decode.

        The draft's `agg_init`, `agg_update` and `merge`.
        """
        total = [0] * self.circuit.output_length
        for share in shares:
            total = self.field.add(
                total, self.field.decode(share, self.circuit.output_length, "aggregate share")
            )
        return self.field.encode(total)

    def unshard(self, aggregate_shares: Sequence[bytes]) -> tuple[int, ...]:
        """The aggregate result, from the aggregate shares of all aggregators; one number for Count and Sum.

        A result is exact if it is below the field's modulus, some 2^64 for Count and Sum, 2^128 otherwise:
        that of at most `largest_batch` reports is.

        Raises:
            InvalidShareError: not one share from every aggregator, or one that does not decode.
        """
        if len(aggregate_shares) != self.shares:
            raise InvalidShareError(f"aggregate shares: must be {self.shares}, not {len(aggregate_shares)}")
        # `merge`, then `decode`: the sum of the aggregate shares, element by element.
        total = self.aggregate(aggregate_shares)
        return tuple(self.field.decode(total, self.circuit.output_length, "aggregate share"))

    # Auxiliary functions (section 7.2.6) ----------------------------------------

    def _tag(self, usage: int, context: bytes) -> bytes:
        return xof.domain_separation_tag(self.identifier, usage, context)

    def _elements(self, usage: int, context: bytes, seed: bytes, binder: bytes, length: int) -> list[int]:
        return xof.expand_into_vec(self.field, seed, self._tag(usage, context), binder, length)

    def _helper_measurement_share(self, context: bytes, helper: int, seed: bytes) -> list[int]:
        # `helper_meas_share`
        length = self.circuit.measurement_length
        return self._elements(MEASUREMENT_SHARE, context, seed, bytes([helper]), length)

    def _helper_proofs_share(self, context: bytes, helper: int, seed: bytes) -> list[int]:
        # `helper_proofs_share`
        length = self.flp.proof_length * self.proofs
        return self._elements(PROOF_SHARE, context, seed, bytes([self.proofs, helper]), length)

    def _expand_input_share(
        self, context: bytes, aggregator: int, input_share: bytes
    ) -> tuple[list[int], list[int], bytes]:
        """Shares of the measurement and of the proofs, and the blind (`expand_input_share`)."""
        require_length("input share", input_share, self.input_share_bytes(aggregator))
        share, blind = self._without_seed(input_share)
        if aggregator > 0:
            return (
                self._helper_measurement_share(context, aggregator, share),
                self._helper_proofs_share(context, aggregator, share),
                blind,
            )
        length = self.circuit.measurement_length
        elements = self.field.decode(share, length + self.flp.proof_length * self.proofs, "input share")
        return elements[:length], elements[length:], blind

    def _without_seed(self, encoded: bytes) -> tuple[bytes, bytes]:
        """The prefix of the blind, part or seed of joint randomness, and that value (empty without)."""
        at = len(encoded) - self._seed_bytes
        return encoded[:at], encoded[at:]

    def _joint_randomness_part(
        self, context: bytes, aggregator: int, blind: bytes, measurement_share: bytes, nonce: bytes
    ) -> bytes:
        # `joint_rand_part`
        binder = bytes([aggregator]) + nonce + measurement_share
        return xof.derive_seed(blind, self._tag(JOINT_RANDOMNESS_PART, context), binder)

    def _joint_randomness_seed(self, context: bytes, parts: Sequence[bytes]) -> bytes:
        # `joint_rand_seed`
        tag = self._tag(JOINT_RANDOMNESS_SEED, context)
        return xof.derive_seed(bytes(SEED_SIZE), tag, b"".join(parts))

    def _joint_randomness(self, context: bytes, seed: bytes) -> list[int]:
        # `joint_rands`
        length = self.circuit.joint_randomness_length * self.proofs
        return self._elements(JOINT_RANDOMNESS, context, seed, bytes([self.proofs]), length)


class Prio3Count(Prio3[int]):
    """Measurements are 0 or 1; the result is how many were 1 (section 7.4.1)."""

    def __init__(self, *, shares: int = 2) -> None:
        super().__init__(1, CountCircuit(FIELD64), shares=shares)


class Prio3Sum(Prio3[int]):
    """Measurements are integers from 0 to `max_measurement`; the result is their sum (section 7.4.2)."""

    def __init__(self, max_measurement: int, *, shares: int = 2) -> None:
        super().__init__(2, SumCircuit(FIELD64, max_measurement), shares=shares)


class Prio3SumVec(Prio3[Sequence[int]]):
    """Measurements are `length` integers from 0 to `max_measurement`; the result is their sum (7.4.3).

    Proofs are shortest for a `chunk_length` about the square root of `length` times the bits of
    `max_measurement`.
    """

    def __init__(self, length: int, max_measurement: int, chunk_length: int, *, shares: int = 2) -> None:
        super().__init__(3, SumVecCircuit(FIELD128, length, max_measurement, chunk_length), shares=shares)


class Prio3Histogram(Prio3[int]):
    """Measurements are an index below `length`; the result is how many had each (section 7.4.4)."""

    def __init__(self, length: int, chunk_length: int, *, shares: int = 2) -> None:
        super().__init__(4, HistogramCircuit(FIELD128, length, chunk_length), shares=shares)


class Prio3MultihotCountVec(Prio3[Sequence[bool]]):
    """Measurements are `length` truth values, at most `max_weight` true; the result counts them (7.4.5)."""

    def __init__(self, length: int, max_weight: int, chunk_length: int, *, shares: int = 2) -> None:
        circuit = MultihotCountVecCircuit(FIELD128, length, max_weight, chunk_length)
        super().__init__(5, circuit, shares=shares)


class Prio3L1BoundSum(Prio3[Sequence[int]]):
    """Measurements are `length` integers that add up to at most `max_value`; the result is their sum
    (draft-ietf-ppm-l1-bound-sum-02, section 3)."""

    def __init__(self, length: int, max_value: int, chunk_length: int, *, shares: int = 2) -> None:
        super().__init__(7, L1BoundSumCircuit(FIELD128, length, max_value, chunk_length), shares=shares)


L2_BOUND_SUM = 0xFFFF1002
"""Code point of `Prio3L2BoundSum`, of the range for private use (VDAF draft 20, section 10)."""


class Prio3L2BoundSum(Prio3[Sequence[int]]):
    """Measurements are `length` integers from 0 to 2·`offset`, whose squared distances from `offset` add up
    to at most `max_squares`; the result is their sum. No draft defines it; SAA section 4.5 asks for it."""

    def __init__(
        self, length: int, offset: int, max_squares: int, chunk_length: int, *, shares: int = 2
    ) -> None:
        circuit = L2BoundSumCircuit(FIELD128, length, offset, max_squares, chunk_length)
        super().__init__(L2_BOUND_SUM, circuit, shares=shares)


def _part(elements: Sequence[int], index: int, parts: int) -> Sequence[int]:
    """One of `parts` equal parts of a vector: what belongs to one proof."""
    length = len(elements) // parts
    return elements[index * length : (index + 1) * length]
