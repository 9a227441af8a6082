"""The configuration that all participants of a task share (DAP draft 18, section 4.2)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from panprivacy.formats.tls_messages import UINT32, UINT64, Code, Message, Opaque, Url, Vector
from panprivacy.protocols.dap.basics import BatchMode, Extension, Interval, in_strict_order

TASK_INTERVAL = 1
"""Type of the task extension that bounds the time of reports."""

MOST_BATCH_SIZE = 10**12
"""Largest `min_batch_size` of a task that we take part in: more than there are people, and exact in JSON."""


@dataclass(frozen=True)
class TaskConfiguration(Message):
    """The public parameters of a task. Part of the associated data of every sealed share, so that no server
    can run a report under other parameters than its client knew.

    Attributes:
        task_info: 1 to 255 bytes that distinguish it from tasks with the same parameters.
        leader_aggregator_endpoint, helper_aggregator_endpoint: base URLs, ASCII.
        time_precision: unit of all times, in seconds (≥ 1).
        min_batch_size: fewest reports of a batch that is collected (≥ 1).
        batch_config: empty in both batch modes of the draft.
        vdaf_type: code point of the VDAF.
        vdaf_configuration: its parameters, encoded.
        extensions: strictly ascending by type; only `task_interval` is known.
    """

    task_info: Annotated[bytes, Opaque(1, minimum=1)]
    leader_aggregator_endpoint: Annotated[str, Url()]
    helper_aggregator_endpoint: Annotated[str, Url()]
    time_precision: Annotated[int, UINT64]
    min_batch_size: Annotated[int, UINT64]
    batch_mode: Annotated[BatchMode, Code(BatchMode)]
    batch_config: Annotated[bytes, Opaque(2)]
    vdaf_type: Annotated[int, UINT32]
    vdaf_configuration: Annotated[bytes, Opaque(2)]
    extensions: Annotated[tuple[Extension, ...], Vector(Extension, 2)] = ()

    def encode(self) -> bytes:
        """As in every message; computed once, because the associated data of each report contains it."""
        return self._encoded

    @cached_property
    def _encoded(self) -> bytes:
        return super().encode()

    def check(self) -> None:
        if self.time_precision < 1:
            raise self.refusal("time_precision", "must be at least 1 second")
        if self.min_batch_size < 1:
            raise self.refusal("min_batch_size", "must be at least 1 report")
        if self.batch_config:
            raise self.refusal("batch_config", f"must be empty for batch mode {self.batch_mode.name.lower()}")
        if not in_strict_order(self.extensions):
            raise self.refusal("extensions", "must be strictly ascending by type")
        for extension in self.extensions:
            # Extensions are mandatory to support: no party takes part in a task with an unknown one.
            if extension.extension_type != TASK_INTERVAL:
                raise self.refusal("extensions", f"must be known ones, not type {extension.extension_type}")
            Interval.decode(extension.extension_data)

    @property
    def task_interval(self) -> Interval | None:
        """The times that reports may have; None if any."""
        for extension in self.extensions:
            if extension.extension_type == TASK_INTERVAL:
                return Interval.decode(extension.extension_data)
        return None


def base_address(endpoint: str) -> str:
    """An aggregator's address without the slash in which other implementations of DAP end it.

    Resources have the same addresses with and without it. A task's configuration keeps it, because every
    share is sealed for its very bytes.
    """
    return endpoint.removesuffix("/")


def task_interval_extension(interval: Interval) -> Extension:
    """The extension that makes `interval` a task's `task_interval`."""
    return Extension(TASK_INTERVAL, interval.encode())
