"""The reproduced numbers as rows of tables and as charts, from the committed document."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from web.numbers import significant

PANEL_HEIGHT = 210
ROOM_ABOVE, ROOM_BELOW = 60, 70

# Colours come from the style sheet by role; dashes and symbols tell lines apart without them.
DASHES = {"baseline": "dot", "baseline-targeted": "dashdot", "aggregated": "dash", "sampled": "solid"}
SYMBOLS = {
    "baseline": "triangle-up",
    "baseline-targeted": "square",
    "aggregated": "diamond",
    "sampled": "circle",
}

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

RELATIONS = {"add_remove": "add/remove", "replace": "replacement"}


@dataclass(frozen=True)
class ClaimRow:
    """One line of the table of claims, as text."""

    place: str
    quantity: str
    terms: str
    printed: str
    computed: str
    verdict: str
    method: str
    why: str


@dataclass(frozen=True)
class FigureRow:
    """One line of a figure's table: a place on the axis of one panel, and each series there."""

    panel: str
    x: str
    y: tuple[str, ...]


@dataclass(frozen=True)
class FigureSection:
    """A figure with everything that the page says of it."""

    key: str
    title: str
    caption: str
    choices: str
    x_title: str
    y_title: str
    names: tuple[str, ...]
    rows: tuple[FigureRow, ...]
    figure: dict[str, Any]
    wide: bool

    @property
    def data_id(self) -> str:
        """Where the page carries the chart's data."""
        return f"{self.key}-data"


@dataclass(frozen=True)
class PaperSection:
    """One paper: its claims, and its figures."""

    key: str
    title: str
    summary: str
    claims: tuple[ClaimRow, ...]
    figures: tuple[FigureSection, ...]


def paper_sections(document: Mapping[str, Any]) -> tuple[PaperSection, ...]:
    """The whole document, paper by paper, in its order."""
    titles = list(dict.fromkeys(claim["paper"] for claim in document["claims"]))
    return tuple(
        _paper(
            f"paper-{number}",
            title,
            [claim for claim in document["claims"] if claim["paper"] == title],
            [figure for figure in document["figures"] if figure["paper"] == title],
        )
        for number, title in enumerate(titles, start=1)
    )


def _paper(
    key: str, title: str, claims: list[Mapping[str, Any]], figures: list[Mapping[str, Any]]
) -> PaperSection:
    printed = [claim for claim in claims if claim["agrees"] is not None]
    agreeing = sum(claim["agrees"] for claim in printed)
    summary = f"printed statements that agree: {agreeing} of {len(printed)}; numbers that are not printed: "
    summary += str(len(claims) - len(printed))
    return PaperSection(
        key, title, summary, tuple(map(claim_row, claims)), tuple(map(figure_section, figures))
    )


def claim_row(claim: Mapping[str, Any]) -> ClaimRow:
    """A claim as text."""
    terms = []
    if claim["relation"]:
        terms.append(RELATIONS[claim["relation"]])
    if claim["delta"] is not None:
        # δ is a power of ten wherever the papers name one.
        terms.append(f"δ = {power_of_ten(round(math.log10(claim['delta'])))}")
    return ClaimRow(
        place=claim["place"],
        quantity=claim["quantity"],
        terms=", ".join(terms),
        printed=claim["printed"] or "not printed",
        computed=significant(claim["computed"], 5),
        verdict=verdict_of(claim["agrees"]),
        method=claim["method"],
        why=claim["why"],
    )


def verdict_of(agrees: bool | None) -> str:
    """What is said of a claim; the first word is also the name of its style."""
    if agrees is None:
        return ""
    return "agrees" if agrees else "differs"


def figure_section(figure: Mapping[str, Any]) -> FigureSection:
    """A figure with its table and its chart."""
    names = list(dict.fromkeys(series["name"] for panel in figure["panels"] for series in panel["series"]))
    rows = []
    for panel in figure["panels"]:
        by_name = {series["name"]: series["y"] for series in panel["series"]}
        for at, x in enumerate(panel["x"]):
            values = tuple(_cell(by_name[name][at] if name in by_name else None) for name in names)
            rows.append(FigureRow(panel["title"], f"{x:,.0f}", values))
    return FigureSection(
        key=figure["key"],
        title=figure["title"],
        caption=figure["caption"],
        choices=figure["choices"],
        x_title=figure["x_title"],
        y_title=figure["y_title"],
        names=tuple(names),
        rows=tuple(rows),
        figure=chart(figure),
        wide=figure["columns"] > 1,
    )


def power_of_ten(exponent: int) -> str:
    """−8 → 10⁻⁸; 0 and 1 in full."""
    return {0: "1", 1: "10"}.get(exponent, "10" + str(exponent).translate(_SUPERSCRIPTS))


def _cell(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def chart(figure: Mapping[str, Any]) -> dict[str, Any]:
    """The figure for plotly.js: panels in a grid, common logarithmic axes, roles for colours in `meta`."""
    panels, columns = figure["panels"], figure["columns"]
    lines = -(-len(panels) // columns)
    layout: dict[str, Any] = {
        "height": ROOM_ABOVE + ROOM_BELOW + (PANEL_HEIGHT if lines > 1 else 320) * lines,
        "margin": {"l": 80, "r": 20, "t": ROOM_ABOVE + 20, "b": ROOM_BELOW},
        "legend": {"orientation": "h", "y": 1, "yref": "container", "yanchor": "top", "x": 0},
        "hovermode": "closest",
        "grid": {"rows": lines, "columns": columns, "pattern": "independent", "xgap": 0.08, "ygap": 0.22},
        "annotations": [],
    }
    x_ticks = _ticks([x for panel in panels for x in panel["x"]])
    y_ticks = _ticks([y for panel in panels for series in panel["series"] for y in series["y"]])
    traces: list[dict[str, Any]] = []
    named: set[str] = set()
    for at, panel in enumerate(panels):
        suffix = "" if at == 0 else str(at + 1)
        bottom, left = at + columns >= len(panels), at % columns == 0
        layout[f"xaxis{suffix}"] = _axis("x", figure["x_title"] if bottom else "", x_ticks, bottom, at)
        y_title = figure["y_title"] if left and lines == 1 else ""
        layout[f"yaxis{suffix}"] = _axis("y", y_title, y_ticks, left, at)
        if len(panels) > 1:
            layout["annotations"].append(
                _text(panel["title"], f"x{suffix} domain", f"y{suffix} domain", 0.5, 1, "bottom")
            )
        for series in panel["series"]:
            traces.append(_line(panel["x"], series, suffix, series["name"] not in named))
            named.add(series["name"])
    if lines > 1:
        # One title for all rows, beside the middle of them.
        title = _text(figure["y_title"], "paper", "paper", 0, 0.5, "middle")
        layout["annotations"].append({**title, "textangle": -90, "xanchor": "right", "xshift": -50})
    return {"data": traces, "layout": layout}


def _ticks(values: list[float]) -> list[int]:
    """Exponents of the powers of ten that are labelled: every one, or every second of many."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    step = 2 if high - low > 6 else 1
    return [exponent for exponent in range(low, high + 1) if exponent % step == 0]


def _axis(letter: str, title: str, ticks: list[int], labelled: bool, at: int) -> dict[str, Any]:
    axis: dict[str, Any] = {
        "type": "log",
        # Raised by characters: plotly.js would raise exponents by inline styles, against our policy.
        "tickmode": "array",
        "tickvals": [10.0**exponent for exponent in ticks],
        "ticktext": [power_of_ten(exponent) for exponent in ticks],
        "showticklabels": labelled,
        "title": {"text": title, "standoff": 8, "font": {"size": 14}},
        "automargin": labelled,
        "zeroline": False,
    }
    # The same scale everywhere: panels are there to be compared.
    return {**axis, "matches": letter} if at else axis


def _text(text: str, xref: str, yref: str, x: float, y: float, yanchor: str) -> dict[str, Any]:
    return {
        "text": text,
        "showarrow": False,
        "xref": xref,
        "yref": yref,
        "x": x,
        "y": y,
        "yanchor": yanchor,
    }


def _line(x: list[float], series: Mapping[str, Any], suffix: str, in_legend: bool) -> dict[str, Any]:
    role = series["role"]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": series["name"],
        "meta": role,
        "legendgroup": series["name"],
        "showlegend": in_legend,
        "line": {"width": 2, "dash": DASHES[role]},
        "marker": {"symbol": SYMBOLS[role], "size": 6},
        "x": x,
        "y": series["y"],
        "xaxis": f"x{suffix}",
        "yaxis": f"y{suffix}",
    }
