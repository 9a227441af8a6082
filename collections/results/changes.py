"""The differences of results: in their own unit, and as shares if both have shares."""

from dataclasses import dataclass

from panprivacy.statistics.intervals.difference import Difference, joint_difference
from panprivacy.statistics.intervals.estimate import Interval
from results.models import Release
from results.parts import Shared, joint_part


@dataclass(frozen=True)
class Change:
    """Of two results, the later less the earlier one.

    Attributes:
        estimates: in the statistic's unit. A count of devices also changes if more of them report.
        shares: of the devices that were asked, or of those of the segment, from −1 to 1; None if one of the
            results has no share with an interval.
    """

    estimates: Difference
    shares: Difference | None

    @property
    def told(self) -> Difference:
        """The values that show whether something changed: the shares if there are any."""
        return self.estimates if self.shares is None else self.shares

    @property
    def values(self) -> tuple[float, ...]:
        return self.estimates.values

    @property
    def interval(self) -> Interval:
        return self.estimates.interval

    @property
    def more_than_noise(self) -> tuple[bool, ...]:
        return self.estimates.more_than_noise


def change_between(before: Release, after: Release, segment: str = "", *, among: int = 2) -> Change | None:
    """The difference between two results of the same statistic; None if one has no interval, or has no result
    for the segment, or if their levels differ.

    Args:
        segment: label of the one that is compared; empty for the whole population.
        among: how many results are compared. All differences of any two of them hold together at the level
            that one result is stated with, as their intervals do (`results.parts.joint_part`).
    """
    earlier, later = (joint_part(release, segment, among=among) for release in (before, after))
    if earlier is None or later is None or earlier.interval is None or later.interval is None:
        return None
    if earlier.interval.level != later.interval.level:
        return None
    return Change(
        estimates=joint_difference(earlier.values, later.values, earlier.interval, later.interval),
        shares=_of_shares(earlier.shares, later.shares),
    )


def _of_shares(earlier: Shared | None, later: Shared | None) -> Difference | None:
    if earlier is None or later is None:
        return None
    return joint_difference(earlier.values, later.values, earlier.interval, later.interval)
