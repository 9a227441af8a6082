"""The chart of a trend."""

from pages.charts.description import Axis, Chart, Panel, Scale, Series, Value
from pages.recipe.drawn import drawn_together
from series.models import Mark
from series.models import Series as Repeated
from series.selectors import Point
from storage.columns import stored

CAP = 14
DOT = 9
MARGIN = 0.06
"""Room above the highest end, as a share of the range."""


def trend_chart(series: Repeated, points: list[Point], marks: list[Mark]) -> Chart | None:
    """The one number of each round with its interval, over time; gaps where there is none. None where a round
    has several numbers, or fewer than two rounds have a result."""
    results = [point for point in points if len(point.values) == 1 and point.interval is not None]
    if len(results) < 2:
        return None
    asked = [point for point in points if point.round.state != point.round.State.PLANNED]
    drawn_results, unit = drawn_together(
        [stored(point.release) for point in results], [stored(point.interval) for point in results]
    )
    estimates = {point.round.pk: drawn.value for point, drawn in zip(results, drawn_results, strict=True)}
    times: list[Value] = []
    ends: list[Value] = []
    sizes: list[float] = []
    shown = [0.0]
    for point, result in zip(results, drawn_results, strict=True):
        times += [point.round.opens_at, point.round.opens_at, None]
        ends += [*result.reach, None]
        sizes += [0 if result.low is None else CAP, 0 if result.high is None else CAP, 0]
        shown += [result.value, *result.reach]
    low_end, high_end = min(shown), max(shown)
    room = MARGIN * (high_end - low_end)
    top = high_end + room or 1.0
    level = stored(results[0].interval).level
    drawn = [
        Series(
            name=f"{level:.0%} intervals, of all rounds together",
            role="interval-95",
            width=2,
            symbol="line-ew",
            size=sizes,
            x=times,
            y=ends,
        ),
        Series(
            name="estimate",
            role="estimate",
            width=1,
            symbol="circle",
            size=DOT,
            x=[point.round.opens_at for point in asked],
            y=[estimates.get(point.round.pk) for point in asked],
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
        title=f"Trend of {series.name}",
        description="The estimate of each round with an interval, by the time at which it opened. All "
        f"intervals together contain the truths with {level:.0%}.",
        panels=(Panel(x=Axis(scale=Scale.TIME), y=quantity, series=tuple(drawn)),),
        height=240,
    )
