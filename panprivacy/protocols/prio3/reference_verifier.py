"""Verification as the draft defines it, one report after the other. `verifier` is tested equal to it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ParamSpec, TypeVar

from panprivacy.formats.errors import FieldError
from panprivacy.protocols.prio3 import ping_pong
from panprivacy.protocols.prio3.interface import (
    InvalidShareError,
    Rejected,
    ReportInput,
    Transition,
    VerificationError,
    Verifier,
)
from panprivacy.protocols.prio3.prio3 import VERIFY_KEY_SIZE, Prio3

ContextOf = Callable[[bytes], bytes]
"""The context of a report, from its nonce."""

LEADER, HELPER = 0, 1

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def require_two_shares(vdaf: Prio3[Any], verify_key: bytes) -> None:
    """FieldError for a VDAF that is not between a leader and one helper, or a key of another length."""
    if vdaf.shares != 2:
        raise FieldError("shares", f"must be 2 for a leader and a helper, not {vdaf.shares}")
    if len(verify_key) != VERIFY_KEY_SIZE:
        raise FieldError("verify_key", f"must be {VERIFY_KEY_SIZE} bytes, not {len(verify_key)}")


def require_as_many(reports: Sequence[object], inbound: Sequence[bytes]) -> None:
    """FieldError unless there is one message for each report."""
    if len(reports) != len(inbound):
        raise FieldError(
            "inbound", f"must be {len(reports)} messages, one for each report, not {len(inbound)}"
        )


class ReferenceVerifier(Verifier):
    """Leader and helper of a Prio3 variant of two shares, exactly as in section 5.7.1, with one exception.
    The helper also refuses what it knows that the leader will refuse (`Verifier.helper_init`)."""

    def __init__(
        self, vdaf: Prio3[Any], verify_key: bytes, context: bytes, *, context_of: ContextOf | None = None
    ) -> None:
        """
        Args:
            vdaf: with two shares.
            verify_key: 32 bytes that leader and helper share and no client knows.
            context: of the application, for all reports.
            context_of: if given, the context of each report, in place of `context`.

        Raises:
            FieldError: not two shares, or a key of another length.
        """
        require_two_shares(vdaf, verify_key)
        self.vdaf = vdaf
        self._verify_key = verify_key
        self._context_of = context_of or (lambda _nonce: context)
        self.out_share_bytes = vdaf.out_share_bytes
        self.largest_batch = vdaf.largest_batch

    def leader_init(self, reports: Sequence[ReportInput]) -> list[Transition | Rejected]:
        return [outcome_of(self._leader_init, report) for report in reports]

    def helper_init(
        self, reports: Sequence[ReportInput], inbound: Sequence[bytes]
    ) -> list[Transition | Rejected]:
        require_as_many(reports, inbound)
        return [
            outcome_of(self._helper_init, report, message)
            for report, message in zip(reports, inbound, strict=True)
        ]

    def leader_finish(self, states: Sequence[bytes], inbound: Sequence[bytes]) -> list[bytes | Rejected]:
        require_as_many(states, inbound)
        return [
            outcome_of(self._leader_finish, state, message)
            for state, message in zip(states, inbound, strict=True)
        ]

    def aggregate(self, shares: Iterable[bytes]) -> bytes:
        return self.vdaf.aggregate(shares)

    def unshard(self, leader_share: bytes, helper_share: bytes, reports: int) -> tuple[int, ...]:
        self.require_exact(reports)
        return self.vdaf.unshard([leader_share, helper_share])

    def _verify_init(self, aggregator: int, report: ReportInput) -> tuple[bytes, bytes]:
        return self.vdaf.verify_init(
            self._verify_key,
            self._context_of(report.nonce),
            aggregator,
            report.nonce,
            report.public_share,
            report.input_share,
        )

    def _leader_init(self, report: ReportInput) -> Transition:
        # `ping_pong_leader_init` (section 5.7.1): verify_init, and the verifier share to the helper.
        state, verifier_share = self._verify_init(LEADER, report)
        return Transition(outbound=ping_pong.encode_initialize(verifier_share), state=state)

    def _helper_init(self, report: ReportInput, inbound: bytes) -> Transition:
        # `ping_pong_helper_init`: verify_init, and the leader's verifier share from its message.
        state, verifier_share = self._verify_init(HELPER, report)
        leader_share = ping_pong.decode_initialize(inbound)
        verifier_shares = [leader_share, verifier_share]
        # `ping_pong_transition`: verifier_shares_to_message, then verify_next; the message to the leader.
        message = self.vdaf.verifier_shares_to_message(self._context_of(report.nonce), verifier_shares)
        # Not in the draft: refuse here what the leader would refuse.
        self.vdaf.require_parts_of_all(report.public_share, verifier_shares)
        out_share = self.vdaf.verify_next(state, message)
        return Transition(outbound=ping_pong.encode_finish(message), out_share=out_share)

    def _leader_finish(self, state: bytes, inbound: bytes) -> bytes:
        # `ping_pong_leader_continued`, which for one round is verify_next with the helper's message.
        return self.vdaf.verify_next(state, ping_pong.decode_finish(inbound))


def outcome_of(
    step: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Result | Rejected:
    """What a step returns, or the named error with which it refuses a report."""
    try:
        return step(*args, **kwargs)
    except (InvalidShareError, VerificationError) as rejected:
        return rejected
