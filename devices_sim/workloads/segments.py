"""The segment of a simulated device: as a file says, or one that its name decides."""

import hashlib
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Any

from devices_sim.workloads.bucket import Bucket
from panprivacy.recipe import PublishedRecipe


@dataclass(frozen=True)
class Located:
    """A device's events and its segment; None for a device of none that is asked about."""

    steps: Set[int]
    segment: str | None


@dataclass(frozen=True)
class _Spread(Bucket[Located]):
    """The devices of a bucket, those without a segment spread evenly over all."""

    devices: Bucket[Set[int] | Located]
    segments: tuple[str, ...]
    seed: int | None

    def __iter__(self) -> Iterator[tuple[str, Located]]:
        for name, given in self.devices:
            yield name, given if isinstance(given, Located) else Located(given, self._segment(name))

    def _segment(self, name: str) -> str:
        digest = hashlib.blake2b(f"{self.seed}:{name}".encode(), digest_size=8, person=b"segment").digest()
        return self.segments[int.from_bytes(digest, "big") % len(self.segments)]


def in_segments(
    recipe: PublishedRecipe, buckets: Iterable[Bucket[Any]], seed: int | None
) -> Iterable[Bucket[Any]]:
    """The same devices, each with a segment where the recipe asks by segment.

    Args:
        seed: with the device's name it decides the segment of a device that has none yet. The same at every
            attempt, whatever the number of processes; None spreads by the names alone.
    """
    if not recipe.segments:
        return buckets
    return (_Spread(bucket, recipe.segments, seed) for bucket in buckets)
