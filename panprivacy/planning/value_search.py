"""The search for values with which a condition holds.

A question states what may vary (`Values`), the beginning of the search, its direction, and what must
hold. The planner, budgets, limits and forms use it, each with its own condition.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from typing import Any, Self

from panprivacy.formats.display import plain
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import description_of, kind_of
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.interface import Statistic

ALL_DIGITS = 15
"""More digits than any variable whole number has."""

DIGITS = 3
"""Significant digits of a suggested value."""

LARGER = {"epsilon": False, "cohort_size": True, "delta": False}
"""Parameters for which a value can be suggested, and whether larger values protect more."""

NO_ALTERNATIVE = "no other ε, cohort size or δ alone would do"

_SYMBOLS = {"epsilon": "ε", "delta": "δ"}


@dataclass(frozen=True)
class Values:
    """Numbers with this number of significant digits, or such whole numbers, ascending.

    Attributes:
        first: place of the lowest among all numbers with as many digits.
        length: number of values; below 1 if there are none.
        digits: significant digits.
        whole: whether all are whole numbers.
    """

    first: int
    length: int
    digits: int
    whole: bool

    @classmethod
    def of(
        cls, low: float | None, high: float | None, *, digits: int = ALL_DIGITS, whole: bool = True
    ) -> Self:
        """Those from `low` to `high`, which must be above 0."""
        if low is None or high is None or low <= 0:
            raise ValueError("only what has bounds above 0 may vary")
        every = cls(0, 0, digits, whole)
        first = every.index(low)
        if every.value(first) < low:
            first += 1
        return cls(first, every.index(high) - first + 1, digits, whole)

    def value(self, index: int) -> float:
        """The value at `index`."""
        place = self.first + index
        if self.whole and place < self._least:
            return place
        decade, within = divmod(place - self._least, 9 * self._least)
        number = float(f"{self._least + within}e{decade}")  # as a decimal is read: correctly rounded
        return int(number) if self.whole else number

    def index(self, value: float) -> int:
        """The index of the largest of such numbers that is at most `value`; the bounds do not matter."""
        decimal = Decimal(str(value))
        decade = decimal.adjusted() - self.digits + 1
        if self.whole and decade < 0:
            return int(value) - self.first
        return decade * 9 * self._least + int(decimal.scaleb(-decade)) - self.first

    def nearest(
        self, fits: Callable[[float], bool], *, since: int, until: int, outwards: bool = False
    ) -> int | None:
        """The index nearest to `since`, between it and `until`, at which a value fits.

        If a value fits, those beyond it must fit, too. The returned value has been tried.

        Args:
            since: an index at which nothing fits; it is not tried, and may lie just outside of the bounds.
            until: the last index that is tried.
            outwards: whether to begin near `since`, and to double or halve the value until one fits: far away
                other bounds may be hit, or a trial may take long. Otherwise `until` is tried first.

        Returns:
            None if no value fits, or there is none.
        """
        if self.length < 1 or since == until:
            return None
        failing, fitting = since, self._further(since, until) if outwards else until
        while not fits(self.value(fitting)):
            if fitting == until:
                return None
            failing, fitting = fitting, self._further(fitting, until)
        while abs(fitting - failing) > 1:
            middle = (failing + fitting) // 2
            if fits(self.value(middle)):
                fitting = middle
            else:
                failing = middle
        return fitting

    @property
    def _least(self) -> int:
        """The least whole number with this number of digits."""
        least: int = 10 ** (self.digits - 1)
        return least

    def _further(self, index: int, until: int) -> int:
        """The index of twice or half the value, at most `until`; the neighbour of one outside."""
        if until > index:
            doubled = 0 if index < 0 else self.index(2 * self.value(index))
            return min(max(doubled, index + 1), until)
        halved = self.index(self.value(index) / 2)
        return max(min(halved, index - 1), until)


def largest_number(fits: Callable[[int], bool], low: int, high: int) -> int | None:
    """The largest whole number from `low` (at least 1) to `high` that fits, if all smaller ones do."""
    values = Values.of(low, high)
    found = values.nearest(lambda value: fits(int(value)), since=values.length, until=0)
    return None if found is None else int(values.value(found))


@dataclass(frozen=True)
class Remedy:
    """A value of one parameter with which alone it would be enough.

    Attributes:
        name: of the parameter: one of `LARGER`.
        value: the nearest to the given one, with `DIGITS` significant digits.
    """

    name: str
    value: float

    def __str__(self) -> str:
        if self.name == "cohort_size":
            return f"a cohort size of {self.value:,}"
        return f"{_SYMBOLS[self.name]} = {plain(self.value)}"


def keeps_promise(statistic: Statistic[Any]) -> bool:
    """Whether `require_promise` accepts it."""
    try:
        # Checked first: the refusal computes how far it is off, which takes many times as long.
        if isinstance(statistic, CohortStatistic) and not statistic.keeps_target:
            return False
        statistic.require_promise()
    except FieldError:
        return False
    return True


def remedy_clause(statistic: Statistic[Any], enough: Callable[[Statistic[Any]], bool]) -> str:
    """A clause that names the largest ε, and the smallest cohort size, with which alone it is enough.

    If neither is, the largest δ: a release that may fail altogether gains by nothing else.
    """
    found = remedies_of(statistic, enough, ("epsilon", "cohort_size"))
    found = found or remedies_of(statistic, enough, ("delta",))
    return f"{' or '.join(map(str, found))} would do" if found else NO_ALTERNATIVE


def remedies_of(
    statistic: Statistic[Any], enough: Callable[[Statistic[Any]], bool], names: Iterable[str]
) -> tuple[Remedy, ...]:
    """The nearest value of each of these parameters with which alone it is enough, if there is one."""
    nearest = {name: nearest_value(statistic, name, enough) for name in names}
    return tuple(Remedy(name, value) for name, value in nearest.items() if value is not None)


def nearest_value(
    statistic: Statistic[Any], name: str, enough: Callable[[Statistic[Any]], bool]
) -> float | None:
    """The value of the parameter `name` nearest to the given one with which it is enough.

    Args:
        statistic: one that does not meet the condition.
        name: one of `LARGER`, which gives the direction of the search.
        enough: whether a statistic meets the condition; if it does with a value, it must do so with those
            beyond it.

    Returns:
        None if no allowed value was found, or there is no such parameter.
    """
    field = next((field for field in fields(statistic.parameters) if field.name == name), None)
    if field is None:
        return None

    description = description_of(field)
    values = Values.of(description.minimum, description.maximum, digits=DIGITS, whole=kind_of(field) is int)
    present = float(getattr(statistic.parameters, name))
    since, until = values.index(present), values.length - 1
    if not LARGER[name]:
        since, until = since + (values.value(since) < present), 0
    found = values.nearest(
        lambda value: is_enough_with(statistic, name, value, enough), since=since, until=until, outwards=True
    )
    return None if found is None else values.value(found)


def is_enough_with(
    statistic: Statistic[Any], name: str, value: float, enough: Callable[[Statistic[Any]], bool]
) -> bool:
    """Whether the statistic can have this value of one parameter, and meets the condition with it."""
    try:
        return enough(with_value(statistic, name, value))
    except FieldError:  # out of its range, or more noise than can be decrypted
        return False


def with_value(statistic: Statistic[Any], name: str, value: float) -> Statistic[Any]:
    """The same statistic with another value of one parameter. FieldError if it cannot have that."""
    derived = dict.fromkeys(statistic.parameters.derived_names())
    parameters = replace(statistic.parameters, **derived, **{name: value}).calibrated()
    return statistic.having(parameters)
