"""The values that a search tries for a parameter: few enough to bisect, and fit to be read aloud."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from panprivacy.parameters import Description

_DIGITS = 4
_FIRST = 10 ** (_DIGITS - 1)  # the smallest integer with four digits
_PER_DECADE = 9 * _FIRST


@dataclass(frozen=True)
class Ladder:
    """A parameter's allowed values, ascending: whole numbers, or numbers with four significant digits.

    Attributes:
        offset: whole numbers: the lowest value; else the place of the lowest among all numbers
            with four significant digits, counted from 1.
        length: number of values, at least 1.
        whole: whether the values are whole numbers.
    """

    offset: int
    length: int
    whole: bool

    @classmethod
    def of(cls, description: Description, kind: type) -> "Ladder":
        """The ladder of a parameter with a lower and an upper bound above 0."""
        low, high = description.minimum, description.maximum
        if low is None or high is None or low <= 0:
            raise ValueError("only a parameter with bounds above 0 has a ladder")
        if kind is int:
            return cls(int(low), int(high) - int(low) + 1, whole=True)
        first = _place(low)
        if _number(first) < low:
            first += 1
        last = _place(high)
        return cls(first, last - first + 1, whole=False)

    def value(self, index: int) -> float:
        """The value at `index`, 0..length−1."""
        return self.offset + index if self.whole else _number(self.offset + index)

    def first_where(
        self, holds: Callable[[float], bool], first: int = 0, last: int | None = None
    ) -> int | None:
        """Index of the smallest value for which `holds`, if it holds for every larger one; None if nowhere.

        Only values at `first` to `last` are tried, the whole ladder by default. The value at the
        returned index has been tried and held.
        """
        last = self.length - 1 if last is None else last
        if not holds(self.value(last)):
            return None
        return _first_beyond(first - 1, last, lambda index: holds(self.value(index)))

    def last_where(
        self, holds: Callable[[float], bool], first: int = 0, last: int | None = None
    ) -> int | None:
        """Index of the largest value for which `holds`, if it holds for every smaller one; None if nowhere.

        Only values at `first` to `last` are tried, the whole ladder by default. The value at the
        returned index has been tried and held.
        """
        last = self.length - 1 if last is None else last
        if not holds(self.value(first)):
            return None
        return _first_beyond(first, last + 1, lambda index: not holds(self.value(index))) - 1


def _first_beyond(low: int, high: int, is_beyond: Callable[[int], bool]) -> int:
    """The smallest index above `low` that is beyond, as `high` and all between the two are."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_beyond(middle) else (middle, high)
    return high


def _number(place: int) -> float:
    decade, within = divmod(place, _PER_DECADE)
    return float(f"{_FIRST + within}e{decade - _DIGITS + 1}")  # as a decimal is read: correctly rounded


def _place(value: float) -> int:
    """The place of the largest number with four significant digits that is at most `value`."""
    decade = math.floor(math.log10(value))
    place: int = decade * _PER_DECADE + math.floor(value / 10.0 ** (decade - _DIGITS + 1)) - _FIRST
    # log10 and the division are rounded.
    while _number(place + 1) <= value:
        place += 1
    while _number(place) > value:
        place -= 1
    return place
