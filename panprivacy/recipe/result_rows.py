"""A signed result as rows of one table, for warehouses and metrics: one row for each released value."""

from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass, fields
from datetime import datetime
from typing import Any

from panprivacy.accounting.guarantees import main_guarantee
from panprivacy.formats.times import parse_time


@dataclass(frozen=True, kw_only=True)
class ResultRow:
    """One released value.

    Attributes:
        recipe: identifier.
        round: number of the round in its series; None without a series.
        segment: its label; None for all devices.
        value: what the estimate counts: a value's label, or the statistic's.
        estimate: unbiased, in the recipe's unit; may be below 0.
        low, high: the interval of the true value; None if that end is not bounded.
        level: the probability, in advance, with which all intervals of these rows hold together: rows of all
            devices, or rows of all segments, not both. None if none is stated.
        standard_error: None if it is not stated, as of segments.
        reports: in the sum, of all segments together.
        epsilon, delta: of `main_guarantee`, for this result alone; both None if ε is unknown.
        released_at: in UTC.
    """

    recipe: str
    round: int | None
    segment: str | None
    value: str
    estimate: float
    low: float | None
    high: float | None
    level: float | None
    standard_error: float | None
    reports: int
    epsilon: float | None
    delta: float | None
    released_at: datetime

    def cells(self) -> tuple[Any, ...]:
        """In the order of `COLUMNS`."""
        return astuple(self)

    @property
    def more_than_noise(self) -> bool | None:
        """Whether the interval leaves out 0; None if it has no end."""
        if self.low is None and self.high is None:
            return None
        return (self.low is not None and self.low > 0) or (self.high is not None and self.high < 0)


COLUMNS = tuple(field.name for field in fields(ResultRow))


def result_rows(result: Mapping[str, Any], number: int | None = None) -> Iterator[ResultRow]:
    """A row for each value of all devices, then for each value of each segment that is shown.

    Args:
        result: the signed document of a released one.
        number: of the round whose result it is.
    """
    main = main_guarantee(result["guarantees"])
    epsilon, delta = (None, None) if main is None else (main["epsilon"], main["delta"])
    common = {
        "recipe": result["id"],
        "round": number,
        "reports": result["reports"],
        "epsilon": epsilon,
        "delta": None if epsilon is None else delta,
        "released_at": parse_time("released_at", result["released_at"]),
    }
    labels = [
        named or label
        for label, named in zip(result["labels"], _padded(result["value_labels"], result), strict=True)
    ]
    low, high, level = _ends(result)
    errors = _padded(result["standard_error"], result)
    for place, estimate in enumerate(result["estimate"]):
        yield ResultRow(
            **common,
            segment=None,
            value=labels[place],
            estimate=estimate,
            low=low[place],
            high=high[place],
            level=level,
            standard_error=errors[place],
        )
    for segment in result["segments"] or []:
        if segment["shown"]:
            yield from _rows_of_segment(segment, labels, common)


def _rows_of_segment(
    segment: Mapping[str, Any], labels: list[str], common: Mapping[str, Any]
) -> Iterator[ResultRow]:
    widest = segment["intervals"][0]
    for label, estimate, (low, high) in zip(labels, segment["answers"], widest["answers"], strict=True):
        yield ResultRow(
            **common,
            segment=segment["label"],
            value=label,
            estimate=estimate,
            low=low,
            high=high,
            level=widest["level"],
            standard_error=None,
        )


def _ends(result: Mapping[str, Any]) -> tuple[list[float | None], list[float | None], float | None]:
    """The ends of the stated intervals and their level; None if none is stated, as of a test's statistic."""
    interval = result["interval"]
    if interval is None:
        unknown: list[float | None] = [None] * len(result["estimate"])
        return unknown, unknown, None
    return interval["low"], interval["high"], interval["level"]


def _padded(cells: list[Any] | None, result: Mapping[str, Any]) -> list[Any]:
    """One for each estimate; None if the result has none for it."""
    found = list(cells or [])
    return found + [None] * (len(result["estimate"]) - len(found))
