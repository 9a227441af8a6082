"""A workload is a sequence of buckets; a bucket holds complete devices and fits in memory."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

Stream = tuple[str, Set[int]]
"""A device's name and the time steps (1..T) in which it has an event."""


class Bucket(ABC):
    """The unit of work of a fleet. Picklable, so that another process can iterate over it."""

    @abstractmethod
    def __iter__(self) -> Iterator[Stream]:
        """Every device of the bucket once, with all its events; the same at each iteration."""


@dataclass(frozen=True)
class ListedBucket(Bucket):
    """Devices that are in memory already."""

    streams: tuple[Stream, ...]

    def __iter__(self) -> Iterator[Stream]:
        return iter(self.streams)


@dataclass(frozen=True)
class Workload:
    """Devices with their events.

    Attributes:
        steps: number of time steps T; every event lies in 1..T.
        buckets: together they hold every device exactly once.
    """

    steps: int
    buckets: Sequence[Bucket]

    def __iter__(self) -> Iterator[Stream]:
        for bucket in self.buckets:
            yield from bucket


BUCKET_DEVICES = 1_000
"""Devices per bucket where their number is known beforehand: one full batch of reports."""


def listed(steps: int, streams: Iterable[Stream]) -> Workload:
    """A workload from devices in memory; every name must occur once."""
    every = tuple(streams)
    return Workload(
        steps,
        tuple(
            ListedBucket(every[first : first + BUCKET_DEVICES])
            for first in range(0, len(every), BUCKET_DEVICES)
        ),
    )
