"""What an aggregator does with a verifiable distributed aggregation function, in batches.

Leader and helper run one `Verifier` per task. Everything that goes in and comes out is encoded bytes, so
that it can be stored between two messages and read by another process. The order of calls is the
ping-pong topology's (VDAF draft 20, section 5.7.1) for a VDAF of one round.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


class InvalidShareError(ValueError):
    """An input share, public share or message that does not decode: DAP's `invalid_message`."""


def require_length(name: str, encoded: bytes, length: int) -> None:
    """InvalidShareError that names what has another length."""
    if len(encoded) != length:
        raise InvalidShareError(f"{name}: must be {length} bytes, not {len(encoded)}")


class VerificationError(ValueError):
    """Shares that decode, and do not add up to a valid measurement: DAP's `vdaf_verify_error`."""


class InexactSumError(ValueError):
    """A sum that is meaningless, because with this number of reports it may have wrapped round the field."""


Rejected = InvalidShareError | VerificationError
"""Returned, not raised, in the place of the result of one report of a batch."""


@dataclass(frozen=True)
class ReportInput:
    """What one aggregator has of one report.

    Attributes:
        nonce: 16 bytes; the report identifier.
        public_share, input_share: encoded.
    """

    nonce: bytes
    public_share: bytes
    input_share: bytes


@dataclass(frozen=True)
class Transition:
    """What came of one report.

    Attributes:
        outbound: ping-pong message for the other aggregator.
        state: the leader's state for `leader_finish`, to be stored; empty for the helper.
        out_share: the helper's encoded output share, all field elements; empty for the leader.
    """

    outbound: bytes
    state: bytes = b""
    out_share: bytes = b""


class Verifier(ABC):
    """One VDAF with its parameters, verification key and application context, for one task.

    Results stand in the order of the arguments, one for one; a report that is bad never fails another one.
    """

    out_share_bytes: int
    """Length of an encoded output share and of an encoded aggregate share."""

    largest_batch: int
    """The most reports whose sum cannot wrap round the field, whatever they measure."""

    @abstractmethod
    def leader_init(self, reports: Sequence[ReportInput]) -> list[Transition | Rejected]:
        """The leader's first step: `ping_pong_leader_init`."""

    @abstractmethod
    def helper_init(
        self, reports: Sequence[ReportInput], inbound: Sequence[bytes]
    ) -> list[Transition | Rejected]:
        """The helper's only step: `ping_pong_helper_init`, with the leader's `outbound` of each report.

        Beyond the draft, a report that the leader would refuse in `leader_finish` is refused here. The
        helper has added it up by then, and one report that only one side counts makes the sum of all
        others impossible to collect.
        """

    @abstractmethod
    def leader_finish(self, states: Sequence[bytes], inbound: Sequence[bytes]) -> list[bytes | Rejected]:
        """The leader's last step: `ping_pong_leader_continued`, to the encoded output shares."""

    @abstractmethod
    def aggregate(self, shares: Iterable[bytes]) -> bytes:
        """The sum of output or aggregate shares (none: the aggregate share of no reports). InvalidShareError
        for one that does not decode."""

    @abstractmethod
    def unshard(self, leader_share: bytes, helper_share: bytes, reports: int) -> tuple[int, ...]:
        """The aggregate result of `reports` reports; one number if the VDAF's result is a number.

        Raises:
            InvalidShareError: a share that does not decode.
            InexactSumError: as `require_exact`.
        """

    def require_exact(self, reports: int) -> None:
        """Raises InexactSumError if the sum of this number of reports could have wrapped round the field."""
        if reports > self.largest_batch:
            raise InexactSumError(
                f"a sum of more than {self.largest_batch:,} reports may have wrapped round the VDAF's field"
            )
