"""The chart of a trend."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from pages.charts.description import Axis, Chart, Panel, Scale, Series, Value
from pages.recipe.drawn import Drawn, drawn_together
from series.models import Mark
from series.models import Series as Repeated
from series.selectors import Point
from storage.columns import stored

CAP = 14
DOT = 9
LINES = ("line-1", "line-2", "line-3", "line-4", "line-5")
"""Roles are drawn for at most this many numbers of a round."""

BANDS_FROM = 60
"""From this number of points on, bars touch each other, and a band takes their place."""

MARGIN = 0.06
"""Room above the highest end, as a share of the range."""


def trend_chart(series: Repeated, points: list[Point], marks: list[Mark], segment: str = "") -> Chart | None:
    """The one number of each round with its interval, over time, or each number of several by round; gaps if
    there is none. None if fewer than two rounds have a result."""
    if any(len(point.values) > 1 for point in points):
        return _values_chart(series, points)
    results = [point for point in points if len(point.values) == 1 and point.interval is not None]
    if len(results) < 2:
        return None
    asked = [point for point in points if point.round.state != point.round.State.PLANNED]
    recipe = stored(results[0].release).recipe
    drawn_results, unit = drawn_together(
        [stored(point.part) for point in results], recipe.published.calibrated_statistic.unit, segment
    )
    intervals = {point.round.pk: drawn for point, drawn in zip(results, drawn_results, strict=True)}
    shown = [0.0, *(end for result in drawn_results for end in (result.value, *result.reach))]
    low_end, high_end = min(shown), max(shown)
    room = MARGIN * (high_end - low_end)
    top = high_end + room or 1.0
    level = stored(results[0].interval).level
    name, is_dense = f"{level:.0%} intervals, of all rounds together", len(results) >= BANDS_FROM
    drawn = [
        _band(name, asked, intervals) if is_dense else _bars(name, results, drawn_results),
        Series(
            name="estimate",
            role="estimate",
            width=1,
            symbol="circle",
            size=0 if is_dense else DOT,
            x=[point.round.opens_at for point in asked],
            y=[
                found.value if (found := intervals.get(point.round.pk)) is not None else None
                for point in asked
            ],
        ),
    ]
    if marks:
        placed: list[Value] = []
        heights: list[Value] = []
        for mark in marks:
            placed += [mark.at, mark.at, None]
            heights += [min(low_end, 0.0), top, None]
        drawn.append(Series(name="mark", role="budget", width=2, dash="dot", x=placed, y=heights))
    quantity = Axis(title=unit, low=low_end - room if low_end < 0 else 0.0, high=top)
    return Chart(
        title=f"Trend of {series.name}" + (f", segment {segment}" if segment else ""),
        description="The estimate of each round with an interval, by the time at which it opened. All "
        f"intervals together contain the truths with {level:.0%}.",
        panels=(
            Panel(
                x=Axis(title="opened (UTC)", scale=Scale.TIME, brush=is_dense),
                y=quantity,
                series=tuple(drawn),
            ),
        ),
        height=240,
    )


def segments_chart(series: Repeated, trends: Mapping[str, Sequence[Point]]) -> Chart | None:
    """A line with a band for each segment, over time; None if no segment has two results."""
    lines: list[Series] = []
    reached, unit = [0.0], ""
    left_out, is_dense = len(trends) - len(LINES), False
    for role, (label, points) in zip(LINES, trends.items(), strict=False):
        asked = [point for point in points if point.round.state != point.round.State.PLANNED]
        results = [point for point in asked if len(point.values) == 1 and point.interval is not None]
        if len(results) < 2:
            continue
        is_dense = is_dense or len(results) >= BANDS_FROM
        recipe = stored(results[0].release).recipe
        drawn, unit = drawn_together(
            [stored(point.part) for point in results], recipe.published.calibrated_statistic.unit, label
        )
        placed = {point.round.pk: one for point, one in zip(results, drawn, strict=True)}
        reached += [end for one in drawn for end in (one.value, *one.reach)]
        lines += [
            replace(_band(f"{label}, interval", asked, placed), role=role, in_legend=False),
            Series(
                name=label,
                role=role,
                width=2,
                symbol="circle",
                size=0 if len(results) >= BANDS_FROM else DOT,
                x=[point.round.opens_at for point in asked],
                y=[found.value if (found := placed.get(point.round.pk)) else None for point in asked],
            ),
        ]
    if not lines:
        return None
    low, high = min(reached), max(reached)
    room = MARGIN * (high - low)
    others = f" The table has {left_out} more." if left_out > 0 else ""
    return Chart(
        title=f"{series.name} by segment",
        description="The estimate of each segment by the time at which its round opened, with a band: all "
        f"intervals of all segments and rounds hold together.{others}",
        panels=(
            Panel(
                x=Axis(title="opened (UTC)", scale=Scale.TIME, brush=is_dense),
                y=Axis(title=unit, low=low - room if low < 0 else 0.0, high=high + room or 1.0),
                series=tuple(lines),
            ),
        ),
        height=280,
    )


def _bars(name: str, results: Sequence[Point], drawn: Sequence[Drawn]) -> Series:
    """A stroke for each interval, with a cap at each end that is known."""
    times: list[Value] = []
    ends: list[Value] = []
    sizes: list[float] = []
    for point, result in zip(results, drawn, strict=True):
        times += [point.round.opens_at, point.round.opens_at, None]
        ends += [*result.reach, None]
        sizes += [0 if result.low is None else CAP, 0 if result.high is None else CAP, 0]
    return Series(name=name, role="interval-95", width=2, symbol="line-ew", size=sizes, x=times, y=ends)


def _band(name: str, asked: Sequence[Point], intervals: Mapping[int, Drawn]) -> Series:
    """An area from the lower to the upper ends; rounds without a result part it."""
    times: list[Value] = []
    ends: list[Value] = []
    for has_result, run in groupby(asked, key=lambda point: point.round.pk in intervals):
        if not has_result:
            continue
        points = list(run)
        opened: list[Value] = [point.round.opens_at for point in points]
        reaches = [intervals[point.round.pk].reach for point in points]
        times += [*opened, *reversed(opened), None]
        ends += [*(low for low, _ in reaches), *(high for _, high in reversed(reaches)), None]
    return Series(name=name, role="interval-95", width=1, filled=True, x=times, y=ends)


def _values_chart(series: Repeated, points: list[Point]) -> Chart | None:
    """Several numbers of each round as lines: those that are furthest from zero in any round."""
    results = [point for point in points if len(point.values) > 1]
    if len(results) < 2:
        return None
    statistic = stored(stored(results[0].release).recipe).published.calibrated_statistic
    furthest = [max(map(abs, values)) for values in zip(*(point.values for point in results), strict=True)]
    shown = sorted(sorted(range(len(furthest)), key=furthest.__getitem__, reverse=True)[: len(LINES)])
    asked = [point for point in points if point.round.state != point.round.State.PLANNED]
    lines = tuple(
        Series(
            name=statistic.labels[place],
            role=role,
            width=2,
            x=[float(point.round.number) for point in asked],
            y=[point.values[place] if point.values else None for point in asked],
        )
        for role, place in zip(LINES, shown, strict=False)
    )
    left_out = len(furthest) - len(shown)
    others = f" Those of {len(furthest):,} that are furthest from zero." if left_out else ""
    return Chart(
        title=f"Results of {series.name} by round",
        description=f"The estimates of each round, without their errors.{others}",
        panels=(
            Panel(
                x=Axis(title="round", low=0.0, high=float(asked[-1].round.number + 1)),
                y=Axis(title=statistic.unit),
                series=lines,
            ),
        ),
        height=240,
    )
