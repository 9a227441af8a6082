"""The part of a result for the whole population or one segment, which is compared and followed over time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.intervals.difference import widened
from panprivacy.statistics.intervals.estimate import Interval
from results.excerpt import interval_of
from results.models import Release
from results.shares import shares_of

COUNTED_BY = 1.0
"""A number of devices is a whole one."""


@dataclass(frozen=True)
class Shared:
    """Counts of devices as shares of those that were asked, or of those of a segment, from 0 to 1."""

    values: tuple[float, ...]
    interval: Interval


@dataclass(frozen=True)
class Part:
    """The numbers of the whole population, or of one segment.

    Attributes:
        values: estimates, in the statistic's unit.
        interval: of all of them together; None if their distance from the truth is unknown.
        shares: at the level of `interval`; None if there are none, or their interval is not known.
    """

    values: tuple[float, ...]
    interval: Interval | None
    shares: Shared | None


def part_of(release: Release, segment: str = "", *, among: int = 2) -> Part | None:
    """The part of a released result; None if it has none for that segment.

    Args:
        segment: its label; empty for the whole population.
        among: number of results whose intervals hold together, at the level of those of two alone
            (`panprivacy.statistics.intervals.difference.widened`).
    """
    if segment:
        told = _told(release, segment)
        return _of_segment(told, among) if told is not None and told["shown"] else None
    interval = _widened(release, among)
    return Part(tuple(release.values), interval, _shares(release, interval))


def joint_part(release: Release, segment: str = "", *, among: int) -> Part | None:
    """The same, so that those of `among` results hold together at the level that one is stated with: each is
    missed with that part of its failure at most (Boole's inequality)."""
    own, wider = part_of(release, segment), part_of(release, segment, among=2 * among)
    if own is None or wider is None or own.interval is None or wider.interval is None:
        return own
    level = own.interval.level
    shares = wider.shares
    return Part(
        wider.values,
        replace(wider.interval, level=level),
        None if shares is None else replace(shares, interval=replace(shares.interval, level=level)),
    )


def exact_part(release: Release, segment: str = "", *, among: int, one_sided: bool = False) -> Part | None:
    """The same as `joint_part`, by exact tests at the level that it needs if the statistic has them: shorter,
    and nothing is assumed. Not for requests.

    Args:
        one_sided: whether the caller uses low ends only, or high ends only. All low ends then hold with the
            stated level, and so do all high ends: each exact test may miss with twice as much, if its two
            tails are exact.
    """
    part = joint_part(release, segment, among=among)
    if part is None or part.interval is None or release.reports is None:
        return part
    statistic, stated = release.recipe.published.calibrated_statistic, part.interval.level
    sides = 1 if one_sided and _has_exact_tails(statistic, segment, len(part.values)) else 2
    level = 1 - 2 * (1 - stated) / (sides * among)
    if not segment:
        interval = statistic.interval_at(level, part.values, release.reports)
        if interval is None:
            return part
        interval = replace(interval, level=stated)
        return Part(part.values, interval, _shares(release, interval))
    told = _told(release, segment)
    if told is None or statistic.segmentation is None or part.shares is None:
        return part
    bounds = statistic.segmentation.bounds_at(level, told["devices"], part.values, release.reports)
    shares = replace(part.shares, interval=_interval(stated, bounds.shares()))
    return Part(part.values, _interval(stated, bounds.answers), shares)


def hidden_reason(release: Release, segment: str) -> str:
    """Why a released result has nothing for the segment, as a clause; empty if it has."""
    told = _told(release, segment)
    if told is None:
        return "its recipe does not ask by this segment"
    return "" if told["shown"] else str(told["reason"])


def _has_exact_tails(statistic: Statistic[Any], segment: str, answers: int) -> bool:
    """Whether either end of each interval has half of what may fail.

    If devices are sampled, or their number is noisy, only both ends together are known to hold. A share's low
    end needs the low end of those with the answer and the high end of those without it. With two answers
    these are the two ends of one interval each.
    """
    certain = statistic.reporting_rate == 1 and not statistic.noisy_count
    return certain and not (segment and answers == 2)


def _told(release: Release, segment: str) -> Mapping[str, Any] | None:
    return next((told for told in release.segments or [] if told["label"] == segment), None)


def _widened(release: Release, among: int) -> Interval | None:
    interval = interval_of(release)
    if interval is None:
        return None
    counts = release.recipe.published.calibrated_statistic.counts_devices
    return widened(release.values, interval, among, step=COUNTED_BY if counts else 0.0)


def _shares(release: Release, interval: Interval | None) -> Shared | None:
    # No further level is needed: a share lies in its interval if its count does.
    shares = shares_of(release.recipe, release)
    scaled = None if shares is None or interval is None else shares.interval(interval)
    if shares is None or scaled is None:
        return None
    return Shared(tuple(shares.share(value) for value in release.values), scaled)


def _of_segment(told: Mapping[str, Any], among: int) -> Part:
    widest, answers = told["intervals"][0], told["answers"]
    # Each end fails more rarely than one of so few, as all segments were bounded at once: then it has to be
    # widened by less than it is.
    counts = _wider(answers, widest["level"], widest["answers"], among)
    sizes = _wider([told["devices"]], widest["level"], [widest["devices"]], among)
    shares = _interval(counts.level, widest["shares"])
    if among > 2:
        shares = _wider_shares(shares, counts, sizes)
    return Part(tuple(answers), counts, Shared(tuple(told["shares"]), shares))


def _wider(values: Sequence[float], level: float, ends: Sequence[Sequence[float]], among: int) -> Interval:
    return widened(values, _interval(level, ends), among, step=COUNTED_BY)


def _interval(level: float, ends: Sequence[Sequence[float]]) -> Interval:
    return Interval(level, tuple(low for low, _ in ends), tuple(high for _, high in ends))


def _wider_shares(shares: Interval, counts: Interval, sizes: Interval) -> Interval:
    """The range of a/d for a and d within their ends, and never a narrower range than before."""
    (least,), (most,) = sizes.low, sizes.high
    return Interval(
        counts.level,
        tuple(_least(own, _ratio(low, most)) for own, low in zip(shares.low, counts.low, strict=True)),
        tuple(_most(own, _ratio(high, least)) for own, high in zip(shares.high, counts.high, strict=True)),
    )


def _ratio(answers: float | None, devices: float | None) -> float | None:
    if answers is None or devices is None:
        return None
    return min(max(answers / devices, 0.0), 1.0) if devices > 0 else None


def _least(own: float | None, other: float | None) -> float:
    return 0.0 if own is None or other is None else min(own, other)


def _most(own: float | None, other: float | None) -> float:
    return 1.0 if own is None or other is None else max(own, other)
