"""A workload is a sequence of buckets; a bucket holds complete devices and fits in memory."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from panprivacy.formats.errors import FieldError
from panprivacy.recipe.document import PublishedRecipe

DeviceData = TypeVar("DeviceData")
"""The input of one device: its events, or its value."""

Stream = tuple[str, Set[int]]
"""A device's name and its events: each is its time step (1..T), and `NAME_STRIDE` more for each name that the
recipe lists before the event's own."""

NAME_STRIDE = 1_000_000
"""More than any recipe has steps."""

Valued = tuple[str, str]
"""A device's name and its value, in the spelling of a file."""

DEVICE_NAME_LENGTH = 200


def require_device_name(name: str, line: int) -> None:
    """FieldError unless `name`, in column 1 of a line of a file, can be a device's."""
    if not name or len(name) > DEVICE_NAME_LENGTH or name.isspace():
        raise FieldError(
            "device", f"line {line}, column 1: must be a name of 1 to {DEVICE_NAME_LENGTH} characters"
        )


class Bucket(ABC, Generic[DeviceData]):
    """The unit of work of a fleet. Picklable, so that another process can iterate over it."""

    @abstractmethod
    def __iter__(self) -> Iterator[tuple[str, DeviceData]]:
        """Every device of the bucket once, with all its input; the same at each iteration."""


@dataclass(frozen=True)
class ListedBucket(Bucket[DeviceData]):
    """Devices that are in memory already."""

    devices: tuple[tuple[str, DeviceData], ...]

    def __iter__(self) -> Iterator[tuple[str, DeviceData]]:
        return iter(self.devices)


class Workload(ABC, Generic[DeviceData]):
    """Devices, and the input of each. Its `buckets` together hold every device exactly once."""

    buckets: Sequence[Bucket[DeviceData]]

    @abstractmethod
    def require_fits(self, recipe: PublishedRecipe) -> None:
        """FieldError if devices with this input cannot take part in the recipe."""

    def __iter__(self) -> Iterator[tuple[str, DeviceData]]:
        for bucket in self.buckets:
            yield from bucket


@dataclass(frozen=True)
class EventWorkload(Workload[Any]):
    """Devices with their events, in a `Stream`, or each also with a segment (`segments.SegmentedDevice`).

    Attributes:
        steps: number of time steps T; every event lies in 1..T.
    """

    steps: int
    buckets: Sequence[Bucket[Any]]

    def require_fits(self, recipe: PublishedRecipe) -> None:
        steps = recipe.parameters.step_count
        if self.steps > steps:
            raise FieldError(
                "steps", f"of the workload must be at most the recipe's {steps}, not {self.steps}"
            )


@dataclass(frozen=True)
class ValueWorkload(Workload[str]):
    """Devices with one value each."""

    buckets: Sequence[Bucket[str]]

    def require_fits(self, recipe: PublishedRecipe) -> None:
        if not recipe.calibrated_statistic.device_input.is_one_value:
            raise FieldError("trust", f"must be one under which devices have values, not {recipe.trust}")


@dataclass(frozen=True)
class _Rest(Bucket[DeviceData]):
    """A bucket without some of its devices."""

    bucket: Bucket[DeviceData]
    left_out: frozenset[str]

    def __iter__(self) -> Iterator[tuple[str, DeviceData]]:
        return (device for device in self.bucket if device[0] not in self.left_out)


def without(workload: Workload[Any], names: Set[str]) -> Workload[Any]:
    """The same workload without the devices of these names."""
    left_out, made = frozenset(names), copy.copy(workload)
    object.__setattr__(made, "buckets", tuple(_Rest(bucket, left_out) for bucket in workload.buckets))
    return made


BUCKET_DEVICES = 1_000
"""Devices per bucket if their number is known in advance: one full batch of reports."""


def listed(
    devices: Iterable[tuple[str, DeviceData]], size: int = BUCKET_DEVICES
) -> tuple[ListedBucket[DeviceData], ...]:
    """Buckets of `size` devices in memory; every name must occur once."""
    every = tuple(devices)
    return tuple(ListedBucket(every[first : first + size]) for first in range(0, len(every), size))
