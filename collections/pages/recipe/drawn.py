"""Results of one number each, on one axis."""

from collections.abc import Sequence
from dataclasses import dataclass

from panprivacy.estimate import Interval
from releases.models import Release
from releases.selectors import interval_of
from releases.shares import shares_of
from storage.columns import stored

PERCENT = "% of the devices asked"


@dataclass(frozen=True)
class Drawn:
    """One result on the axis; an end is None where nothing bounds it."""

    value: float
    low: float | None
    high: float | None

    @property
    def reach(self) -> tuple[float, float]:
        """From where to where its interval is drawn."""
        return (
            self.value if self.low is None else self.low,
            self.value if self.high is None else self.high,
        )


def drawn_together(
    results: Sequence[Release], intervals: Sequence[Interval] | None = None
) -> tuple[list[Drawn], str]:
    """Each result with its interval, and what the axis says: shares where each of them has one with an
    interval, else what was estimated, in the first one's unit.

    Args:
        results: at least one; each has one value, with an interval.
        intervals: one for each, where it is not to be the result's own.
    """
    own = [stored(interval_of(release)) for release in results] if intervals is None else intervals
    pairs = list(zip(results, own, strict=True))
    drawn = [_share(*pair) for pair in pairs]
    if None not in drawn:
        return [one for one in drawn if one is not None], PERCENT
    unit = results[0].recipe.published.calibrated_statistic.unit
    return [Drawn(release.values[0], ends.low[0], ends.high[0]) for release, ends in pairs], unit


def _share(release: Release, ends: Interval) -> Drawn | None:
    shares = shares_of(release.recipe, release)
    interval = None if shares is None else shares.interval(ends)
    if shares is None or interval is None:
        return None
    low, high = (None if end is None else 100 * end for end in (interval.low[0], interval.high[0]))
    return Drawn(100 * shares.share(release.values[0]), low, high)
