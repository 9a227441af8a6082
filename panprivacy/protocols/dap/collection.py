"""Messages of collection: collector, leader and helper (DAP draft 18, sections 4.6 and 5)."""

from dataclasses import dataclass
from typing import Annotated

from panprivacy.formats.tls_messages import (
    UINT64,
    Code,
    FixedLength,
    InvalidMessageError,
    Message,
    NestedMessage,
    Opaque,
    Vector,
)
from panprivacy.protocols.dap.basics import (
    BATCH_ID_BYTES,
    CHECKSUM_BYTES,
    TASK_ID_BYTES,
    BatchMode,
    Extension,
    HpkeCiphertext,
    Interval,
    in_strict_order,
)
from panprivacy.protocols.dap.task import TaskConfiguration


class InvalidExtensionError(InvalidMessageError):
    """Extensions of a collection job out of order: DAP's `invalidExtension`, not `invalidMessage`."""


@dataclass(frozen=True)
class Query(Message):
    """Which batch the collector wants: an interval, or the next one of the leader's choice."""

    batch_mode: Annotated[BatchMode, Code(BatchMode)]
    config: Annotated[bytes, Opaque(2)] = b""

    def check(self) -> None:
        if self.batch_mode is BatchMode.TIME_INTERVAL:
            Interval.decode(self.config)
        elif self.config:
            raise self.refusal("config", "must be empty for batch mode leader_selected")

    @classmethod
    def of_interval(cls, interval: Interval) -> "Query":
        """The query for all reports of `interval`."""
        return cls(BatchMode.TIME_INTERVAL, interval.encode())

    @classmethod
    def of_next_batch(cls) -> "Query":
        """The query for the next batch that the leader selects."""
        return cls(BatchMode.LEADER_SELECTED)

    @property
    def interval(self) -> Interval:
        """The queried interval, of a query in mode time_interval."""
        return Interval.decode(self.config)


@dataclass(frozen=True)
class BatchSelector(Message):
    """Which batch the leader means: an interval, or a batch identifier."""

    batch_mode: Annotated[BatchMode, Code(BatchMode)]
    config: Annotated[bytes, Opaque(2)]

    def check(self) -> None:
        if self.batch_mode is BatchMode.TIME_INTERVAL:
            Interval.decode(self.config)
        elif len(self.config) != BATCH_ID_BYTES:
            raise self.refusal("config", f"must be a batch id of {BATCH_ID_BYTES} bytes")

    @classmethod
    def of_interval(cls, interval: Interval) -> "BatchSelector":
        """The selector of all reports of `interval`."""
        return cls(BatchMode.TIME_INTERVAL, interval.encode())

    @classmethod
    def of_batch(cls, batch_id: bytes) -> "BatchSelector":
        """The selector of one batch of the leader's (32 bytes)."""
        return cls(BatchMode.LEADER_SELECTED, batch_id)

    @property
    def interval(self) -> Interval:
        """The selected interval, of a selector in mode time_interval."""
        return Interval.decode(self.config)

    def is_consistent_with(self, query: Query) -> bool:
        """Whether it selects what `query` asks for: the same mode, and in mode time_interval nothing
        outside of the queried interval."""
        if self.batch_mode is not query.batch_mode:
            return False
        return self.batch_mode is BatchMode.LEADER_SELECTED or query.interval.encloses(self.interval)


@dataclass(frozen=True)
class CollectionJobReq(Message):
    """The request that creates a collection job. Extensions are strictly ascending by type; none is known
    (`require_known(request.extensions, set())`)."""

    query: Annotated[Query, NestedMessage(Query)]
    agg_param: Annotated[bytes, Opaque(4)] = b""
    extensions: Annotated[tuple[Extension, ...], Vector(Extension, 2)] = ()

    def check(self) -> None:
        if not in_strict_order(self.extensions):
            raise InvalidExtensionError(
                type(self).__name__, "extensions", "must be strictly ascending by type"
            )


@dataclass(frozen=True)
class CollectionJobResp(Message):
    """The message to the collector.

    Attributes:
        report_count: reports in the batch.
        interval: the smallest that holds the times of them all.
    """

    report_count: Annotated[int, UINT64]
    interval: Annotated[Interval, NestedMessage(Interval)]
    leader_encrypted_agg_share: Annotated[HpkeCiphertext, NestedMessage(HpkeCiphertext)]
    helper_encrypted_agg_share: Annotated[HpkeCiphertext, NestedMessage(HpkeCiphertext)]


@dataclass(frozen=True)
class AggregateShareReq(Message):
    """The leader's request for the helper's aggregate share.

    Attributes:
        collection_job_req: as the collector sent it.
        report_count, checksum: of the leader's reports in the batch; 32 bytes of XOR of SHA-256 of report
            identifiers.
    """

    collection_job_req: Annotated[CollectionJobReq, NestedMessage(CollectionJobReq)]
    batch_selector: Annotated[BatchSelector, NestedMessage(BatchSelector)]
    report_count: Annotated[int, UINT64]
    checksum: Annotated[bytes, FixedLength(CHECKSUM_BYTES)]


@dataclass(frozen=True)
class AggregateShare(Message):
    """The helper's aggregate share, sealed to the collector."""

    encrypted_aggregate_share: Annotated[HpkeCiphertext, NestedMessage(HpkeCiphertext)]


@dataclass(frozen=True)
class AggregateShareAad(Message):
    """Associated data of a sealed aggregate share."""

    task_id: Annotated[bytes, FixedLength(TASK_ID_BYTES)]
    task_configuration: Annotated[TaskConfiguration, NestedMessage(TaskConfiguration)]
    collection_job_req: Annotated[CollectionJobReq, NestedMessage(CollectionJobReq)]
