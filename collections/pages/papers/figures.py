"""A figure of the papers or of the theory as a chart and its table, from the committed document."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pages.charts.description import Axis, Chart, Panel, Scale, Series
from pages.charts.shown import ShownChart, shown_chart
from pages.charts.ticks import log_ticks, power_of_ten
from web.numbers import number, significant

PANEL_HEIGHT, PLOT_HEIGHT = 170, 280

# Colours come from the style sheet by role; dashes and symbols distinguish lines without them. Lines of the
# theory have the colours in their order, and a dash that shows what they rest on.
ROLES = ("line-1", "line-2", "line-3", "line-4", "line-5")
DASHES = {
    "baseline": "dot",
    "baseline-targeted": "dashdot",
    "aggregated": "dash",
    "sampled": "solid",
    "measured": "solid",
    "computed": "dot",
    "bound": "dash",
    "printed": "dashdot",
}
SYMBOLS = {
    "baseline": "triangle-up",
    "baseline-targeted": "square",
    "aggregated": "diamond",
    "sampled": "circle",
    "measured": "x",
    **dict(zip(ROLES, ("circle", "diamond", "square", "triangle-up", "x"), strict=True)),
}

NOTHING = "–"

_Panel = tuple[str, list[float], list[dict[str, Any]]]
"""Title, places on the horizontal axis, and lines of a panel."""

_SMALLEST_IN_FULL = 1e-3
_AXES = {
    (True, True): "Both axes are logarithmic.",
    (True, False): "The horizontal axis is logarithmic.",
    (False, True): "The vertical axis is logarithmic.",
    (False, False): "",
}


@dataclass(frozen=True)
class Column:
    """The head of a column: whose values, and what they rest on if the document states it."""

    name: str
    standing: str


@dataclass(frozen=True)
class Row:
    """One line of a figure's table: a place on the axis of one panel, and each column there."""

    panel: str
    x: str
    y: tuple[str, ...]


@dataclass(frozen=True)
class FigureSection:
    """A figure with all texts of its page."""

    key: str
    title: str
    caption: str
    x_title: str
    y_title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    chart: ShownChart
    panels: int


def figure_section(figure: Mapping[str, Any]) -> FigureSection:
    """A figure with its table and its chart."""
    panels = _panels(figure)
    heads = {
        _label(line): Column(line["name"], line.get("standing", ""))
        for _, _, lines in panels
        for line in lines
    }
    rows = []
    for title, places, lines in panels:
        values = {_label(line): line["y"] for line in lines}
        for at, x in enumerate(places):
            cells = [
                value_text(values[label][at] if label in values else None, head.standing)
                for label, head in heads.items()
            ]
            rows.append(Row(title, number(x), tuple(cells)))
    sentences = (figure["caption"], _AXES[_logarithmic(figure)], figure.get("choices", ""))
    return FigureSection(
        **{name: figure[name] for name in ("key", "title", "x_title", "y_title")},
        caption=" ".join(filter(None, sentences)),
        columns=tuple(heads.values()),
        rows=tuple(rows),
        chart=shown_chart(described(figure), figure["key"]),
        panels=len(panels),
    )


def value_text(value: float | str | None, standing: str) -> str:
    """A value for people: three significant digits, whole numbers in full, words as they are.

    A bound is shown as the document has it: rounded, one from below could promise what was not shown.
    """
    if value is None:
        return NOTHING
    if not isinstance(value, float) or standing == "bound":
        return number(value)
    if 0 < abs(value) < _SMALLEST_IN_FULL:
        exponent = math.floor(math.log10(abs(value)))
        return f"{significant(value / 10.0**exponent, 3)} × {power_of_ten(exponent)}"
    return significant(value, 3)


def described(figure: Mapping[str, Any]) -> Chart:
    """The figure as a chart: panels in a grid, the same axes in all, as panels are there to be compared."""
    panels, columns = _panels(figure), figure.get("columns", 1)
    logarithmic_x, logarithmic_y = _logarithmic(figure)
    x = _axis(figure["x_title"], [x for _, places, _ in panels for x in places], logarithmic_x)
    if not logarithmic_x:
        x = replace(x, ticks=tuple((float(tick), str(tick)) for tick in _whole_numbers(panels)))
    heights = [y for _, _, lines in panels for line in lines for y in line["y"] if y is not None]
    y = _axis(figure["y_title"], heights, logarithmic_y)
    return Chart(
        title=figure["title"],
        description=figure["caption"],
        panels=tuple(
            Panel(title=title, x=x, y=y, series=tuple(_series(places, lines)))
            for title, places, lines in panels
        ),
        height=PANEL_HEIGHT if len(panels) > columns else PLOT_HEIGHT,
        columns=columns,
    )


def _axis(title: str, values: list[float], logarithmic: bool) -> Axis:
    if not logarithmic:
        return Axis(title=title)
    return Axis(title=title, scale=Scale.LOG, ticks=log_ticks(min(values), max(values)))


def _whole_numbers(panels: Sequence[_Panel]) -> range:
    places = [x for _, places, _ in panels for x in places]
    return range(math.floor(min(places)), math.ceil(max(places)) + 1)


def _panels(figure: Mapping[str, Any]) -> list[_Panel]:
    """Title, places and lines of each panel; a figure of the theory is one."""
    if "panels" in figure:
        return [(panel["title"], panel["x"], panel["series"]) for panel in figure["panels"]]
    return [("", figure["x"], figure["curves"])]


def _logarithmic(figure: Mapping[str, Any]) -> tuple[bool, bool]:
    return figure.get("logarithmic_x", True), figure.get("logarithmic_y", True)


def _label(line: Mapping[str, Any]) -> str:
    """What a line is called, with what it rests on if the document states it."""
    return f"{line['name']} ({line['standing']})" if "standing" in line else str(line["name"])


def _series(places: list[float], lines: list[dict[str, Any]]) -> list[Series]:
    of_the_name = Counter(line["name"] for line in lines)
    found = []
    for line, role in zip(lines, ROLES, strict=False):
        # For a series that is both measured and computed: points on a line, because two lines would cover
        # each other.
        alone = of_the_name[line["name"]] == 1
        measured = (line.get("standing") or line.get("role")) == "measured"
        found.append(
            Series(
                name=_label(line),
                role=line.get("role", role),
                width=0 if measured and (not alone or line.get("role")) else 2,
                dash=DASHES[line.get("standing") or line["role"]],
                symbol=SYMBOLS[line.get("role", role)] if alone or measured else "",
                size=6,
                x=places,
                y=line["y"],
            )
        )
    return found
