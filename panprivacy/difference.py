"""How far two results lie apart, and whether that is more than noise."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

from panprivacy.estimate import Interval


@dataclass(frozen=True)
class Difference:
    """Of two results, the later less the earlier one.

    Attributes:
        values: one per number of the statistic.
        interval: of all of them together.
    """

    values: tuple[float, ...]
    interval: Interval

    @property
    def more_than_noise(self) -> tuple[bool, ...]:
        """Of each value, whether its interval leaves out 0."""
        return tuple(
            (low is not None and low > 0) or (high is not None and high < 0)
            for low, high in zip(self.interval.low, self.interval.high, strict=True)
        )


def difference(
    before: Sequence[float],
    after: Sequence[float],
    before_interval: Interval,
    after_interval: Interval,
    *,
    among: int = 1,
) -> Difference:
    """The difference, between those of the ends of both intervals.

    It holds wherever both intervals do, so it fails at most as often as the two together: with intervals of
    95%, its level is 90%. This is proved for one difference; no independence is needed. A shorter interval,
    by the sum of squares as for normal errors, rarely holds where few devices have the event.

    Args:
        before, after: estimates, as many of each.
        before_interval, after_interval: where the truths lie, both at one level above 1/2.
        among: how many differences are looked at together. For more than one, intervals are widened as
            those of a normal distribution are under a union bound: not proved where tails are longer.

    Raises:
        ValueError: the results have different numbers of values, or the intervals different levels.
    """
    if len(before) != len(after) or before_interval.level != after_interval.level:
        raise ValueError("both results need as many values, and intervals of one level")
    wider = _wider(before_interval.level, len(after), among)
    earlier = _widened(before, before_interval, wider)
    later = _widened(after, after_interval, wider)
    found = joint_difference(before, after, earlier, later)
    return replace(
        found, interval=replace(found.interval, level=round(1 - 2 * (1 - before_interval.level), 12))
    )


def joint_difference(
    before: Sequence[float], after: Sequence[float], before_interval: Interval, after_interval: Interval
) -> Difference:
    """The difference of two lists of values whose intervals hold at once: it holds with them, at their level.

    Args:
        before, after: estimates, as many of each.
        before_interval, after_interval: where the truths of all of them lie together.
    """
    old, new = before_interval, after_interval
    return Difference(
        values=tuple(late - early for early, late in zip(before, after, strict=True)),
        interval=Interval(
            level=new.level,
            low=tuple(_less(end, other) for end, other in zip(new.low, old.high, strict=True)),
            high=tuple(_less(end, other) for end, other in zip(new.high, old.low, strict=True)),
        ),
    )


def _widened(values: Sequence[float], interval: Interval, factor: float) -> Interval:
    """The same with both ends of each value's interval so many times as far from it."""
    return replace(
        interval,
        low=tuple(
            None if low is None else min(value + factor * (low - value), low)
            for value, low in zip(values, interval.low, strict=True)
        ),
        high=tuple(
            None if high is None else max(value + factor * (high - value), high)
            for value, high in zip(values, interval.high, strict=True)
        ),
    )


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _wider(level: float, values: int, among: int) -> float:
    quantile = NormalDist().inv_cdf
    return quantile(1 - (1 - level) / (2 * values * among)) / quantile(1 - (1 - level) / (2 * values))
