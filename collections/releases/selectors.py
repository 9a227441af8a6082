"""Reading results."""

from dataclasses import dataclass
from statistics import NormalDist

from releases.models import Release

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """Confidence interval of every value, by normal approximation.

    Attributes:
        level: share of repeats whose interval covers the truth.
        low, high: one bound per value.
    """

    level: float
    low: list[float]
    high: list[float]


def interval_of(release: Release, level: float = LEVEL) -> Interval:
    """The interval at `level` (between 0 and 1) around the unbiased estimates of a release."""
    factor = NormalDist().inv_cdf((1 + level) / 2)
    pairs = list(zip(release.values, release.standard_errors, strict=True))
    return Interval(
        level,
        [value - factor * error for value, error in pairs],
        [value + factor * error for value, error in pairs],
    )
