"""Messages between clients and aggregators (DAP draft 18, section 4.4)."""

from dataclasses import dataclass
from typing import Annotated

from panprivacy.formats.tls_messages import (
    UINT64,
    Code,
    FixedLength,
    Message,
    NestedMessage,
    Opaque,
    Rest,
    Vector,
)
from panprivacy.protocols.dap.basics import (
    REPORT_ID_BYTES,
    TASK_ID_BYTES,
    Extension,
    HpkeCiphertext,
    HpkeConfig,
    ReportError,
)
from panprivacy.protocols.dap.task import TaskConfiguration


@dataclass(frozen=True)
class HpkeConfigList(Message):
    """An aggregator's configurations, the preferred one first; at least one, and each with an `id` of
    its own."""

    configs: Annotated[tuple[HpkeConfig, ...], Vector(HpkeConfig, 2, minimum=10)]

    def check(self) -> None:
        if len({config.id for config in self.configs}) < len(self.configs):
            raise self.refusal("configs", "must have distinct ids")


@dataclass(frozen=True)
class ReportMetadata(Message):
    """The part of a report that both aggregators see.

    Attributes:
        report_id: 16 random bytes; the VDAF's nonce.
        time: when it was made, in units of the task's time precision.
        public_extensions: in any order here: an order that is not strictly ascending makes this one
            report invalid, not the request that carries it.
    """

    report_id: Annotated[bytes, FixedLength(REPORT_ID_BYTES)]
    time: Annotated[int, UINT64]
    public_extensions: Annotated[tuple[Extension, ...], Vector(Extension, 2)] = ()


@dataclass(frozen=True)
class Report(Message):
    """One report as a client uploads it."""

    report_metadata: Annotated[ReportMetadata, NestedMessage(ReportMetadata)]
    public_share: Annotated[bytes, Opaque(4)]
    leader_encrypted_input_share: Annotated[HpkeCiphertext, NestedMessage(HpkeCiphertext)]
    helper_encrypted_input_share: Annotated[HpkeCiphertext, NestedMessage(HpkeCiphertext)]


@dataclass(frozen=True)
class UploadRequest(Message):
    """Any number of reports of one task."""

    reports: Annotated[tuple[Report, ...], Rest(Report)]


@dataclass(frozen=True)
class ReportUploadStatus(Message):
    """A report that was not accepted."""

    id: Annotated[bytes, FixedLength(REPORT_ID_BYTES)]
    error: Annotated[ReportError, Code(ReportError)]


@dataclass(frozen=True)
class UploadErrors(Message):
    """The reports of a request that were not accepted, in the request's order."""

    status: Annotated[tuple[ReportUploadStatus, ...], Rest(ReportUploadStatus)]


@dataclass(frozen=True)
class PlaintextInputShare(Message):
    """The plaintext that is sealed to one aggregator. `private_extensions` may have any order here, as
    `ReportMetadata.public_extensions` do."""

    private_extensions: Annotated[tuple[Extension, ...], Vector(Extension, 2)]
    payload: Annotated[bytes, Opaque(4, minimum=1)]


@dataclass(frozen=True)
class InputShareAad(Message):
    """Associated data of a sealed input share."""

    task_id: Annotated[bytes, FixedLength(TASK_ID_BYTES)]
    task_configuration: Annotated[TaskConfiguration, NestedMessage(TaskConfiguration)]
    report_metadata: Annotated[ReportMetadata, NestedMessage(ReportMetadata)]
    public_share: Annotated[bytes, Opaque(4)]
