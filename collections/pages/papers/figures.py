"""A figure of the papers or of the theory as a chart and its table, from the committed document."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from web.numbers import number, significant

PANEL_HEIGHT, PLOT_HEIGHT = 210, 320
ROOM_ABOVE, AXIS_ROOM, LEGEND_LINE = 30, 80, 24

# Colours come from the style sheet by role; dashes and symbols tell lines apart without them. Lines of the
# theory have the colours in their order, and a dash that says what they rest on.
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
    **dict(zip(ROLES, ("circle", "diamond", "square", "triangle-up", "x"), strict=True)),
}

NOTHING = "–"

_SMALLEST_IN_FULL = 1e-3
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_AXES = {
    (True, True): "Both axes are logarithmic.",
    (True, False): "The horizontal axis is logarithmic.",
    (False, True): "The vertical axis is logarithmic.",
    (False, False): "",
}


@dataclass(frozen=True)
class Column:
    """The head of a column: whose values, and what they rest on where that is said."""

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
    """A figure with everything that its page says of it."""

    key: str
    title: str
    caption: str
    x_title: str
    y_title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    chart: dict[str, Any]
    panels: int
    wide: bool

    @property
    def data_id(self) -> str:
        """Where the page carries the chart's data."""
        return f"{self.key}-data"


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
        key=figure["key"],
        title=figure["title"],
        caption=" ".join(filter(None, sentences)),
        x_title=figure["x_title"],
        y_title=figure["y_title"],
        columns=tuple(heads.values()),
        rows=tuple(rows),
        chart=chart(figure),
        panels=len(panels),
        wide=figure.get("columns", 1) > 1,
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


def power_of_ten(exponent: int) -> str:
    """−8 → 10⁻⁸; 0 and 1 in full."""
    return {0: "1", 1: "10"}.get(exponent, "10" + str(exponent).translate(_SUPERSCRIPTS))


def chart(figure: Mapping[str, Any]) -> dict[str, Any]:
    """The figure for plotly.js: panels in a grid, the same axes in all, roles for colours in `meta`."""
    panels, columns = _panels(figure), figure.get("columns", 1)
    grid_lines = -(-len(panels) // columns)
    height = PANEL_HEIGHT * grid_lines if grid_lines > 1 else PLOT_HEIGHT
    names = list(dict.fromkeys(_label(line) for _, _, lines in panels for line in lines))
    legend_room = LEGEND_LINE * len(names)
    layout: dict[str, Any] = {
        "height": ROOM_ABOVE + height + AXIS_ROOM + legend_room,
        # The legend stands below: on narrow screens it takes a line for each name.
        "margin": {"l": 80, "r": 28, "t": ROOM_ABOVE, "b": AXIS_ROOM + legend_room},
        "legend": {"orientation": "h", "x": 0, "y": -AXIS_ROOM / height, "yanchor": "top"},
        "showlegend": True,
        "hovermode": "closest",
        "grid": {
            "rows": grid_lines,
            "columns": columns,
            "pattern": "independent",
            "xgap": 0.08,
            "ygap": 0.22,
        },
        "annotations": [],
    }
    logarithmic_x, logarithmic_y = _logarithmic(figure)
    across = _ticks([x for _, places, _ in panels for x in places]) if logarithmic_x else {"dtick": 1}
    heights = [y for _, _, lines in panels for line in lines for y in line["y"] if y is not None]
    up = _ticks(heights) if logarithmic_y else {"rangemode": "tozero"}
    traces: list[dict[str, Any]] = []
    for at, (title, places, lines) in enumerate(panels):
        suffix = "" if at == 0 else str(at + 1)
        bottom, left = at + columns >= len(panels), at % columns == 0
        layout[f"xaxis{suffix}"] = _axis("x", figure["x_title"] if bottom else "", across, bottom, at)
        y_title = figure["y_title"] if left and grid_lines == 1 else ""
        layout[f"yaxis{suffix}"] = _axis("y", y_title, up, left, at)
        if len(panels) > 1:
            layout["annotations"].append(
                _text(title, f"x{suffix} domain", f"y{suffix} domain", 0.5, 1, "bottom")
            )
        named = {trace["name"] for trace in traces}
        traces += _traces(places, lines, suffix, named)
    if grid_lines > 1:
        # One title for all rows, beside the middle of them.
        of_rows = _text(figure["y_title"], "paper", "paper", 0, 0.5, "middle")
        layout["annotations"].append({**of_rows, "textangle": -90, "xanchor": "right", "xshift": -50})
    return {"data": traces, "layout": layout}


def _panels(figure: Mapping[str, Any]) -> list[tuple[str, list[float], list[dict[str, Any]]]]:
    """Title, places and lines of each panel; a figure of the theory is one."""
    if "panels" in figure:
        return [(panel["title"], panel["x"], panel["series"]) for panel in figure["panels"]]
    return [("", figure["x"], figure["curves"])]


def _logarithmic(figure: Mapping[str, Any]) -> tuple[bool, bool]:
    return figure.get("logarithmic_x", True), figure.get("logarithmic_y", True)


def _label(line: Mapping[str, Any]) -> str:
    """What a line is called, with what it rests on where that is said."""
    return f"{line['name']} ({line['standing']})" if "standing" in line else str(line["name"])


def _traces(
    places: list[float], lines: list[dict[str, Any]], suffix: str, named: set[str]
) -> list[dict[str, Any]]:
    of_the_name = Counter(line["name"] for line in lines)
    return [
        {
            "type": "scatter",
            "mode": _mode(line["standing"]) if of_the_name[line["name"]] > 1 else "lines+markers",
            "name": _label(line),
            "meta": line.get("role", role),
            "legendgroup": _label(line),
            "showlegend": _label(line) not in named,
            "line": {"width": 2, "dash": DASHES[line.get("standing") or line["role"]]},
            "marker": {"symbol": SYMBOLS[line.get("role", role)], "size": 6},
            "x": places,
            "y": line["y"],
            "xaxis": f"x{suffix}",
            "yaxis": f"y{suffix}",
        }
        for line, role in zip(lines, ROLES, strict=False)
    ]


def _mode(standing: str) -> str:
    """Of one that is measured and computed as well: points on a line, where lines would cover each other."""
    return "markers" if standing == "measured" else "lines"


def _ticks(values: list[float]) -> dict[str, Any]:
    """A logarithmic axis: powers of ten, with 2 and 5 times each where few, every second where many."""
    smallest, largest = min(values), max(values)
    low, high = math.floor(math.log10(smallest)), math.ceil(math.log10(largest))
    factors = (1, 2, 5) if largest < 1_000 * smallest else (1,)
    step = 2 if high - low > 6 else 1
    ticks = [
        factor * 10.0**exponent
        for exponent in range(low, high + 1)
        if exponent % step == 0
        for factor in factors
    ]
    # As text: plotly.js would raise exponents by inline styles, against our policy.
    return {"type": "log", "tickmode": "array", "tickvals": ticks, "ticktext": [*map(_tick, ticks)]}


def _tick(tick: float) -> str:
    if 1e-3 <= tick < 1e6:
        return number(float(f"{tick:.6g}"))
    return power_of_ten(round(math.log10(tick)))


def _axis(letter: str, title: str, scale: dict[str, Any], labelled: bool, at: int) -> dict[str, Any]:
    axis = {
        **scale,
        "showticklabels": labelled,
        "title": {"text": title, "standoff": 8, "font": {"size": 14}},
        "automargin": labelled,
        "zeroline": False,
    }
    # The same scale everywhere: panels are there to be compared.
    return {**axis, "matches": letter} if at else axis


def _text(text: str, xref: str, yref: str, x: float, y: float, yanchor: str) -> dict[str, Any]:
    place = {"xref": xref, "yref": yref, "x": x, "y": y, "yanchor": yanchor}
    return {"text": text, "showarrow": False, **place}
