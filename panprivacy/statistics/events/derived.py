"""Numbers that follow from the cells of a regular question: shares, conversions, a median.

They are made of the intervals of sums of cells, and hold together with those of the cells.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from panprivacy.statistics.intervals.segment_estimates import Ends, share_ends

Cells = frozenset[int]


@dataclass(frozen=True)
class Ratio:
    """Of the devices in some cells, the share that is in fewer of them.

    Attributes:
        name: for programs.
        label: for people.
        of: the cells that are counted.
        among: the cells of all that could be, those of `of` included.
    """

    name: str
    label: str
    of: Cells
    among: Cells

    def share_of(self, devices: Sequence[float]) -> float:
        """The exact share, from the number of devices in each cell; 0 if there are none."""
        among = sum(devices[cell] for cell in self.among)
        return sum(devices[cell] for cell in self.of) / among if among else 0.0


@dataclass(frozen=True)
class Contrast:
    """How much larger one ratio is than another.

    Attributes:
        first, second: names of ratios.
        odds: the ratio of their odds; otherwise their difference.
    """

    name: str
    label: str
    first: str
    second: str
    odds: bool = False


@dataclass(frozen=True)
class Median:
    """Until which bound half of all devices are in the cells.

    Attributes:
        bounds: rising. The i-th ratio is the share of devices until the i-th bound.
        ratios: their names.
    """

    name: str
    label: str
    bounds: tuple[int, ...]
    ratios: tuple[str, ...]


class Form(Enum):
    """How the ratios of a `Curve` are drawn."""

    BARS = "bars"
    BAND = "band"
    """A line, and between which lines it lies."""
    STEPS = "steps"
    """A line that stays at a value until the next one."""


@dataclass(frozen=True)
class Curve:
    """Ratios that a chart shows together.

    Attributes:
        form: how they are drawn.
        unit: of what they are shares, in percent.
        ratios: names, from left to right.
        places: what stands below each.
        across: what the places count; empty for names.
        at: where each place is; empty for 1, 2, 3, …
        before: for each, the name of its ratio to the one before; empty for none.
        first: a point before all others, which is certain: its place, and its percentage.
    """

    form: Form
    unit: str
    ratios: tuple[str, ...]
    places: tuple[str, ...]
    across: str = ""
    at: tuple[float, ...] = ()
    before: tuple[str, ...] = ()
    first: tuple[float, float] | None = None


@dataclass(frozen=True)
class Found:
    """The estimate of a number of devices, and between which it lies."""

    value: float
    ends: Ends


def sets_of(ratios: Sequence[Ratio]) -> tuple[Cells, ...]:
    """The sums of cells that ratios need: their own, the remaining ones, and both together."""
    needed = {cells for ratio in ratios for cells in (ratio.of, ratio.among - ratio.of, ratio.among)}
    return tuple(sorted(needed, key=sorted))


def derived_numbers(
    ratios: Sequence[Ratio], others: Sequence[Contrast | Median], sums: Mapping[Cells, Found]
) -> list[dict[str, Any]]:
    """All derived numbers as plain JSON: `name`, `label`, `unit`, `value`, `low`, `high`.

    Shares and differences lie between 0 and 1. None is a value that nothing determines, or an end that
    nothing bounds.

    Args:
        sums: of every set of `sets_of`; their values are at least 0, and add up.
    """
    shares = {ratio.name: _share(ratio, sums) for ratio in ratios}
    numbers = [
        _number(ratio.name, ratio.label, "share", shares[ratio.name].value, *shares[ratio.name].ends)
        for ratio in ratios
    ]
    for other in others:
        if isinstance(other, Median):
            numbers.append(_median(other, shares))
        else:
            numbers.append(_contrast(other, shares[other.first], shares[other.second]))
    return numbers


def _number(
    name: str, label: str, unit: str, value: float | None, low: float | None, high: float | None
) -> dict[str, Any]:
    return {"name": name, "label": label, "unit": unit, "value": value, "low": low, "high": high}


def _share(ratio: Ratio, sums: Mapping[Cells, Found]) -> Found:
    part, rest, whole = sums[ratio.of], sums[ratio.among - ratio.of], sums[ratio.among]
    low, high = share_ends(part.ends, rest.ends, whole.ends)
    whole_value = part.value + rest.value
    value = part.value / whole_value if whole_value > 0 else low
    return Found(min(max(value, low), high), (low, high))


def _contrast(contrast: Contrast, first: Found, second: Found) -> dict[str, Any]:
    if not contrast.odds:
        ends = first.ends[0] - second.ends[1], first.ends[1] - second.ends[0]
        return _number(contrast.name, contrast.label, "difference", first.value - second.value, *ends)
    least, most = (_odds_ratio(first.ends[end], second.ends[1 - end]) for end in (0, 1))
    value = _odds_ratio(first.value, second.value)
    return _number(contrast.name, contrast.label, "ratio", value, 0.0 if least is None else least, most)


def _odds_ratio(first: float, second: float) -> float | None:
    below = (1 - first) * second
    return first * (1 - second) / below if below > 0 else None


def _median(median: Median, shares: Mapping[str, Found]) -> dict[str, Any]:
    """Half of the devices are there within the value; after `low`, and within `high`."""
    found = [shares[name] for name in median.ratios]
    value = _first(median.bounds, [share.value >= 0.5 for share in found])
    possible = [share.ends[1] >= 0.5 for share in found]
    # It is later than the last bound until which it is impossible.
    low = (
        0
        if possible[0]
        else max(bound for bound, may_be in zip(median.bounds, possible, strict=True) if not may_be)
    )
    high = _first(median.bounds, [share.ends[0] >= 0.5 for share in found])
    return _number(median.name, median.label, "steps", value, low, high)


def _first(bounds: Sequence[int], reached: Sequence[bool]) -> int | None:
    return next((bound for bound, is_reached in zip(bounds, reached, strict=True) if is_reached), None)
