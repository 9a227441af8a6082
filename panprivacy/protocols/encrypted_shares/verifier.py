"""What an aggregator does with pan-private reports: decrypt its parts, run Prio3Count on every coordinate.

The servers' side of LPP section 5: each decrypts what line 36 of Algorithm 6 returns to it; together they
verify the proofs, and add up the shares of the valid reports.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from panprivacy.encryption.interface import PrivateKey
from panprivacy.formats.errors import FieldError
from panprivacy.protocols.encrypted_shares.configuration import VDAF, open_part, part_bytes
from panprivacy.protocols.prio3 import ping_pong
from panprivacy.protocols.prio3.field import FIELD64
from panprivacy.protocols.prio3.interface import (
    InvalidShareError,
    Rejected,
    ReportInput,
    Transition,
    Verifier,
    require_length,
)
from panprivacy.protocols.prio3.reference_verifier import HELPER, LEADER, outcome_of, require_as_many
from panprivacy.protocols.prio3.verifier import Prio3Verifier

Item = TypeVar("Item")
Result = TypeVar("Result")


class PanPrivateVerifier(Verifier):
    """`PanPrivateCountVec` for one aggregator of one task.

    A report is rejected as a whole if any of its coordinates is. A part that does not decrypt to an input
    share raises InvalidShareError, shares that do not add up to 0 or 1 VerificationError. All coordinates of
    a report are tested at one point. It is drawn as by a random oracle after the device has chosen them. An
    invalid one passes with a probability of some 2^−63, whatever the number of valid ones.

    State, verifier share and output share are those of Prio3Count, one coordinate after the other; the
    verifier message is empty. Decryption takes most of the time. It is done report by report, and ends at the
    first bad ciphertext of each; Prio3Count then runs once on everything that the batch holds.
    """

    def __init__(
        self, length: int, share_key: PrivateKey, side: int, verify_key: bytes, context: bytes
    ) -> None:
        """
        Args:
            length: number of sharings in a report, at least 1.
            share_key: this aggregator's, for its parts.
            side: 0 for the leader, 1 for the helper; the other's steps are refused.
            verify_key: 32 bytes that both share and no device knows.
            context: of the task, as in `SharedKey`.

        Raises:
            FieldError: `length`, `side` or `verify_key` is out of range.
        """
        if length < 1:
            raise FieldError("length", f"must be at least 1, not {length}")
        if side not in (LEADER, HELPER):
            raise FieldError(
                "side", f"must be {LEADER} for the leader or {HELPER} for the helper, not {side}"
            )
        self._length = length
        self._share_key = share_key
        self._side = side
        self._part_bytes = part_bytes(share_key.public_key, side)
        self._count = Prio3Verifier(VDAF, verify_key, context, context_of=lambda nonce: context + nonce)
        self.out_share_bytes = length * VDAF.out_share_bytes
        self.largest_batch = VDAF.largest_batch

    def leader_init(self, reports: Sequence[ReportInput]) -> list[Transition | Rejected]:
        self._require_side(LEADER)
        # LPP section 5: decrypt the leader's shares (c⁽¹⁾, p⁽¹⁾), then `verify_init` of each coordinate.
        opened = [outcome_of(self._coordinates, report) for report in reports]
        prepared = _by_coordinate(opened, self._count.leader_init)
        return [
            self._joined(one, ping_pong.decode_initialize, ping_pong.encode_initialize) for one in prepared
        ]

    def helper_init(
        self, reports: Sequence[ReportInput], inbound: Sequence[bytes]
    ) -> list[Transition | Rejected]:
        self._require_side(HELPER)
        require_as_many(reports, inbound)

        def count(items: Sequence[tuple[ReportInput, bytes]]) -> list[Transition | Rejected]:
            return self._count.helper_init([item[0] for item in items], [item[1] for item in items])

        # LPP section 5: decrypt (c⁽²⁾, p⁽²⁾), then decide each proof with the leader's verifier shares.
        pairs = zip(reports, inbound, strict=True)
        prepared = _by_coordinate((outcome_of(self._with_message, *pair) for pair in pairs), count)
        return [self._joined(one, ping_pong.decode_finish, ping_pong.encode_finish) for one in prepared]

    def leader_finish(self, states: Sequence[bytes], inbound: Sequence[bytes]) -> list[bytes | Rejected]:
        self._require_side(LEADER)
        require_as_many(states, inbound)

        def count(items: Sequence[tuple[bytes, bytes]]) -> list[bytes | Rejected]:
            return self._count.leader_finish([item[0] for item in items], [item[1] for item in items])

        # The leader's output share, once the helper has found the proofs valid.
        pairs = zip(states, inbound, strict=True)
        finished = _by_coordinate((outcome_of(self._states_with_message, *pair) for pair in pairs), count)
        return [b"".join(one) if isinstance(one, list) else one for one in finished]

    def aggregate(self, shares: Iterable[bytes]) -> bytes:
        # LPP section 5: each server adds its shares of the valid reports, coordinate by coordinate.
        total = [0] * self._length
        for share in shares:
            total = FIELD64.add(total, self._elements(share))
        return FIELD64.encode(total)

    def unshard(self, leader_share: bytes, helper_share: bytes, reports: int) -> tuple[int, ...]:
        self.require_exact(reports)
        # The sum of both servers' sums: the number of ones, which is then debiased.
        return tuple(FIELD64.add(self._elements(leader_share), self._elements(helper_share)))

    def _require_side(self, side: int) -> None:
        if side != self._side:
            raise ValueError("this step is the other aggregator's: its shares are under a key of its own")

    def _elements(self, share: bytes) -> list[int]:
        return FIELD64.decode(share, self._length, "output or aggregate share")

    def _coordinates(self, report: ReportInput) -> list[ReportInput]:
        """The input shares of the coordinates."""
        if report.public_share:
            raise InvalidShareError(f"public share: must be empty, not {len(report.public_share)} bytes")
        return [
            ReportInput(report.nonce, b"", open_part(self._share_key, part, self._side))
            for part in _cut(report.input_share, self._part_bytes, self._length, "input share")
        ]

    def _with_message(self, report: ReportInput, inbound: bytes) -> list[tuple[ReportInput, bytes]]:
        """The input shares, each with the leader's verifier share. The message is read first: it is cheap."""
        joined = ping_pong.decode_initialize(inbound)
        verifier_shares = _cut(joined, VDAF.verifier_share_bytes, self._length, "verifier share")
        messages = map(ping_pong.encode_initialize, verifier_shares)
        return list(zip(self._coordinates(report), messages, strict=True))

    def _states_with_message(self, state: bytes, inbound: bytes) -> list[tuple[bytes, bytes]]:
        message = ping_pong.decode_finish(inbound)
        if message:
            raise InvalidShareError(f"verifier message: must be empty, not {len(message)} bytes")
        # Prio3Count's state is its output share: it has no joint randomness to compare.
        states = _cut(state, VDAF.out_share_bytes, self._length, "state")
        return [(one, ping_pong.encode_finish(b"")) for one in states]

    def _joined(
        self,
        coordinates: list[Transition] | Rejected,
        decode: Callable[[bytes], bytes],
        encode: Callable[[bytes], bytes],
    ) -> Transition | Rejected:
        """What came of a report, from what came of its coordinates."""
        if not isinstance(coordinates, list):
            return coordinates
        return Transition(
            outbound=encode(b"".join(decode(one.outbound) for one in coordinates)),
            state=b"".join(one.state for one in coordinates),
            out_share=b"".join(one.out_share for one in coordinates),
        )


def _by_coordinate(
    reports: Iterable[list[Item] | Rejected], step: Callable[[Sequence[Item]], list[Result | Rejected]]
) -> list[list[Result] | Rejected]:
    """`step` on the coordinates of all reports at once; a report with a rejected coordinate is rejected."""
    opened = list(reports)
    results = iter(step([item for report in opened if isinstance(report, list) for item in report]))
    return [
        _all_or_rejected(list(itertools.islice(results, len(report)))) if isinstance(report, list) else report
        for report in opened
    ]


def _all_or_rejected(results: Sequence[Result | Rejected]) -> list[Result] | Rejected:
    good = []
    for result in results:
        if isinstance(result, Rejected):
            return result
        good.append(result)
    return good


def _cut(encoded: bytes, size: int, number: int, name: str) -> list[bytes]:
    """`number` pieces of `size` bytes; InvalidShareError that names `name` if the length is another."""
    require_length(name, encoded, size * number)
    return [encoded[at : at + size] for at in range(0, len(encoded), size)]
