"""How far results lie apart: as they were estimated, and as shares where both are."""

from dataclasses import asdict, dataclass
from typing import Any

from panprivacy.difference import Difference, difference
from releases.models import Release
from releases.parts import Shared, part_of


@dataclass(frozen=True)
class Change:
    """Of two results, the later less the earlier one.

    Attributes:
        estimates: in the statistic's unit. A count of devices also changes where more of them report.
        shares: of the devices that were asked, or of those of the segment, from −1 to 1; None where one of
            the results has no share with an interval.
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


def change_between(before: Release, after: Release, segment: str = "", *, among: int = 2) -> Change | None:
    """How far two results of the same statistic lie apart; None where one has no interval, or tells nothing
    of the segment, or where their levels differ.

    Args:
        segment: label of the one that is compared; empty for everybody.
        among: how many results are compared. At the level that is stated, all differences of any two of them
            hold together (`panprivacy.difference`).
    """
    earlier, later = part_of(before, segment, among=among), part_of(after, segment, among=among)
    if earlier is None or later is None or earlier.interval is None or later.interval is None:
        return None
    if earlier.interval.level != later.interval.level:
        return None
    return Change(
        estimates=difference(earlier.values, later.values, earlier.interval, later.interval, among=among),
        shares=_of_shares(earlier.shares, later.shares, among),
    )


def _of_shares(earlier: Shared | None, later: Shared | None, among: int) -> Difference | None:
    if earlier is None or later is None:
        return None
    return difference(earlier.values, later.values, earlier.interval, later.interval, among=among)


def _members(found: Difference) -> dict[str, Any]:
    return {
        "difference": list(found.values),
        "interval": asdict(found.interval),
        "more_than_noise": list(found.more_than_noise),
    }
