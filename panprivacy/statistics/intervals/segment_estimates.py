"""The answer within each segment of a population: sizes, answers, shares, and how they differ.

All intervals of one level hold at once. The shares and their differences follow from them and hold with them,
so they need no further allowance.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from panprivacy.statistics.intervals.difference import joint_difference
from panprivacy.statistics.intervals.estimate import Interval

Ends = tuple[float, float]
"""Low and high."""


@dataclass(frozen=True)
class ExpectedSegments:
    """What to expect of each segment, for planning, if all have the same number of devices.

    Attributes:
        devices: of each segment, if all have as many.
        margin: how far the 95% interval of an answer within a segment will reach, approximately; for all
            together.
        margin_points: the same in percentage points of the segment.
        shown: whether each segment certainly has a cohort of its own: about `reports` certainly reach it.
        reports: of each segment, surely; below 0 if nothing is sure.
    """

    devices: float
    margin: float
    margin_points: float
    shown: bool
    reports: float


@dataclass(frozen=True, kw_only=True)
class SegmentBounds:
    """The intervals of one segment's numbers, which hold together with those of all others.

    Attributes:
        level: the probability, in advance of the collection, with which all of them hold.
        devices: of the segment.
        answers: those with each answer.
        others: those without each answer.
        sums: those with any of several answers, for each further set of answers that is bounded.
    """

    level: float
    devices: Ends
    answers: tuple[Ends, ...]
    others: tuple[Ends, ...]
    sums: tuple[Ends, ...] = ()

    def shares(self) -> tuple[Ends, ...]:
        """Of the segment's devices, those with each answer: the least and the largest that is possible."""
        return tuple(
            share_ends(answer, other, self.devices)
            for answer, other in zip(self.answers, self.others, strict=True)
        )


@dataclass(frozen=True, kw_only=True)
class SegmentCounts:
    """The estimates of one segment, for the decision whether it is shown.

    Attributes:
        devices: estimated number.
        answers: estimated number of devices with each answer.
        bounds: at each level, the widest first.
        derived: numbers that follow from the answers, at the widest level, as plain JSON.
    """

    label: str
    devices: float
    answers: tuple[float, ...]
    bounds: tuple[SegmentBounds, ...]
    derived: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, kw_only=True)
class SegmentInterval:
    """The intervals of a segment's true values; see `SegmentBounds`."""

    level: float
    devices: Ends
    answers: tuple[Ends, ...]
    shares: tuple[Ends, ...]


@dataclass(frozen=True, kw_only=True)
class SegmentDifference:
    """The shares of a segment less those of the first segment that is shown.

    Attributes:
        to: label of that first segment.
        level: of all intervals together.
        more_than_noise: of each answer, whether the interval leaves out 0.
    """

    to: str
    level: float
    shares: tuple[float, ...]
    intervals: tuple[Ends, ...]
    more_than_noise: tuple[bool, ...]


@dataclass(frozen=True, kw_only=True)
class SegmentEstimate:
    """One segment of a result.

    Attributes:
        shown: whether it certainly has a cohort of its own; only that is published of other segments.
        reason: why it is not shown, as a clause; otherwise empty.
        devices: estimated number of its devices in the population.
        answers, shares: one per answer: devices that have it, and their part of the segment's. Not
            restricted to what is possible.
        intervals: at each level, the widest first.
        difference: None of the first that is shown.
        derived: numbers that follow from the answers, as plain JSON, with intervals at the widest level.
    """

    label: str
    shown: bool
    reason: str = ""
    devices: float | None = None
    answers: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()
    intervals: tuple[SegmentInterval, ...] = ()
    difference: SegmentDifference | None = None
    derived: tuple[dict[str, Any], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def segments_shown(
    counted: Sequence[SegmentCounts], cohort_size: int, sampling_rate: float
) -> tuple[SegmentEstimate, ...]:
    """Every segment, in its order; a segment that may have fewer devices than a cohort appears by its label
    alone.

    A segment has a cohort if even the lower end of its widest interval, times the sampling rate, reaches
    the cohort size: then a cohort of its devices reported.
    """
    reason = f"it may have had fewer than {cohort_size:,} devices, the cohort size"
    first: SegmentCounts | None = None
    found = []
    for segment in counted:
        if segment.bounds[0].devices[0] * sampling_rate < cohort_size:
            found.append(SegmentEstimate(label=segment.label, shown=False, reason=reason))
            continue
        found.append(_shown(segment, first))
        first = first or segment
    return tuple(found)


def _shown(segment: SegmentCounts, first: SegmentCounts | None) -> SegmentEstimate:
    return SegmentEstimate(
        label=segment.label,
        shown=True,
        devices=segment.devices,
        answers=segment.answers,
        shares=_shares(segment),
        intervals=tuple(
            SegmentInterval(
                level=bounds.level, devices=bounds.devices, answers=bounds.answers, shares=bounds.shares()
            )
            for bounds in segment.bounds
        ),
        difference=None if first is None else _difference(first, segment),
        derived=segment.derived,
    )


def _difference(first: SegmentCounts, segment: SegmentCounts) -> SegmentDifference:
    found = joint_difference(
        _shares(first), _shares(segment), _interval(first.bounds[0]), _interval(segment.bounds[0])
    )
    return SegmentDifference(
        to=first.label,
        level=found.interval.level,
        shares=found.values,
        # A share's interval has two ends.
        intervals=tuple(zip(found.interval.low, found.interval.high, strict=True)),  # type: ignore[arg-type]  # two ends
        more_than_noise=found.more_than_noise,
    )


def _interval(bounds: SegmentBounds) -> Interval:
    ends = bounds.shares()
    return Interval(bounds.level, tuple(low for low, _ in ends), tuple(high for _, high in ends))


def _shares(segment: SegmentCounts) -> tuple[float, ...]:
    # A segment that is shown has devices, and so does its estimate, except for noise beyond all bounds.
    return tuple(answer / max(segment.devices, 1.0) for answer in segment.answers)


def share_ends(answer: Ends, other: Ends, devices: Ends) -> Ends:
    """The range of a/(a + b) for a, b and a + b within their ends; at least two ends are not 0.

    a/(a + b) grows with a and falls with b, and is a/d for d devices: either gives an end, and both hold.
    """
    low = max(_ratio(answer[0], answer[0] + other[1]), _ratio(answer[0], devices[1]))
    high = min(_ratio(answer[1], answer[1] + other[0]), _ratio(answer[1], devices[0]))
    return low, max(low, min(high, 1.0))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 1.0 if part else 0.0
