"""From values to places: one axis laid over a stretch of pixels."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from pages.charts.description import Axis, Panel, Scale, Value
from pages.charts.ticks import Ticks, linear_ticks, log_ticks, time_ticks

ROOM = 0.05
"""Beyond the outermost values, as a share of their range."""


Place = tuple[float, float]
"""A point of a drawing, in pixels."""


@dataclass(frozen=True)
class Scaled:
    """An axis with both ends known.

    Attributes:
        axis: as described.
        low, high: its ends, in the axis' own measure (logarithms, seconds since 1970, numbers of categories).
        start, end: their positions, in pixels.
    """

    axis: Axis
    low: float
    high: float
    start: float
    end: float

    def place(self, value: Value) -> float | None:
        """The position of a value; None if it has none."""
        measured = _measured(self.axis, value)
        if measured is None:
            return None
        return self.start + (self.end - self.start) * (measured - self.low) / (self.high - self.low)

    @property
    def place_of_zero(self) -> float:
        """The position of zero on a linear axis."""
        return self.start + (self.end - self.start) * -self.low / (self.high - self.low)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Positions of about `most` marks with their labels, within the ends."""
        found: list[tuple[float, str]] = []
        for value, text in self._ticks(most):
            at = self.place(self.axis.categories[int(value)] if self._is_category else self._value(value))
            if at is not None and min(self.start, self.end) - 0.5 <= at <= max(self.start, self.end) + 0.5:
                found.append((at, text))
        return found

    @property
    def _is_category(self) -> bool:
        return self.axis.scale is Scale.CATEGORY

    def _value(self, value: float) -> Value:
        return datetime.fromtimestamp(value).astimezone() if self.axis.scale is Scale.TIME else value

    def _ticks(self, most: int) -> Ticks:
        if self._is_category:
            return tuple((float(at), name) for at, name in enumerate(self.axis.categories))
        if self.axis.ticks:
            return self.axis.ticks
        if self.axis.scale is Scale.LOG:
            return log_ticks(10**self.low, 10**self.high)
        if self.axis.scale is Scale.TIME:
            return time_ticks(self.low, self.high, most)
        return linear_ticks(self.low, self.high, most)


def scaled(axis: Axis, values: Iterable[Value], start: float, end: float) -> Scaled:
    """The axis over these pixels.

    Its ends are its own, or those of the values with room around them. A linear axis without ends of its own
    begins at zero if no value is below.
    """
    if axis.scale is Scale.CATEGORY:
        return Scaled(axis, 0.0, float(max(1, len(axis.categories))), start, end)
    measured = [place for value in values if (place := _measured(axis, value)) is not None]
    low, high = (min(measured), max(measured)) if measured else (0.0, 1.0)
    if axis.scale is Scale.LINEAR and not axis.ticks:
        low = min(low, 0.0)
    room = ROOM * (high - low)
    if axis.scale is not Scale.TIME:
        low, high = low - (room if low else 0.0), high + room
    low = low if axis.low is None else axis.low
    high = high if axis.high is None else axis.high
    return Scaled(axis, low, high if high > low else low + 1.0, start, end)


def values_along(panels: Iterable[Panel], direction: str) -> list[Value]:
    """Everything that the panels draw along `x` or `y`."""
    return [value for panel in panels for series in panel.series for value in getattr(series, direction)]


def _measured(axis: Axis, value: Value) -> float | None:
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, str):
        return axis.categories.index(value) + 0.5
    if axis.scale is Scale.LOG:
        return math.log10(value) if value > 0 else None
    return float(value) if math.isfinite(value) else None
