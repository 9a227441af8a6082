"""What pages show of a release's numbers, which may be 100,000: taken once, so that no page loads all."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from panprivacy.statistics.intervals.estimate import Interval
from results.models import NUMBERS, Release
from storage.columns import stored

MOST_SHOWN = 200
"""Estimates that a page shows; of more, the largest. The files have all."""


@dataclass(frozen=True, kw_only=True)
class Excerpt:
    """The largest estimates of a release, at most `MOST_SHOWN`, and summaries of all.

    Of coordinates of a vector they are those furthest from 0.

    Attributes:
        count: how many estimates the release has.
        any_below_zero: whether one of them all is negative.
        largest_standard_error, largest_error_bound: over all estimates; None if none is stated.
        least_margin, largest_margin: how far the widest intervals reach from their estimates, over all
            estimates; None if none is bounded on both sides.
        positions: which estimates these are, in their order.
        values, standard_errors, projection, error_bounds: theirs; empty if the release has none.
        intervals: theirs, each with `level`, `low` and `high`; the widest first.
        confidence, details: the release's own.
    """

    count: int
    any_below_zero: bool
    largest_standard_error: float | None
    largest_error_bound: float | None
    least_margin: float | None
    largest_margin: float | None
    positions: list[int]
    values: list[float]
    standard_errors: list[float]
    projection: list[float]
    error_bounds: list[float]
    intervals: list[dict[str, Any]]
    confidence: float | None = None
    details: dict[str, Any] | None = None


Numbers = Release | Excerpt
"""Estimates with what is known of their errors: all of a release, or those that its page shows."""


def excerpt_made(
    *,
    values: Sequence[float],
    standard_errors: Sequence[float],
    projection: Sequence[float],
    error_bounds: Sequence[float] | None,
    intervals: Sequence[Mapping[str, Any]] = (),
    coordinates: bool = False,
) -> dict[str, Any]:
    """What a release stores for its pages, as plain values: an `Excerpt` without the release's other columns.

    Args:
        values: all estimates, at least one.
        standard_errors, projection, error_bounds: one for each estimate, or none at all.
        intervals: with one end of either side for each estimate.
        coordinates: whether the estimates are those of one vector.
    """
    sizes = [abs(value) for value in values] if coordinates else values
    positions = largest_positions(sizes, MOST_SHOWN)
    bounds = error_bounds or []
    stated = [Interval.from_mapping(interval) for interval in intervals]
    margins = [reach for widest in stated[:1] for reach in widest.margins(values) if reach is not None]
    excerpt = Excerpt(
        count=len(values),
        any_below_zero=min(values) < 0,
        largest_standard_error=max(standard_errors, default=None),
        largest_error_bound=max(bounds, default=None),
        least_margin=min(margins, default=None),
        largest_margin=max(margins, default=None),
        positions=positions,
        values=_at(positions, values),
        standard_errors=_at(positions, standard_errors),
        projection=_at(positions, projection),
        error_bounds=_at(positions, bounds),
        intervals=[asdict(interval.at(positions)) for interval in stated],
    )
    members = asdict(excerpt)
    del members["confidence"], members["details"]
    return members


def release_excerpt(release: Release) -> dict[str, Any]:
    """`excerpt_made` of a release's own columns, as its recipe's statistic ranks estimates."""
    numbers = {name: getattr(release, name) for name in NUMBERS}
    coordinates = release.recipe.published.calibrated_statistic.coordinates
    return excerpt_made(**numbers, coordinates=coordinates)


def excerpt_of(release: Release) -> Excerpt:
    """What pages show of a released result."""
    return Excerpt(**stored(release.excerpt), confidence=release.confidence, details=release.details)


def intervals_of(numbers: Numbers) -> list[Interval]:
    """Intervals of the truths, at every level that is stated, the widest first; each of all values together.

    A reader of the largest of many has chosen it by its error, which an interval for a single estimate does
    not allow for: among many with the truth 0, the largest lies beyond its own.
    """
    return [Interval.from_mapping(interval) for interval in numbers.intervals]


def interval_of(numbers: Numbers) -> Interval | None:
    """The widest of `intervals_of`; None if the estimates' distance from the truth is unknown."""
    return next(iter(intervals_of(numbers)), None)


def verdict_of(numbers: Numbers) -> str:
    """The verdict of a test; empty if something is estimated."""
    return str((numbers.details or {}).get("verdict", ""))


def largest_positions(values: Sequence[float], most: int) -> list[int]:
    """The positions of the largest values, at most this many, in their order."""
    everyone = range(len(values))
    if len(values) <= most:
        return list(everyone)
    return sorted(sorted(everyone, key=lambda position: -values[position])[:most])


def _at(positions: Sequence[int], values: Sequence[float]) -> list[float]:
    return [values[position] for position in positions] if values else []
