"""Charts of a comparison: results on one axis, and their differences to the first one."""

from collections.abc import Sequence

from pages.charts.description import Axis, Chart, Panel, Scale, Series
from pages.recipe.charts import DOT, LINES, MARGIN, MOST_DRAWN, interval_series, marks_series
from pages.recipe.drawn import drawn_together
from pages.words.changes import POINTS
from results.changes import Change
from results.comparisons import Compared
from results.excerpt import largest_positions
from results.parts import part_of
from storage.columns import stored

Point = tuple[float, float | None, float | None]
"""A value and the ends of its interval."""

ROW = 34
"""Height of one result, in pixels."""


def results_chart(compared: Sequence[Compared], segment: str = "") -> Chart | None:
    """Every result that can be compared, by its number in the list; None if results have several values, or
    none can be."""
    named = [(str(number), one) for number, one in enumerate(compared, start=1) if not one.obstacles]
    # If the first one has no result for the segment, every other one has an obstacle.
    if len(named) < 2 or not _is_scalar(compared):
        return None
    parts = [stored(part_of(stored(one.release), segment)) for _, one in named]
    drawn, unit = drawn_together(parts, compared[0].recipe.published.calibrated_statistic.unit, segment)
    points = [(one.value, one.low, one.high) for one in drawn]
    return Chart(
        title="Results that can be compared",
        description="The estimate of each result with its interval, by its number in the table.",
        panels=(_lying([name for name, _ in named], points, unit, "estimate", "95% interval"),),
        height=ROW * len(named) + ROW,
    )


def difference_chart(compared: Sequence[Compared]) -> Chart | None:
    """The difference of each result to the first one; of several values, a panel for each result. None if
    there are no differences."""
    changes = [
        (str(number), one, one.change)
        for number, one in enumerate(compared, start=1)
        if one.change is not None
    ]
    if not changes:
        return None
    unit = _unit(compared[0], [change for _, _, change in changes])
    level = f"{changes[0][2].told.interval.level:.0%} interval of all differences together"
    description = "Differences to result 1 with their intervals. If one holds 0, there may be no change."
    if _is_scalar(compared):
        alone = [_points(change, [0], unit)[0] for _, _, change in changes]
        panel = _lying([name for name, _, _ in changes], alone, unit, "difference", level)
        return Chart(
            title="Differences to result 1",
            description=description,
            panels=(panel,),
            height=ROW * (len(changes) + 1),
        )
    drawn = largest_positions(stored(compared[0].release).values, MOST_DRAWN)
    points = [_points(change, drawn, unit) for _, _, change in changes]
    # One axis, so that panels can be compared.
    quantity = _quantity(unit, [point for some in points for point in some])
    panels = tuple(
        _standing(
            f"Result {name} less result 1" if len(changes) > 1 else "",
            [one.recipe.published.label(position) for position in drawn],
            some,
            quantity,
            level,
        )
        for (name, one, _), some in zip(changes, points, strict=True)
    )
    return Chart(title="Differences to result 1", description=description, panels=panels, height=220)


def _unit(first: Compared, changes: list[Change]) -> str:
    if all(change.shares for change in changes):
        return POINTS
    return first.recipe.published.calibrated_statistic.unit


def _points(change: Change, positions: Sequence[int], unit: str) -> list[Point]:
    found = change.told if unit == POINTS else change.estimates
    scale = 100.0 if unit == POINTS else 1.0
    return [
        (
            scale * found.values[position],
            None if (low := found.interval.low[position]) is None else scale * low,
            None if (high := found.interval.high[position]) is None else scale * high,
        )
        for position in positions
    ]


def _is_scalar(compared: Sequence[Compared]) -> bool:
    return compared[0].recipe.published.calibrated_statistic.scalar


def _lying(labels: list[str], points: list[Point], unit: str, name: str, interval: str) -> Panel:
    """A row for each point, the first one on top."""
    rows = Axis(scale=Scale.CATEGORY, categories=tuple(reversed(labels)))
    return Panel(
        x=_quantity(unit, points), y=rows, series=_series(labels, points, name, interval, lying=True)
    )


def _standing(title: str, labels: list[str], points: list[Point], quantity: Axis, interval: str) -> Panel:
    columns = Axis(scale=Scale.CATEGORY, categories=tuple(dict.fromkeys(labels)))
    series = _series(labels, points, "difference", interval, lying=False)
    return Panel(title=title, x=columns, y=quantity, series=series)


def _series(
    labels: list[str], points: list[Point], name: str, interval: str, *, lying: bool
) -> tuple[Series, ...]:
    role, width, cap = LINES[0]
    values = [value for value, _, _ in points]
    return (
        interval_series(interval, role, width, cap, labels, points, lying),
        marks_series(name, "estimate", "circle", DOT, labels, values, lying),
    )


def _quantity(unit: str, points: list[Point]) -> Axis:
    ends = [0.0, *(end for point in points for end in point if end is not None)]
    low, high = min(ends), max(ends)
    room = MARGIN * (high - low)
    return Axis(title=unit, low=low - room if low < 0 else 0.0, high=high + room or 1.0)
