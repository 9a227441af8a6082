"""How far results lie apart: as they were estimated, and as shares where both are."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from panprivacy.difference import Difference, difference, widened
from panprivacy.estimate import Interval
from releases.models import Release
from releases.selectors import interval_of
from releases.shares import shares_of

COUNTED_BY = 1.0
"""A number of devices is a whole one."""


@dataclass(frozen=True)
class Change:
    """Of two results, the later less the earlier one.

    Attributes:
        estimates: in the statistic's unit. A count of devices also changes where more of them report.
        shares: of the devices that were asked, from −1 to 1; None where one of the results has no share with
            an interval.
    """

    estimates: Difference
    shares: Difference | None

    @property
    def told(self) -> Difference:
        """What tells whether something changed: the shares where there are any."""
        return self.estimates if self.shares is None else self.shares

    def members(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {**_members(self.estimates), "share": None if self.shares is None else _members(self.shares)}


def change_between(before: Release, after: Release, *, among: int = 2) -> Change | None:
    """How far two results of the same statistic lie apart; None where one has no interval, or where their
    levels differ.

    Args:
        among: how many results are compared. At the level that is stated, all differences of any two of them
            hold together (`panprivacy.difference`).
    """
    earlier, later = _ends(before, among), _ends(after, among)
    if earlier is None or later is None or earlier.level != later.level:
        return None
    return Change(
        estimates=difference(before.values, after.values, earlier, later, among=among),
        shares=_of_shares((before, earlier), (after, later), among),
    )


def joint_interval(release: Release, *, among: int) -> Interval | None:
    """The interval of a result, so wide that those of `among` results hold together at the level that one is
    stated with: each is missed with that part of its failure at most (Boole's inequality). None where the
    result has none. How it is widened, and what that assumes: `panprivacy.difference.widened`.
    """
    interval = interval_of(release)
    # That function leaves two results together at twice the failure of one.
    wider = _ends(release, 2 * among)
    return None if interval is None or wider is None else replace(wider, level=interval.level)


def _of_shares(
    before: tuple[Release, Interval], after: tuple[Release, Interval], among: int
) -> Difference | None:
    # No further level is needed: a share lies in its interval where its count does.
    earlier, later = _share(*before), _share(*after)
    if earlier is None or later is None:
        return None
    return difference(earlier[0], later[0], earlier[1], later[1], among=among)


def _share(release: Release, interval: Interval) -> tuple[list[float], Interval] | None:
    shares = shares_of(release.recipe, release)
    scaled = None if shares is None else shares.interval(interval)
    if shares is None or scaled is None:
        return None
    return [shares.share(value) for value in release.values], scaled


def _ends(release: Release, among: int) -> Interval | None:
    interval = interval_of(release)
    if interval is None:
        return None
    counts = release.recipe.published.calibrated_statistic.counts_devices
    return widened(release.values, interval, among, step=COUNTED_BY if counts else 0.0)


def _members(found: Difference) -> dict[str, Any]:
    return {
        "difference": list(found.values),
        "interval": asdict(found.interval),
        "more_than_noise": list(found.more_than_noise),
    }
