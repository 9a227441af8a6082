"""The chart of a release."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pages.charts.description import Axis, Chart, Panel, Scale, Series, Value
from pages.recipe.derived import derived_of, question_of, shown_number
from pages.recipe.drawn import PERCENT
from pages.recipe.presentation import headline, name_of, percent_of
from pages.recipe.vector_chart import TRUTH_NAME, vector_chart
from panprivacy.statistics.events.derived import Curve, Form
from panprivacy.statistics.events.regular import Question
from panprivacy.statistics.intervals.estimate import Interval
from recipes.models import Recipe
from results.excerpt import excerpt_of, intervals_of, largest_positions, verdict_of
from results.models import Release, SimulatedTruth
from storage.columns import stored

THRESHOLDS = {"threshold": "threshold of the paper", "calibrated_threshold": "calibrated threshold"}
"""Detail of a test → its name in the legend."""

MOST_DRAWN = 30
"""Estimates in a chart; of more, the largest. The table next to it has more."""

DOT = 9
"""Size of an estimate's mark. Caps are longer, so that no dot hides an interval."""

LINES = (("interval-95", 2, 24), ("interval-66", 6, 17))
"""Role, width of the line and length of the caps of each interval, the widest interval first."""

HALF_BAR = 0.3
"""Of the distance between two bars."""

MARGIN = 0.06
"""Room beyond the outermost interval, as a share of the range."""


def release_chart(recipe: Recipe, release: Release, truth: SimulatedTruth | None) -> Chart:
    """A dot for each estimate with its intervals, the narrower one thick; the result of a test next to its
    thresholds.

    One number is on a horizontal axis, several are side by side. The axis has the unit of the headline, and
    goes below zero if an interval does.
    """
    mechanism, excerpt = recipe.published.calibrated_statistic, excerpt_of(release)
    if draws_all(recipe, release):
        return vector_chart(recipe, release, truth)
    derived = _derived_chart(recipe, release, truth)
    if derived is not None:
        return derived
    drawn = largest_positions(excerpt.values, MOST_DRAWN)
    positions = [excerpt.positions[row] for row in drawn]
    labels = [recipe.published.label(position) for position in positions]
    values = [excerpt.values[row] for row in drawn]
    horizontal = mechanism.scalar
    intervals = [interval.at(drawn) for interval in intervals_of(excerpt)]
    truths = [] if truth is None else [truth.values[position] for position in positions]
    if shares := percent_of(recipe, release):
        values = [100 * shares.share(value) for value in values]
        intervals = [_in_percent(stored(shares.interval(interval))) for interval in intervals]
        # Of the devices of the simulation: the estimate may be of another number of them.
        truths = [100 * value / stored(truth).devices for value in truths]
    series = []
    shown = [0.0, *values]
    for interval, (role, width, cap) in zip(intervals, LINES, strict=False):
        name = name_of(excerpt, interval)
        ends = list(zip(values, interval.low, interval.high, strict=True))
        series.append(interval_series(name, role, width, cap, labels, ends, horizontal))
        shown += [end for one in ends for end in one if end is not None]
    series.append(marks_series("estimate", "estimate", "circle", DOT, labels, values, horizontal))
    for (key, name), role in zip(THRESHOLDS.items(), ("line-3", "line-4"), strict=True):
        if release.details and verdict_of(release) and key in release.details:
            threshold = release.details[key]
            series.append(marks_series(name, role, "line-ns", 28, labels, [threshold], horizontal))
            shown.append(threshold)
    if truth is not None:
        series.append(marks_series(TRUTH_NAME, "truth", "diamond-open", 13, labels, truths, horizontal))
        shown += truths
    low, high = min(shown), max(shown)
    room = MARGIN * (high - low)
    # Zero is always in sight; below it only if an interval goes there.
    unit = PERCENT if shares else mechanism.unit
    quantity = Axis(title=unit, low=low - room if low < 0 else 0.0, high=high + room or 1.0)
    category = Axis(scale=Scale.CATEGORY, categories=tuple(dict.fromkeys(labels)), labelled=not horizontal)
    x, y = (quantity, category) if horizontal else (category, quantity)
    return Chart(
        title=recipe.question,
        description=_description(recipe, release),
        panels=(Panel(x=x, y=y, series=tuple(series)),),
        height=110 if horizontal else 280,
    )


def _in_percent(shares: Interval) -> Interval:
    low, high = ([None if end is None else 100 * end for end in ends] for ends in (shares.low, shares.high))
    return replace(shares, low=tuple(low), high=tuple(high))


def _description(recipe: Recipe, release: Release) -> str:
    said = headline(recipe, release)
    return f"{said.text} ({said.level})." if said.level else f"{said.text}."


def draws_all(recipe: Recipe, release: Release) -> bool:
    """Whether the chart has every estimate, though there are many: those of one vector."""
    coordinates = recipe.published.calibrated_statistic.coordinates
    return coordinates and excerpt_of(release).count > MOST_DRAWN


def marks_series(
    name: str,
    role: str,
    symbol: str,
    size: float,
    labels: Sequence[Value],
    values: list[float],
    horizontal: bool,
) -> Series:
    """A mark for each value."""
    series = Series(name=name, role=role, symbol=symbol, size=size, x=labels, y=values)
    return _lying(series) if horizontal else series


def interval_series(
    name: str,
    role: str,
    width: float,
    cap: float,
    labels: Sequence[Value],
    intervals: list[tuple[float, float | None, float | None]],
    horizontal: bool,
) -> Series:
    """A line for each interval, with gaps between; with a cap where it ends, none if nothing bounds it."""
    places: list[Value] = []
    ends: list[Value] = []
    sizes: list[float] = []
    for label, (value, low, high) in zip(labels, intervals, strict=True):
        places += [label, label, None]
        ends += [value if low is None else low, value if high is None else high, None]
        sizes += [0 if low is None else cap, 0 if high is None else cap, 0]
    symbol = "line-ns" if horizontal else "line-ew"
    series = Series(name=name, role=role, width=width, symbol=symbol, size=sizes, x=places, y=ends)
    return _lying(series) if horizontal else series


def _lying(series: Series) -> Series:
    """The same with its values along the horizontal axis."""
    return replace(series, x=series.y, y=series.x)


def _derived_chart(recipe: Recipe, release: Release, truth: SimulatedTruth | None) -> Chart | None:
    """The shares that belong together, with their intervals; None if the question has no such curve."""
    question, derived = question_of(recipe), derived_of(release)
    if question is None or question.curve is None or not derived:
        return None
    curve = question.curve
    series, high = curve_series(question, curve, derived, None if truth is None else truth.values)
    within = "the devices of all segments" if recipe.published.segments else "all devices"
    return Chart(
        title=recipe.question,
        description=_description(recipe, release),
        panels=(curve_panel("", curve, curve_unit(question, curve, within), series, high),),
        height=280,
    )


def curve_unit(question: Question, curve: Curve, whole: str) -> str:
    """What a curve's axis is called, if the devices that are counted are the `whole`."""
    is_of_all = len(question.ratio(curve.ratios[0]).among) == len(question.labels)
    return f"% of {whole}" if is_of_all else curve.unit


def curve_panel(title: str, curve: Curve, unit: str, series: tuple[Series, ...], high: float) -> Panel:
    """A curve's series, up to the value `high`."""
    places = _places(curve)
    ends = [places[0], places[-1]] if curve.first is None else [curve.first[0], places[-1]]
    first = () if curve.first is None else ((curve.first[0], f"{curve.first[0]:g}"),)
    room = 0.5 if curve.form is Form.BARS else MARGIN * (ends[1] - ends[0])
    return Panel(
        title=title,
        x=Axis(
            title=curve.across,
            low=ends[0] - room,
            high=ends[1] + room,
            ticks=(*first, *zip(places, curve.places, strict=True)),
        ),
        y=Axis(title=unit, low=0.0, high=high * (1 + MARGIN) or 1.0),
        series=series,
    )


def _places(curve: Curve) -> tuple[float, ...]:
    return curve.at or tuple(range(1, len(curve.places) + 1))


def curve_series(
    question: Question, curve: Curve, derived: Iterable[Mapping[str, Any]], truth: Sequence[float] | None
) -> tuple[tuple[Series, ...], float]:
    """What is drawn of a curve, in percent, and the highest end of its intervals.

    Args:
        derived: the derived numbers of a question with this curve.
        truth: the exact number of devices in each cell; None if it is not known.
    """
    found = {one["name"]: one for one in derived}
    shares, places = [found[name] for name in curve.ratios], list(_places(curve))
    values = [100 * one["value"] for one in shares]
    lows, highs = ([100 * one[end] for one in shares] for end in ("low", "high"))
    series = []
    first = [] if curve.first is None else [curve.first]
    line = [*first, *zip(places, values, strict=True)]
    if curve.form is Form.BARS:
        series.append(_bars(places, values))
    if curve.form is Form.BAND:
        ends = [*first, *zip(places, lows, strict=True), *reversed(list(zip(places, highs, strict=True)))]
        series.append(_line("95% interval", "interval-95", [*ends, *first], filled=True))
    else:
        spans = list(zip(values, lows, highs, strict=True))
        series.append(interval_series("95% interval", "interval-95", 2, 24, places, spans, horizontal=False))
    if curve.form is not Form.BARS:
        series.append(_line("estimate", "estimate", line, steps=curve.form is Form.STEPS))
    series.append(marks_series("estimate", "estimate", "circle", DOT, places, values, horizontal=False))
    before = [found.get(name) for name in curve.before]
    words = ["" if one is None else f"{shown_number(one, one['value'])} →" for one in before]
    if any(words):  # left of each bar
        left = [place - HALF_BAR for place in places]
        series.append(
            Series(name="", role="estimate", x=left, y=values, words=words, size=0, in_legend=False)
        )
    if truth is not None:
        true = [100 * ratio.share_of(truth) for ratio in map(question.ratio, curve.ratios)]
        series.append(marks_series(TRUTH_NAME, "truth", "diamond-open", 13, places, true, horizontal=False))
    return tuple(series), max(highs + [end for _, end in first])


def _bars(places: Sequence[float], values: Sequence[float]) -> Series:
    x: list[Value] = []
    y: list[Value] = []
    for place, value in zip(places, values, strict=True):
        left, right = place - HALF_BAR, place + HALF_BAR
        x += [left, left, right, right, None]
        y += [0.0, value, value, 0.0, None]
    return Series(name="estimate", role="interval-66", x=x, y=y, width=1, filled=True, in_legend=False)


def _line(
    name: str, role: str, points: Sequence[tuple[float, float]], *, filled: bool = False, steps: bool = False
) -> Series:
    x, y = zip(*points, strict=True)
    width = 1 if filled else 2
    return Series(name=name, role=role, x=x, y=y, width=width, filled=filled, steps=steps, size=0)
