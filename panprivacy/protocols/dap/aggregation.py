"""Messages of aggregation jobs, between leader and helper (DAP draft 18, section 4.5)."""

from dataclasses import dataclass
from typing import Annotated

from panprivacy.formats.tls_messages import (
    UINT8,
    UINT16,
    Code,
    FixedLength,
    InvalidMessageError,
    Message,
    NestedMessage,
    Opaque,
    Rest,
    Select,
    Vector,
)
from panprivacy.protocols.dap.basics import (
    BATCH_ID_BYTES,
    REPORT_ID_BYTES,
    Extension,
    HpkeCiphertext,
    ReportError,
    in_strict_order,
    require_known,
)
from panprivacy.protocols.dap.upload import ReportMetadata

LEADER_SELECTED_BATCH_ID = 1
"""Type of the aggregation job extension that carries the batch identifier."""


@dataclass(frozen=True)
class ReportShare(Message):
    """The helper's half of a report."""

    report_metadata: Annotated[ReportMetadata, NestedMessage(ReportMetadata)]
    public_share: Annotated[bytes, Opaque(4)]
    encrypted_input_share: Annotated[HpkeCiphertext, NestedMessage(HpkeCiphertext)]


@dataclass(frozen=True)
class VerifyInit(Message):
    """The helper's half of a report, and the leader's first verification message."""

    report_share: Annotated[ReportShare, NestedMessage(ReportShare)]
    payload: Annotated[bytes, Opaque(4, minimum=1)]

    @property
    def report_id(self) -> bytes:
        """16 bytes."""
        return self.report_share.report_metadata.report_id


@dataclass(frozen=True)
class AggregationJobInitReq(Message):
    """The request that creates an aggregation job. Report identifiers are distinct, and extensions
    strictly ascending by type."""

    verification_key_id: Annotated[int, UINT8]
    agg_param: Annotated[bytes, Opaque(4)]
    extensions: Annotated[tuple[Extension, ...], Vector(Extension, 2)]
    verify_inits: Annotated[tuple[VerifyInit, ...], Rest(VerifyInit)]

    def check(self) -> None:
        if not in_strict_order(self.extensions):
            raise self.refusal("extensions", "must be strictly ascending by type")
        if len({init.report_id for init in self.verify_inits}) < len(self.verify_inits):
            raise self.refusal("verify_inits", "must have distinct report ids")

    def leader_selected_batch_id(self) -> bytes | None:
        """The batch identifier (32 bytes) that its extension carries; None if there is none.

        Raises:
            UnsupportedExtensionError: another extension is there.
            InvalidMessageError: not 32 bytes.
        """
        require_known(self.extensions, {LEADER_SELECTED_BATCH_ID})
        if not self.extensions:
            return None
        batch_id = self.extensions[0].extension_data
        if len(batch_id) != BATCH_ID_BYTES:
            raise self.refusal("extensions", f"must hold a batch id of {BATCH_ID_BYTES} bytes")
        return batch_id


def leader_selected_batch_id_extension(batch_id: bytes) -> Extension:
    """The extension with the batch (32 bytes) of a job's reports.

    Raises:
        InvalidMessageError: the batch id has another length.
    """
    if len(batch_id) != BATCH_ID_BYTES:
        raise InvalidMessageError("BatchID", "", f"must have {BATCH_ID_BYTES} bytes, not {len(batch_id)}")
    return Extension(LEADER_SELECTED_BATCH_ID, batch_id)


@dataclass(frozen=True)
class Continue(Message):
    """The helper's verification message."""

    payload: Annotated[bytes, Opaque(4, minimum=1)]


@dataclass(frozen=True)
class Finish(Message):
    """No further message. Never the answer to an initialization."""


@dataclass(frozen=True)
class Reject(Message):
    """The helper rejected the report."""

    report_error: Annotated[ReportError, Code(ReportError)]


@dataclass(frozen=True)
class VerifyResp(Message):
    """The helper's answer for one report."""

    report_id: Annotated[bytes, FixedLength(REPORT_ID_BYTES)]
    outcome: Annotated[Continue | Finish | Reject, Select({0: Continue, 1: Finish, 2: Reject})]


@dataclass(frozen=True)
class AggregationJobResp(Message):
    """The helper's answers, in the order of the request."""

    verify_resps: Annotated[tuple[VerifyResp, ...], Rest(VerifyResp)]


@dataclass(frozen=True)
class VerifyContinue(Message):
    """The leader's next verification message; no VDAF of ours has one."""

    report_id: Annotated[bytes, FixedLength(REPORT_ID_BYTES)]
    payload: Annotated[bytes, Opaque(4, minimum=1)]


@dataclass(frozen=True)
class AggregationJobContinueReq(Message):
    """The request that moves an aggregation job to `step` (≥ 1). Report identifiers are distinct."""

    step: Annotated[int, UINT16]
    verify_continues: Annotated[tuple[VerifyContinue, ...], Rest(VerifyContinue)]

    def check(self) -> None:
        if self.step < 1:
            raise self.refusal("step", "must be at least 1")
        if len({verify.report_id for verify in self.verify_continues}) < len(self.verify_continues):
            raise self.refusal("verify_continues", "must have distinct report ids")
