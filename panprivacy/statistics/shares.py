"""Counts of devices as shares of all that were asked, with their intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.intervals.estimate import Interval


@dataclass(frozen=True)
class Shares:
    """What a count of devices is a share of.

    Attributes:
        of: reports / the rate at which devices report: with a rate of 1 the devices that reported, otherwise
            an estimate of how many heard of the recipe.
        is_exact: whether the number of reports is published as it is, without noise.
        is_sampled: whether `of` is an estimate.
    """

    of: float
    is_exact: bool
    is_sampled: bool

    @classmethod
    def from_reports(cls, statistic: Statistic[Any], reports: int | None) -> Self | None:
        """Of the counts that this number of reports gave; None if the statistic does not count devices, or
        if their values decide which devices report, so that the reports do not show how many devices heard
        of the recipe."""
        lowest, highest = statistic.reporting_rates
        if not statistic.counts_devices or not reports or lowest != highest:
            return None
        return cls(
            of=reports / statistic.reporting_rate,
            is_exact=not statistic.noisy_count,
            is_sampled=statistic.reporting_rate < 1,
        )

    def share(self, devices: float) -> float:
        """A number of devices as a share; below 0 or above 1 if noise puts the estimate there."""
        return devices / self.of

    def interval(self, interval: Interval) -> Interval | None:
        """The interval of the shares, cut to 0..1, at the same level; None if it would not hold: the interval
        of a count does not allow for noise in what the count is divided by.

        The interval of a count has whole ends: values one device further were refused. If devices are
        sampled, a share times `of` is no whole number, so it may lie between the two, and the ends of the
        shares are one device further. Then the interval also allows for how many took part, which a share
        hardly depends on: it is wider than it had to be.
        """
        if not self.is_exact:
            return None
        further = 1.0 if self.is_sampled else 0.0
        return Interval(
            interval.level, self._ends(interval.low, -further), self._ends(interval.high, further)
        )

    def margin(self, devices: float) -> float:
        """How far the interval of a share reaches, if that of the count reaches so far."""
        return self.share(devices + (1.0 if self.is_sampled else 0.0))

    def _ends(self, ends: Sequence[float | None], by: float) -> tuple[float | None, ...]:
        return tuple(None if end is None else min(max(self.share(end + by), 0.0), 1.0) for end in ends)


def shares_document(
    shares: Shares | None, values: Sequence[float], interval: Interval | None
) -> Mapping[str, Any]:
    """The shares as fields of a release's document; all null if there are none."""
    if shares is None:
        return {"share_of": None, "share": None, "share_interval": None}
    scaled = None if interval is None else shares.interval(interval)
    return {
        "share_of": shares.of,
        "share": [shares.share(value) for value in values],
        "share_interval": scaled
        and {"level": scaled.level, "low": scaled.low, "high": scaled.high, "together": len(values)},
    }
