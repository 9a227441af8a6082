"""A comparison as files: exact values, nothing rounded."""

from collections.abc import Sequence
from itertools import repeat
from typing import Any

from panprivacy.statistics.intervals.difference import Difference
from results.comparisons import Compared
from results.parts import part_of
from web.spreadsheets import csv_lines

COLUMNS = (
    "recipe",
    "label",
    "estimate",
    "difference",
    "low",
    "high",
    "more_than_noise",
    "share_difference",
    "share_low",
    "share_high",
    "share_more_than_noise",
    "level",
    "obstacles",
    "segment",
)


def level_of(compared: Sequence[Compared]) -> float | None:
    """With which all differences hold together; None if there are none."""
    levels = [one.change.estimates.interval.level for one in compared if one.change]
    return levels[0] if levels else None


def comparison_csv(compared: Sequence[Compared], segment: str = "") -> str:
    """A line for each value of each result. Those of the first one have no difference."""
    rows: list[Sequence[object]] = [COLUMNS]
    for one in compared:
        statistic = one.recipe.published.calibrated_statistic
        values = values_of(one, segment)
        change = one.change
        found = (None, None) if change is None else (change.estimates, change.shares)
        ends = [column for difference in found for column in _columns(difference)]
        level = None if change is None else change.estimates.interval.level
        last = (level, " ".join(one.obstacles), segment)
        # strict=False: a column that repeats has no end.
        for row, (value, *differences) in enumerate(zip(values, *ends, strict=False)):
            rows.append([one.recipe.identifier, statistic.label(row), value, *differences, *last])
        if not values:
            rows.append([one.recipe.identifier, *repeat(None, len(COLUMNS) - 3), *last[1:]])
    return csv_lines(rows)


def _columns(found: Difference | None) -> list[Any]:
    if found is None:
        return [repeat(None)] * 4
    return [found.values, found.interval.low, found.interval.high, found.more_than_noise]


def values_of(one: Compared, segment: str) -> list[float]:
    """The estimates; none without a result, or if it has no result for the segment."""
    has_result = one.release is not None and one.release.outcome == one.release.Outcome.RELEASED
    part = part_of(one.release, segment) if one.release is not None and has_result else None
    return [] if part is None else list(part.values)
