"""How long a report is: the parts of all reports of a task have one length, known while all are sealed."""

from dataclasses import dataclass
from functools import lru_cache

from panprivacy.protocols.dap.basics import HpkeCiphertext, Role
from panprivacy.protocols.dap.task import TaskConfiguration
from panprivacy.protocols.dap.upload import PlaintextInputShare, Report
from panprivacy.protocols.dap.vdafs import SIDES, pan_private_of, prio3_of
from panprivacy.protocols.encrypted_shares.configuration import IDENTIFIER

TAG_BYTES = 16
"""The bytes that sealing adds to a plaintext: the same for every AEAD of RFC 9180, section 7.3."""

MOST_ENCAPSULATED_BYTES = 2_048
"""Longest encapsulated key: RFC 9180 has 133 bytes at most, post-quantum KEMs some more than a thousand."""

MOST_EXTENSION_BYTES = 1_024
"""Private extensions of an input share, which another aggregator may know although we know none."""


@dataclass(frozen=True)
class ReportLengths:
    """Bytes of the shares of one report, encoded and not yet sealed."""

    public_share: int
    leader_share: int
    helper_share: int

    def fit(self, report: Report) -> bool:
        """Whether nothing of a report is shorter or longer than it can be."""
        return (
            len(report.public_share) == self.public_share
            and _fits(report.leader_encrypted_input_share, self.leader_share)
            and _fits(report.helper_encrypted_input_share, self.helper_share)
        )


@lru_cache(maxsize=256)
def report_lengths(configuration: TaskConfiguration) -> ReportLengths:
    """The lengths of every report of a task.

    Raises:
        UnsupportedVdafError, InvalidMessageError: as in `verifier_for`.
    """
    if configuration.vdaf_type == IDENTIFIER:
        pan_private = pan_private_of(configuration)
        return ReportLengths(0, *(pan_private.input_share_bytes(side) for side in _IN_ORDER))
    vdaf = prio3_of(configuration)
    return ReportLengths(vdaf.public_share_bytes, *(vdaf.input_share_bytes(side) for side in _IN_ORDER))


_IN_ORDER = (SIDES[Role.LEADER], SIDES[Role.HELPER])

_FRAME_BYTES = len(PlaintextInputShare((), b"x").encode()) - 1
"""The bytes around the payload of an input share without extensions."""


def _fits(sealed: HpkeCiphertext, share: int) -> bool:
    least = share + _FRAME_BYTES + TAG_BYTES
    return (
        len(sealed.enc) <= MOST_ENCAPSULATED_BYTES
        and least <= len(sealed.payload) <= least + MOST_EXTENSION_BYTES
    )
