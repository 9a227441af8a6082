"""What pages show of a release's numbers, which may be 100,000: taken once, so that no page loads all."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

MOST_SHOWN = 200
"""Estimates that a page shows; of more, the largest. The files have all."""


@dataclass(frozen=True, kw_only=True)
class Excerpt:
    """The largest estimates of a release, at most `MOST_SHOWN`, and what is said of all.

    Attributes:
        count: how many estimates the release has.
        any_below_zero: whether one of them all is negative.
        least_standard_error, largest_standard_error, least_error_bound, largest_error_bound: of them all;
            None where none is stated.
        positions: which estimates these are, in their order.
        values, standard_errors, projection, error_bounds: theirs; empty where the release has none.
        confidence, details: the release's own.
    """

    count: int
    any_below_zero: bool
    least_standard_error: float | None
    largest_standard_error: float | None
    least_error_bound: float | None
    largest_error_bound: float | None
    positions: list[int]
    values: list[float]
    standard_errors: list[float]
    projection: list[float]
    error_bounds: list[float]
    confidence: float | None = None
    details: dict[str, Any] | None = None


def excerpt_made(
    *,
    values: Sequence[float],
    standard_errors: Sequence[float],
    projection: Sequence[float],
    error_bounds: Sequence[float] | None,
) -> dict[str, Any]:
    """What a release stores for its pages, as plain values: an `Excerpt` without what stands beside it.

    Args:
        values: all estimates, at least one.
        standard_errors, projection, error_bounds: one for each estimate, or none at all.
    """
    positions = largest_positions(values, MOST_SHOWN)
    bounds = error_bounds or []
    excerpt = Excerpt(
        count=len(values),
        any_below_zero=min(values) < 0,
        least_standard_error=min(standard_errors, default=None),
        largest_standard_error=max(standard_errors, default=None),
        least_error_bound=min(bounds, default=None),
        largest_error_bound=max(bounds, default=None),
        positions=positions,
        values=_at(positions, values),
        standard_errors=_at(positions, standard_errors),
        projection=_at(positions, projection),
        error_bounds=_at(positions, bounds),
    )
    members = asdict(excerpt)
    del members["confidence"], members["details"]
    return members


def largest_positions(values: Sequence[float], most: int) -> list[int]:
    """The positions of the largest values, at most so many, in their order."""
    everyone = range(len(values))
    if len(values) <= most:
        return list(everyone)
    return sorted(sorted(everyone, key=lambda position: -values[position])[:most])


def _at(positions: Sequence[int], values: Sequence[float]) -> list[float]:
    return [values[position] for position in positions] if values else []
