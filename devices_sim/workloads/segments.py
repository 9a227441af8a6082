"""The segment of a simulated device: from a file, or derived from its name."""

import bisect
import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

from devices_sim.workloads.bucket import Bucket
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Description
from panprivacy.recipe.document import PublishedRecipe

WEIGHT = Description(
    label="Sizes of the segments",
    help="Relative, one number for each segment in their order, such as 9 and 1. Equal if left out.",
    minimum=0,
    maximum=1e9,
)

DRAWN_BITS = 53
"""Of the digest of a device's name: as many as a float holds."""


@dataclass(frozen=True)
class SegmentedDevice:
    """A device's events and its segment; None for a device of none that is asked about."""

    steps: Set[int]
    segment: str | None


@dataclass(frozen=True)
class _Spread(Bucket[SegmentedDevice]):
    """The devices of a bucket, those without a segment spread over all by their weights."""

    devices: Bucket[Set[int] | SegmentedDevice]
    segments: tuple[str, ...]
    cumulative: tuple[float, ...]
    seed: int | None

    def __iter__(self) -> Iterator[tuple[str, SegmentedDevice]]:
        for name, device_data in self.devices:
            yield (
                name,
                device_data
                if isinstance(device_data, SegmentedDevice)
                else SegmentedDevice(device_data, self._segment(name)),
            )

    def _segment(self, name: str) -> str:
        digest = hashlib.blake2b(f"{self.seed}:{name}".encode(), digest_size=8, person=b"segment").digest()
        drawn = (int.from_bytes(digest, "big") >> (64 - DRAWN_BITS)) / 2**DRAWN_BITS
        total = self.cumulative[-1]
        # Those of weight 0 end where they begin, so nothing falls on them; also if the product is rounded.
        place = bisect.bisect_right(self.cumulative, drawn * total)
        return self.segments[min(place, bisect.bisect_left(self.cumulative, total))]


def checked_weights(field: str, values: object, segments: Sequence[str]) -> tuple[float, ...] | None:
    """Relative sizes of the segments, in their order; None if nothing is given.

    Args:
        field: named in refusals.
        values: a sequence of one number for each segment, from 0, not all 0; or None.

    Raises:
        FieldError: it is no such sequence, or there are no segments.
    """
    if values is None:
        return None
    if not segments:
        raise FieldError(field, "must be left out: the recipe has no segments")
    if not isinstance(values, Sequence) or isinstance(values, str) or len(values) != len(segments):
        raise FieldError(
            field, f"must be {len(segments)} numbers, one for each of the segments {', '.join(segments)}"
        )
    weights = tuple(WEIGHT.check(field, float, weight) for weight in values)
    if not any(weights):
        raise FieldError(field, "must not all be 0")
    return weights


def in_segments(
    recipe: PublishedRecipe,
    buckets: Iterable[Bucket[Any]],
    seed: int | None,
    weights: tuple[float, ...] | None = None,
) -> Iterable[Bucket[Any]]:
    """The same devices, each with a segment if the recipe asks by segment.

    Args:
        weights: by `checked_weights`; None spreads evenly.
        seed: with the device's name it decides the segment of a device that has none yet. The same at every
            attempt, whatever the number of processes; None spreads by the names alone.
    """
    if not recipe.segments:
        return buckets
    cumulative = tuple(itertools.accumulate(weights or [1.0] * len(recipe.segments)))
    return (_Spread(bucket, recipe.segments, cumulative, seed) for bucket in buckets)
