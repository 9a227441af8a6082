"""What a page shows of each segment of a result: rows of a table, a sentence on each difference, and
a chart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pages.charts.description import Axis, Chart, Panel, Scale, Series, Value
from pages.charts.shown import ShownChart, shown_chart
from pages.recipe.charts import curve_panel, curve_series, curve_unit
from pages.recipe.derived import answer_sentence, question_of, shown_ends, shown_number, with_margin
from pages.recipe.presentation import Headline, level_percent
from panprivacy.statistics.events.derived import Curve
from panprivacy.statistics.events.regular import Question
from panprivacy.statistics.segments import FIELD
from recipes.models import Recipe
from results.exports import segments_document
from results.models import Release, SimulatedTruth
from results.parts import hidden_reason
from web.numbers import at_place, number, place_of

MOST_ROWS = 200
"""Rows of the table; the file has all."""

MOST_COLUMNS = 3
"""Derived numbers in the short table of segments: the first ones, and the last one."""

MOST_NAMED = 3
"""Differences that are named beside the chart."""

MOST_CATEGORIES = 30
"""Answers in a chart; with more, there is none."""

SEGMENT = "the segment"

COLUMNS = 2
CAP = 18
DOT = 9


@dataclass(frozen=True)
class SegmentRow:
    """One answer within one segment, as text; empty if not known.

    Attributes:
        difference: of the share to that of the first segment that is shown; empty for itself.
        said: the same without a sign, as what follows "is".
        more_than_noise: whether the interval of the difference leaves out 0.
        truth: of a simulation: "120 of 400".
    """

    segment: str
    devices: str
    answer: str
    count: str
    share: str
    difference: str
    said: str
    more_than_noise: bool
    truth: str


@dataclass(frozen=True)
class DerivedRow:
    """One derived number of one segment, as text."""

    segment: str
    label: str
    value: str
    ends: str


@dataclass(frozen=True)
class DerivedShown:
    """The derived numbers of all segments.

    Attributes:
        columns: what the answer's sentence names, at most `MOST_COLUMNS`.
        answers: label of a segment, and a text for each column with the column's name before it.
        rows: all numbers, of each first that of every segment.
        left_out: how many rows the table has not.
    """

    columns: tuple[str, ...]
    answers: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    rows: tuple[DerivedRow, ...]
    left_out: int


@dataclass(frozen=True)
class SegmentsShown:
    """The section of a page.

    Attributes:
        level: of all intervals together: "95%".
        first: label of the segment that the others are compared with; empty if none is shown.
        compared: whether any other one is.
        differing: rows with more than noise between the two, at most `MOST_NAMED`.
        others_differ: whether there are more of these.
        left_out: how many rows the table has not.
        hidden: labels of segments that are not shown, each with the reason.
        several: whether there are several answers.
        simulated: whether the truth is known.
        derived: None if nothing is derived.
    """

    level: str
    first: str
    compared: bool
    differing: tuple[SegmentRow, ...]
    others_differ: bool
    rows: tuple[SegmentRow, ...]
    left_out: int
    hidden: tuple[tuple[str, str], ...]
    several: bool
    simulated: bool
    derived: DerivedShown | None
    chart: ShownChart | None


def segments_shown(recipe: Recipe, release: Release, truth: SimulatedTruth | None) -> SegmentsShown | None:
    """What a released result shows by segment; None if its recipe asks by none."""
    told = segments_document(release, truth)
    if told is None:
        return None
    shown = [segment for segment in told if segment["shown"]]
    count = len(shown[0]["shares"]) if shown else 0
    labels = [recipe.published.label(place) for place in range(count)]
    rows = [_row(segment, place, label) for segment in shown for place, label in enumerate(labels)]
    differing = [row for row in rows if row.more_than_noise]
    return SegmentsShown(
        level=level_percent(shown[0]["intervals"][0]["level"]) if shown else "",
        first=shown[0]["label"] if shown else "",
        compared=len(shown) > 1,
        differing=tuple(differing[:MOST_NAMED]),
        others_differ=len(differing) > MOST_NAMED,
        rows=tuple(rows[:MOST_ROWS]),
        left_out=max(0, len(rows) - MOST_ROWS),
        hidden=tuple((segment["label"], segment["reason"]) for segment in told if not segment["shown"]),
        several=count > 1,
        simulated=truth is not None and bool(truth.segments),
        derived=_derived(recipe, shown),
        chart=_chart(recipe, shown, labels) if shown and count <= MOST_CATEGORIES else None,
    )


def segment_headline(release: Release, label: str) -> Headline:
    """The released result of one segment, in one sentence."""
    segment = next((told for told in release.segments or [] if told["label"] == label), None)
    if segment is None or not segment["shown"]:
        return Headline(f"Not shown: {hidden_reason(release, label)}", "")
    widest = segment["intervals"][0]
    level, devices = level_percent(widest["level"]), _with_ends(segment["devices"], widest["devices"])
    if answer := answer_sentence(release.recipe, segment["derived"], f"{devices} devices of this segment"):
        return Headline(answer, level)
    if len(segment["shares"]) > 1:
        return Headline(f"{len(segment['shares'])} answers of {devices} devices of this segment", level)
    share = _with_ends(segment["shares"][0], widest["shares"][0], points=True)
    return Headline(f"{share} of {devices} devices of this segment", level)


def _row(segment: Mapping[str, Any], place: int, answer: str) -> SegmentRow:
    widest, difference, true = segment["intervals"][0], segment["difference"], segment.get("truth")
    return SegmentRow(
        segment=segment["label"],
        devices=_with_ends(segment["devices"], widest["devices"]),
        answer=answer,
        count=_with_ends(segment["answers"][place], widest["answers"][place]),
        share=_with_ends(segment["shares"][place], widest["shares"][place], points=True),
        difference="" if difference is None else _difference(difference, place),
        said="" if difference is None else _difference(difference, place, said=True),
        more_than_noise=bool(difference and difference["more_than_noise"][place]),
        truth=f"{number(true['answers'][place])} of {number(true['devices'])}" if true else "",
    )


def _derived(recipe: Recipe, shown: Sequence[Mapping[str, Any]]) -> DerivedShown | None:
    question = question_of(recipe)
    if question is None or not shown or not shown[0]["derived"]:
        return None
    found = {segment["label"]: {one["name"]: one for one in segment["derived"]} for segment in shown}
    names = [name for name, _ in question.answer]
    names = [*names[: MOST_COLUMNS - 1], *names[MOST_COLUMNS - 1 :][-1:]]
    labels = {one["name"]: one["label"] for one in shown[0]["derived"]}
    rows = [
        DerivedRow(segment, label, shown_number(one, one["value"]), shown_ends(one))
        for name, label in labels.items()
        for segment, numbers in found.items()
        for one in (numbers[name],)
    ]
    return DerivedShown(
        columns=tuple(labels[name] for name in names),
        answers=tuple(
            (segment, tuple((labels[name], with_margin(numbers[name], "")) for name in names))
            for segment, numbers in found.items()
        ),
        rows=tuple(rows[:MOST_ROWS]),
        left_out=max(0, len(rows) - MOST_ROWS),
    )


def _difference(difference: Mapping[str, Any], place: int, *, said: bool = False) -> str:
    """“−3.2 points (−4.3 to −2.1)”, or “3.2 points lower (2.1 to 4.3)”; a line may end before the bracket
    only."""
    share, (low, high) = difference["shares"][place], difference["intervals"][place]
    lower = said and share < 0
    if lower:
        share, low, high = -share, -high, -low
    decimals = place_of(100 * (high - low) / 2)
    value, low, high = (at_place(100 * part, decimals) for part in (share, low, high))
    unit = "point" if value.removeprefix("−") == "1" else "points"
    if said:
        unit += " lower" if lower else " higher"
    return f"{value}\N{NO-BREAK SPACE}{unit} {_bracket(low, high)}"


def _with_ends(value: float, ends: Sequence[float], *, points: bool = False) -> str:
    """An estimate with its interval, at the place that the interval allows: of parts, in percent."""
    scale, sign = (100, "%") if points else (1, "")
    half = scale * (ends[1] - ends[0]) / 2
    # Devices are whole.
    decimals = place_of(half) if points else max(place_of(half), 0)
    low, high = (at_place(scale * end, decimals) + sign for end in ends)
    return f"{at_place(scale * value, decimals)}{sign} {_bracket(low, high)}"


def _bracket(low: str, high: str) -> str:
    return f"({low} to {high})".replace(" ", "\N{NO-BREAK SPACE}")


def _chart(recipe: Recipe, shown: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> ShownChart:
    """Shares with their intervals: one place for each segment; of several answers, a panel for each segment,
    on one scale. If a question has a curve, it is drawn for each segment."""
    question = question_of(recipe)
    if question is not None and question.curve is not None:
        return _drawn_chart(recipe, _curves(question, question.curve, shown))
    if len(labels) == 1:
        places = [segment["label"] for segment in shown]
        parts = [("", places, [_drawn(segment, 0) for segment in shown])]
    else:
        parts = [
            (segment["label"], list(labels), [_drawn(segment, place) for place in range(len(labels))])
            for segment in shown
        ]
    ends = [end for _, _, drawn in parts for one in drawn for end in one if end is not None]
    low, high = min(0.0, *ends), max(*ends, 1.0)
    room = 0.06 * (high - low)
    panels = tuple(
        Panel(
            title=title,
            x=Axis(scale=Scale.CATEGORY, categories=tuple(places)),
            y=Axis(title=f"% of {SEGMENT}", low=low - room if low < 0 else 0.0, high=high + room),
            series=(_intervals(places, drawn), *_marks(places, drawn)),
        )
        for title, places, drawn in parts
    )
    return _drawn_chart(recipe, panels)


def _curves(question: Question, curve: Curve, shown: Sequence[Mapping[str, Any]]) -> tuple[Panel, ...]:
    drawn = {
        segment["label"]: curve_series(question, curve, segment["derived"], _true_answers(segment))
        for segment in shown
    }
    high = max(high for _, high in drawn.values())
    unit = curve_unit(question, curve, SEGMENT)
    return tuple(curve_panel(label, curve, unit, series, high) for label, (series, _) in drawn.items())


def _true_answers(segment: Mapping[str, Any]) -> Sequence[float] | None:
    true = segment.get("truth")
    return None if true is None else list(true["answers"])


def _drawn_chart(recipe: Recipe, panels: tuple[Panel, ...]) -> ShownChart:
    chart = Chart(
        title=f"{recipe.question} By segment",
        description="The share of each segment’s devices. The table says the same.",
        panels=panels,
        height=180,
        columns=COLUMNS if len(panels) > 1 else 1,
    )
    return shown_chart(chart, FIELD)


def _drawn(segment: Mapping[str, Any], place: int) -> tuple[float, float, float, float | None]:
    """Estimate, low, high and truth of a share, in percent."""
    low, high = segment["intervals"][0]["shares"][place]
    true = segment.get("truth")
    share = true["answers"][place] / true["devices"] if true and true["devices"] else None
    return 100 * segment["shares"][place], 100 * low, 100 * high, None if share is None else 100 * share


def _intervals(places: Sequence[str], drawn: Sequence[tuple[float, float, float, float | None]]) -> Series:
    x: list[Value] = []
    y: list[Value] = []
    for label, (_, low, high, _) in zip(places, drawn, strict=True):
        x += [label, label, None]
        y += [low, high, None]
    sizes = [CAP, CAP, 0] * len(places)
    return Series(
        name="interval, all of them together",
        role="interval-95",
        width=2,
        symbol="line-ew",
        size=sizes,
        x=x,
        y=y,
    )


def _marks(places: Sequence[str], drawn: Sequence[tuple[float, float, float, float | None]]) -> list[Series]:
    values: list[Value] = [estimate for estimate, *_ in drawn]
    found = [Series(name="estimate", role="estimate", symbol="circle", size=DOT, x=places, y=values)]
    truths: list[Value] = [truth for *_, truth in drawn]
    if any(truth is not None for truth in truths):
        found.append(
            Series(
                name="truth (simulation only)",
                role="truth",
                symbol="diamond-open",
                size=13,
                x=places,
                y=truths,
            )
        )
    return found
