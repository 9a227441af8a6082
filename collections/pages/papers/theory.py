"""The demonstrations of the theory as tables and charts, from the committed document."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pages.papers.papers import power_of_ten
from web.numbers import number, significant

PLOT_HEIGHT = 320
ROOM_ABOVE, AXIS_ROOM, LEGEND_LINE = 15, 65, 24

# Colours come from the style sheet by role; lines that rest on different things are dashed differently.
ROLES = ("line-1", "line-2", "line-3", "line-4", "line-5")
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "x")
DASHES = {"measured": "solid", "computed": "dot", "bound": "dash", "printed": "dashdot"}

NOTHING = "–"

_SMALLEST_IN_FULL = 1e-3

_AXES = {
    (True, True): "Both axes are logarithmic.",
    (True, False): "The horizontal axis is logarithmic.",
    (False, True): "The vertical axis is logarithmic.",
    (False, False): "",
}


@dataclass(frozen=True)
class Column:
    """The head of a column: whose values, and what they rest on."""

    name: str
    standing: str


@dataclass(frozen=True)
class Row:
    """One line of a chart's table."""

    x: str
    y: tuple[str, ...]


@dataclass(frozen=True)
class ChartSection:
    """A chart with its table."""

    key: str
    title: str
    caption: str
    axes: str
    x_title: str
    y_title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    figure: dict[str, Any]

    @property
    def data_id(self) -> str:
        """Where the page carries the chart's data."""
        return f"{self.key}-data"


@dataclass(frozen=True)
class FactRow:
    """One number that stands for itself."""

    quantity: str
    value: str
    standing: str


@dataclass(frozen=True)
class TheorySection:
    """One demonstration with everything that the page says of it."""

    key: str
    title: str
    sentence: str
    measured: str
    proved: str
    source: str
    seed: str
    charts: tuple[ChartSection, ...]
    facts: tuple[FactRow, ...]


def theory_sections(document: Mapping[str, Any]) -> tuple[TheorySection, ...]:
    """The whole document, in its order."""
    return tuple(map(theory_section, document["demonstrations"]))


def theory_section(demonstration: Mapping[str, Any]) -> TheorySection:
    """One demonstration as text and charts."""
    return TheorySection(
        key=demonstration["key"],
        title=demonstration["title"],
        sentence=demonstration["sentence"],
        measured=demonstration["measured"],
        proved=demonstration["proved"],
        source=demonstration["source"],
        seed=str(demonstration["seed"]),
        charts=tuple(map(chart_section, demonstration["charts"])),
        facts=tuple(
            FactRow(fact["quantity"], value_text(fact["value"], fact["standing"]), fact["standing"])
            for fact in demonstration["facts"]
        ),
    )


def chart_section(chart: Mapping[str, Any]) -> ChartSection:
    """A chart with its table."""
    logarithmic = {"x": chart["logarithmic_x"], "y": chart["logarithmic_y"]}
    return ChartSection(
        key=chart["key"],
        title=chart["title"],
        caption=chart["caption"],
        axes=_AXES[logarithmic["x"], logarithmic["y"]],
        x_title=chart["x_title"],
        y_title=chart["y_title"],
        columns=tuple(Column(curve["name"], curve["standing"]) for curve in chart["curves"]),
        rows=tuple(
            Row(number(x), tuple(value_text(curve["y"][at], curve["standing"]) for curve in chart["curves"]))
            for at, x in enumerate(chart["x"])
        ),
        figure=figure(chart),
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


def figure(chart: Mapping[str, Any]) -> dict[str, Any]:
    """The chart for plotly.js, with roles for colours in `meta`."""
    curves = chart["curves"]
    standings = Counter(curve["name"] for curve in curves)
    heights = [y for curve in curves for y in curve["y"] if y is not None]
    traces = [
        {
            "type": "scatter",
            "mode": _mode(curve["standing"]) if standings[curve["name"]] > 1 else "lines+markers",
            "name": f"{curve['name']} ({curve['standing']})",
            "meta": role,
            "line": {"width": 2, "dash": DASHES[curve["standing"]]},
            "marker": {"symbol": symbol, "size": 7},
            "x": chart["x"],
            "y": curve["y"],
        }
        for curve, role, symbol in zip(curves, ROLES, SYMBOLS, strict=False)
    ]
    legend_room = LEGEND_LINE * len(curves)
    layout: dict[str, Any] = {
        "height": ROOM_ABOVE + PLOT_HEIGHT + AXIS_ROOM + legend_room,
        # The legend stands below: on narrow screens it takes a line for each curve.
        "margin": {"l": 70, "r": 28, "t": ROOM_ABOVE, "b": AXIS_ROOM + legend_room},
        "legend": {"orientation": "h", "x": 0, "y": -AXIS_ROOM / PLOT_HEIGHT, "yanchor": "top"},
        "showlegend": True,
        "hovermode": "closest",
        "xaxis": _logarithmic(chart["x"]) if chart["logarithmic_x"] else {"dtick": 1},
        "yaxis": _logarithmic(_powers(heights)) if chart["logarithmic_y"] else {"rangemode": "tozero"},
    }
    for name, title in (("xaxis", chart["x_title"]), ("yaxis", chart["y_title"])):
        layout[name] |= {
            "title": {"text": title, "standoff": 8, "font": {"size": 14}},
            "automargin": True,
            "zeroline": False,
        }
    return {"data": traces, "layout": layout}


def _mode(standing: str) -> str:
    """Of one that is measured and computed as well: points on a line, where lines would cover each other."""
    return "markers" if standing == "measured" else "lines"


def _powers(values: list[float]) -> list[float]:
    """The ticks of a logarithmic axis: powers of ten, with 2 and 5 times each where there are few."""
    smallest, largest = min(values), max(values)
    low, high = math.floor(math.log10(smallest)), math.ceil(math.log10(largest))
    factors = (1, 2, 5) if largest < 1_000 * smallest else (1,)
    return [factor * 10.0**exponent for exponent in range(low, high + 1) for factor in factors]


def _logarithmic(ticks: Sequence[float]) -> dict[str, Any]:
    # As text: plotly.js would raise exponents by inline styles, against our policy.
    return {
        "type": "log",
        "tickmode": "array",
        "tickvals": ticks,
        "ticktext": [_tick(tick) for tick in ticks],
    }


def _tick(tick: float) -> str:
    if 1e-3 <= tick < 1e6:
        return number(float(f"{tick:.6g}"))
    return power_of_ten(round(math.log10(tick)))
