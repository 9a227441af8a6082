"""The differences between results, and whether they are more than noise."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from panprivacy.statistics.intervals.estimate import Interval


@dataclass(frozen=True)
class Difference:
    """For two results: the later one minus the first one.

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


def joint_difference(
    before: Sequence[float], after: Sequence[float], before_interval: Interval, after_interval: Interval
) -> Difference:
    """The difference of two lists of values whose intervals hold at once: it holds with them, at their level,
    from the ends of both. So do all differences of any two of several lists, however many are read.

    A shorter interval, by the sum of squares as for normal errors, rarely holds if few devices have the
    event.

    Args:
        before, after: estimates, the same number of each.
        before_interval, after_interval: intervals that hold all true values together, at one level.

    Raises:
        ValueError: the results have different numbers of values, or the intervals different levels.
    """
    if len(before) != len(after) or before_interval.level != after_interval.level:
        raise ValueError("both results need as many values, and intervals of one level")
    old, new = before_interval, after_interval
    return Difference(
        values=tuple(late - early for early, late in zip(before, after, strict=True)),
        interval=Interval(
            level=new.level,
            low=_less(new.low, old.high),
            high=_less(new.high, old.low),
        ),
    )


def widening(failure: float, values: int, among: int) -> float:
    """The factor of `widened`, for results that are missed with probability `failure`; at least 1.

    Args:
        values: numbers of each result.
        among: m, at least 2.
    """
    each = failure / values
    return math.log(2 * each / among) / math.log(each)


def widened(values: Sequence[float], interval: Interval, among: int, *, step: float = 0.0) -> Interval:
    """The interval of a result at so high a level that m of them hold together with the level of two.

    From the level 1 − α, each result goes to 1 − 2α/m. With v values, each end moves away from its estimate
    by the factor ln(2α/(m·v)) / ln(α/v). No tail that is log-concave and symmetric about the estimate needs a
    larger one, and Laplace's needs just this. For the survival function of a log-concave density is
    log-concave (Bagnoli & Bergstrom 2005, theorem 3). Normal errors would need less. An interval by exact
    tests of few devices is not of this form, and for it the factor is not proved. But enumeration for 20 to
    400 devices and up to 400 results finds none that is missed more often than stated. For two results
    nothing is widened, and nothing is assumed.

    Args:
        values: estimates.
        interval: theirs, together, at a level above 1/2.
        among: m, at least 2.
        step: the distance between possible true values: an end may be this much closer than what its test
            refused. 0 if true values are any numbers.
    """
    if among <= 2:
        return interval
    failure = 1 - interval.level
    factor = widening(failure, len(values), among)
    return Interval(
        level=1 - 2 * failure / among,
        low=tuple(
            None if low is None else min(value + factor * (low - step - value), low)
            for value, low in zip(values, interval.low, strict=True)
        ),
        high=tuple(
            None if high is None else max(value + factor * (high + step - value), high)
            for value, high in zip(values, interval.high, strict=True)
        ),
    )


def _less(ends: Sequence[float | None], others: Sequence[float | None]) -> tuple[float | None, ...]:
    return tuple(
        None if end is None or other is None else end - other for end, other in zip(ends, others, strict=True)
    )
