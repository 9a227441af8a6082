"""Verification of batches: what `ReferenceVerifier` does, byte for byte, for many reports at once."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from panprivacy.protocols.prio3 import ping_pong
from panprivacy.protocols.prio3.batch_circuits import batch_circuit
from panprivacy.protocols.prio3.batch_field import BatchField, Booleans, Limbs
from panprivacy.protocols.prio3.batch_flp import BatchProof
from panprivacy.protocols.prio3.batch_turboshake import Bytes
from panprivacy.protocols.prio3.batch_xof import BatchXof, rows_of
from panprivacy.protocols.prio3.interface import (
    Rejected,
    ReportInput,
    Transition,
    VerificationError,
    Verifier,
)
from panprivacy.protocols.prio3.prio3 import (
    INVALID_MEASUREMENT,
    JOINT_RANDOMNESS,
    JOINT_RANDOMNESS_PART,
    JOINT_RANDOMNESS_SEED,
    MEASUREMENT_SHARE,
    NONCE_SIZE,
    OTHER_RANDOMNESS,
    PROOF_SHARE,
    QUERY_RANDOMNESS,
    Prio3,
)
from panprivacy.protocols.prio3.reference_verifier import (
    HELPER,
    LEADER,
    ContextOf,
    ReferenceVerifier,
    require_as_many,
)
from panprivacy.protocols.prio3.xof import SEED_SIZE

BATCH_REPORTS = 1024
"""Most reports that are computed together; more would be no faster per report."""

BATCH_ELEMENTS = 2**18
"""Most elements of input shares that are computed together, which bounds the memory: some 100 MB."""


@dataclass(frozen=True)
class _Views:
    """What one aggregator computes of N reports on its own.

    Attributes:
        verifiers: its verifier shares, small elements of shape (limbs, length, N).
        parts: of the joint randomness, N rows; empty rows without.
        out_shares: encoded, N rows.
        seeds: of the joint randomness as the public share would have it, N rows; empty rows without.
        usable: for which reports that is all there is to it. The rest is left to `ReferenceVerifier`.
    """

    verifiers: Limbs
    parts: Bytes
    out_shares: Bytes
    seeds: Bytes
    usable: Booleans


class Prio3Verifier(Verifier):
    """Leader and helper of a Prio3 variant of two shares, for batches.

    Reports that do not decode, or whose test point is refused, go to `ReferenceVerifier`, which names the
    fault.
    """

    def __init__(
        self, vdaf: Prio3[Any], verify_key: bytes, context: bytes, *, context_of: ContextOf | None = None
    ) -> None:
        """
        Args:
            vdaf: a variant of the draft, with two shares.
            verify_key: 32 bytes that leader and helper share and no client knows.
            context: of the application, for all reports.
            context_of: if given, the context of each report, in place of `context`; from its nonce, which may
                repeat within a batch.

        Raises:
            FieldError: not two shares, or a key of another length.
        """
        self._reference = ReferenceVerifier(vdaf, verify_key, context, context_of=context_of)
        elements = vdaf.circuit.measurement_length + vdaf.flp.proof_length * vdaf.proofs
        self._together = max(1, min(BATCH_REPORTS, BATCH_ELEMENTS // elements))
        self.vdaf = vdaf
        self.out_share_bytes = vdaf.out_share_bytes
        self.largest_batch = vdaf.largest_batch
        self._verify_key = verify_key
        self._context = context
        self._context_of = context_of
        self._field = BatchField(vdaf.field)
        self._circuit = batch_circuit(vdaf.circuit, self._field)
        self._proof = BatchProof(vdaf.flp, self._field, self._circuit)
        self._verifiers_bytes = vdaf.verifier_share_bytes - SEED_SIZE * vdaf.has_joint_randomness
        self._header = ping_pong.initialize_header(vdaf.verifier_share_bytes)
        self._lengths = [
            (NONCE_SIZE, vdaf.public_share_bytes, vdaf.input_share_bytes(side)) for side in (LEADER, HELPER)
        ]

    def leader_init(self, reports: Sequence[ReportInput]) -> list[Transition | Rejected]:
        outcomes: list[Transition | Rejected] = []
        for at in range(0, len(reports), self._together):
            outcomes += self._leader_init(reports[at : at + self._together])
        return outcomes

    def helper_init(
        self, reports: Sequence[ReportInput], inbound: Sequence[bytes]
    ) -> list[Transition | Rejected]:
        require_as_many(reports, inbound)
        outcomes: list[Transition | Rejected] = []
        for at in range(0, len(reports), self._together):
            outcomes += self._helper_init(
                reports[at : at + self._together], inbound[at : at + self._together]
            )
        return outcomes

    def leader_finish(self, states: Sequence[bytes], inbound: Sequence[bytes]) -> list[bytes | Rejected]:
        return self._reference.leader_finish(states, inbound)  # which compares 32 bytes, and computes nothing

    def aggregate(self, shares: Iterable[bytes]) -> bytes:
        total = bytes(self.out_share_bytes)
        batch: list[bytes] = []
        for share in shares:
            batch.append(share)
            if len(batch) == self._together:
                total = self._sum([total, *batch])
                batch = []
        return self._sum([total, *batch])

    def unshard(self, leader_share: bytes, helper_share: bytes, reports: int) -> tuple[int, ...]:
        return self._reference.unshard(leader_share, helper_share, reports)

    def _leader_init(self, reports: Sequence[ReportInput]) -> list[Transition | Rejected]:
        whole = self._whole(LEADER, reports)
        outcomes = self._leader_outcomes([reports[i] for i in whole]) if whole else []
        return _completed(
            len(reports), whole, outcomes, lambda i: self._reference.leader_init([reports[i]])[0]
        )

    def _helper_init(
        self, reports: Sequence[ReportInput], inbound: Sequence[bytes]
    ) -> list[Transition | Rejected]:
        header, size = self._header, len(self._header) + self.vdaf.verifier_share_bytes
        whole = [
            i
            for i in self._whole(HELPER, reports)
            if len(inbound[i]) == size and inbound[i].startswith(header)
        ]
        outcomes: Sequence[Transition | Rejected | None] = []
        if whole:
            leader_shares = rows_of([inbound[i] for i in whole])[:, len(header) :]
            outcomes = self._helper_outcomes([reports[i] for i in whole], leader_shares)
        return _completed(
            len(reports),
            whole,
            outcomes,
            lambda i: self._reference.helper_init([reports[i]], [inbound[i]])[0],
        )

    def _leader_outcomes(self, reports: Sequence[ReportInput]) -> list[Transition | Rejected | None]:
        """Of reports whose lengths are right; None for what `ReferenceVerifier` decides."""
        views = self._views(LEADER, reports, self._xof(reports))
        outbound = _cut(_headed(self._header, self._field.encode(views.verifiers), views.parts))
        states = _cut(np.hstack([views.out_shares, views.seeds]))
        outcomes: list[Transition | Rejected | None] = [
            Transition(outbound=message, state=state) for message, state in zip(outbound, states, strict=True)
        ]
        for row in np.flatnonzero(~views.usable):
            outcomes[row] = None
        return outcomes

    def _helper_outcomes(
        self, reports: Sequence[ReportInput], leader_shares: Bytes
    ) -> list[Transition | Rejected | None]:
        """As `_leader_outcomes`, given the leader's encoded verifier shares, a row for each report."""
        xof = self._xof(reports)
        views = self._views(HELPER, reports, xof)
        encoded, leader_parts = np.split(leader_shares, [self._verifiers_bytes], axis=1)
        verifiers = self._field.reduce(self._field.decode(encoded) + views.verifiers)
        valid = np.ones(len(reports), np.bool_)
        for verifier in np.split(verifiers, self.vdaf.proofs, axis=1):
            valid &= self._proof.decide(verifier)
        seeds = leader_parts
        if self.vdaf.has_joint_randomness:
            seeds = xof.seeds(JOINT_RANDOMNESS_SEED, bytes(SEED_SIZE), leader_parts, views.parts)
        # All parts of the public share, ours too: the leader compares ours when we have added up.
        claimed = rows_of([report.public_share for report in reports])
        agreed = (claimed == np.hstack([leader_parts, views.parts])).all(axis=1)
        usable = views.usable & self._field.are_elements(encoded)

        outbound = _cut(_headed(ping_pong.finish_header(self.vdaf.verifier_message_bytes), seeds))
        outcomes: list[Transition | Rejected | None] = [
            Transition(outbound=message, out_share=out_share)
            for message, out_share in zip(outbound, _cut(views.out_shares), strict=True)
        ]
        for row in np.flatnonzero(~agreed):
            outcomes[row] = VerificationError(OTHER_RANDOMNESS)
        for row in np.flatnonzero(~valid):
            outcomes[row] = VerificationError(INVALID_MEASUREMENT)
        for row in np.flatnonzero(~usable):
            outcomes[row] = None
        return outcomes

    def _views(self, aggregator: int, reports: Sequence[ReportInput], xof: BatchXof) -> _Views:
        """`verify_init` (section 7.2.2) of reports whose nonces and shares have their lengths."""
        vdaf, flp, field = self.vdaf, self.vdaf.flp, self._field
        proofs = bytes([vdaf.proofs])
        nonces = rows_of([report.nonce for report in reports])
        shares = rows_of([report.input_share for report in reports])
        encoded_measurement, encoded_proofs = self._expanded(aggregator, shares, xof)
        measurement = field.decode(encoded_measurement)

        parts = seeds = np.empty((len(reports), 0), np.uint8)
        joint_randomness = measurement[:, :0]
        if vdaf.has_joint_randomness:
            parts = xof.seeds(
                JOINT_RANDOMNESS_PART,
                shares[:, -SEED_SIZE:],
                bytes([aggregator]),
                nonces,
                encoded_measurement,
            )
            claimed = np.split(rows_of([report.public_share for report in reports]), vdaf.shares, axis=1)
            claimed[aggregator] = parts
            seeds = xof.seeds(JOINT_RANDOMNESS_SEED, bytes(SEED_SIZE), *claimed)
            joint_randomness = field.decode(
                xof.elements(
                    JOINT_RANDOMNESS, vdaf.circuit.joint_randomness_length * vdaf.proofs, seeds, proofs
                )
            )
        query_randomness = field.decode(
            xof.elements(
                QUERY_RANDOMNESS, flp.query_randomness_length * vdaf.proofs, self._verify_key, proofs, nonces
            )
        )

        usable = field.are_elements(encoded_measurement) & field.are_elements(encoded_proofs)
        verifiers = []
        for proof, query, joint in zip(
            np.split(field.decode(encoded_proofs), vdaf.proofs, axis=1),
            np.split(query_randomness, vdaf.proofs, axis=1),
            np.split(joint_randomness, vdaf.proofs, axis=1),
            strict=True,
        ):
            verifier, revealing = self._proof.query(measurement, proof, query, joint)
            verifiers.append(verifier)
            usable &= ~revealing
        truncation = self._circuit.truncation
        out_shares = (
            encoded_measurement[:, : self.out_share_bytes]
            if truncation is None
            else field.encode(truncation(measurement))
        )
        return _Views(np.concatenate(verifiers, axis=1), parts, out_shares, seeds, usable)

    def _expanded(self, aggregator: int, shares: Bytes, xof: BatchXof) -> tuple[Bytes, Bytes]:
        """Encoded shares of the measurements and of the proofs (`expand_input_share`, section 7.2.6)."""
        measurement_length = self.vdaf.circuit.measurement_length
        proofs_length = self.vdaf.flp.proof_length * self.vdaf.proofs
        if aggregator == LEADER:
            at = measurement_length * self._field.encoded_size
            end = at + proofs_length * self._field.encoded_size
            return shares[:, :at], shares[:, at:end]
        seeds, helper = shares[:, :SEED_SIZE], bytes([aggregator])
        return (
            xof.elements(MEASUREMENT_SHARE, measurement_length, seeds, helper),
            xof.elements(PROOF_SHARE, proofs_length, seeds, bytes([self.vdaf.proofs]), helper),
        )

    def _xof(self, reports: Sequence[ReportInput]) -> BatchXof:
        if self._context_of is None:
            return BatchXof(self.vdaf, self._field, self._context)
        return BatchXof(self.vdaf, self._field, [self._context_of(report.nonce) for report in reports])

    def _whole(self, aggregator: int, reports: Sequence[ReportInput]) -> Sequence[int]:
        """Those whose nonces and shares have their lengths, so that they fit into an array."""
        lengths = zip(
            map(len, [report.nonce for report in reports]),
            map(len, [report.public_share for report in reports]),
            map(len, [report.input_share for report in reports]),
            strict=True,
        )
        expected = self._lengths[aggregator]
        return [i for i, length in enumerate(lengths) if length == expected]

    def _sum(self, shares: Sequence[bytes]) -> bytes:
        """Of at most some thousand encoded output or aggregate shares."""
        if all(len(share) == self.out_share_bytes for share in shares):
            rows = rows_of(shares)
            if self._field.are_elements(rows).all():
                total = self._field.decode(rows).sum(axis=-1, keepdims=True)
                return self._field.encode(self._field.reduce(total)).tobytes()
        return self._reference.aggregate(shares)  # which names the share that does not decode


def _completed(
    count: int,
    rows: Sequence[int],
    outcomes: Sequence[Transition | Rejected | None],
    by_reference: Callable[[int], Transition | Rejected],
) -> list[Transition | Rejected]:
    """An outcome for each of `count` reports: what `rows` have of `outcomes`, `by_reference` for the rest."""
    complete: list[Transition | Rejected | None] = [None] * count
    for i, outcome in zip(rows, outcomes, strict=True):
        complete[i] = outcome
    return [by_reference(i) if outcome is None else outcome for i, outcome in enumerate(complete)]


def _headed(header: bytes, *parts: Bytes) -> Bytes:
    """Rows of all parts side by side, after one header for all."""
    return np.hstack([np.broadcast_to(np.frombuffer(header, np.uint8), (len(parts[0]), len(header))), *parts])


def _cut(rows: Bytes) -> list[bytes]:
    """The rows of an array, one string each."""
    width, joined = rows.shape[1], rows.tobytes()
    return [joined[at * width : (at + 1) * width] for at in range(len(rows))]
