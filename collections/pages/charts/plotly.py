"""A chart as plotly.js takes it: plain data. No colour is set here; every trace names its role in `meta`."""

from datetime import datetime
from typing import Any

from pages.charts.description import Axis, Chart, Panel, Scale, Series, Value
from pages.charts.marks import OPEN, STROKES

LEGEND_LINE = 24
ROOM_ABOVE, AXIS_ROOM, ROW_GAP = 30, 80, 40
TOOLBAR = 40
"""Width of the right margin, in which the toolbar of plotly.js stands."""


def plotly_figure(chart: Chart) -> dict[str, Any]:
    """`data` and `layout`; panels are in a grid, and the same axes in all."""
    rows = -(-len(chart.panels) // chart.columns)
    height = chart.height * rows + ROW_GAP * (rows - 1)
    titled = any(panel.title for panel in chart.panels)
    # Panels with titles have the legend below: on narrow screens it takes a line for each name.
    below = LEGEND_LINE * len(chart.legend()) if titled else 0
    layout: dict[str, Any] = {
        "height": ROOM_ABOVE + height + AXIS_ROOM + (below or LEGEND_LINE * 2),
        "margin": {"l": 60, "r": TOOLBAR, "t": ROOM_ABOVE, "b": AXIS_ROOM + below},
        "legend": {
            **({"y": -AXIS_ROOM / height, "yanchor": "top"} if titled else {"y": 1.02, "yanchor": "bottom"}),
            "orientation": "h",
            "x": 0,
            "font": {"size": 12},
        },
        "showlegend": True,
        "hovermode": "closest",
    }
    if len(chart.panels) > 1:
        layout["grid"] = {"rows": rows, "columns": chart.columns, "pattern": "independent"}
        layout["grid"] |= {"xgap": 0.08, "ygap": 0.22}
    if titled:
        layout["annotations"] = [_panel_title(panel, at) for at, panel in enumerate(chart.panels)]
    data: list[dict[str, Any]] = []
    named: set[str] = set()
    for at, panel in enumerate(chart.panels):
        is_bottom, is_left = at + chart.columns >= len(chart.panels), at % chart.columns == 0
        layout[f"xaxis{_suffix(at)}"] = _axis(panel.x, is_bottom) | ({"matches": "x"} if at else {})
        alike = at and panel.y.title == chart.panels[0].y.title
        layout[f"yaxis{_suffix(at)}"] = _axis(panel.y, is_left) | ({"matches": "y"} if alike else {})
        for series in panel.series:
            data.append(_trace(series, at, shown=series.in_legend and series.name not in named))
            named.add(series.name)
    return {"data": data, "layout": layout}


def _suffix(at: int) -> str:
    return str(at + 1) if at else ""


def _trace(series: Series, at: int, *, shown: bool) -> dict[str, Any]:
    modes = {"lines": series.width > 0, "markers": bool(series.symbol), "text": any(series.words)}
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "+".join(mode for mode, used in modes.items() if used),
        "name": series.name,
        "meta": series.role,
        "legendgroup": series.name,
        "showlegend": shown,
        "x": [_plain(value) for value in series.x],
        "y": [_plain(value) for value in series.y],
        "xaxis": f"x{_suffix(at)}",
        "yaxis": f"y{_suffix(at)}",
        "connectgaps": False,
    }
    if series.width:
        trace["line"] = {
            "width": series.width,
            "dash": series.dash,
            "shape": "hv" if series.steps else "linear",
        }
    if series.filled:
        trace |= {"fill": "toself", "hoverinfo": "skip"}
    if series.symbol:
        stroke = series.symbol in STROKES and not series.symbol.endswith(OPEN)
        trace["marker"] = {"symbol": series.symbol + (OPEN if stroke else ""), "line": {"width": 2}}
        trace["marker"]["size"] = series.size if isinstance(series.size, int | float) else list(series.size)
    if any(series.links):
        trace["customdata"] = [link and link.address for link in series.links]
        trace["hoverinfo"] = "x+text"
        trace["hovertext"] = [link and link.words for link in series.links]
    if any(series.words):
        trace |= {"text": list(series.words), "textposition": "middle left", "cliponaxis": False}
    return trace


def _plain(value: Value) -> float | str | None:
    return value.isoformat() if isinstance(value, datetime) else value


def _axis(axis: Axis, at_edge: bool) -> dict[str, Any]:
    """Only axes at the edge of the grid have labels."""
    of: dict[str, Any] = {
        "title": {"text": axis.title if at_edge else "", "standoff": 8},
        "type": axis.scale.value,
        "automargin": at_edge,
        "showticklabels": at_edge and axis.labelled,
    }
    if axis.low is not None and axis.high is not None:
        of["range"] = [axis.low, axis.high]
    if axis.brush:
        of["rangeslider"] = {"visible": True}
    if axis.scale is Scale.CATEGORY:
        # Labels such as 0, 1, 2+ are names of buckets, not numbers.
        of |= {"categoryorder": "array", "categoryarray": list(axis.categories)}
    elif axis.ticks:
        # As text: plotly.js would raise exponents by inline styles, against our policy.
        of |= {"tickmode": "array", "tickvals": [value for value, _ in axis.ticks]}
        of["ticktext"] = [text for _, text in axis.ticks]
    elif axis.scale is Scale.LOG:
        of |= {"dtick": 1, "exponentformat": "none", "tickformat": ",~r"}
    elif axis.scale is Scale.LINEAR:
        of |= {"tickformat": ",", "zeroline": True}
        if axis.low is None:
            of["rangemode"] = "tozero"
    return of


def _panel_title(panel: Panel, at: int) -> dict[str, Any]:
    refs = {"xref": f"x{_suffix(at)} domain", "yref": f"y{_suffix(at)} domain"}
    return {"text": panel.title, "showarrow": False, "x": 0.5, "y": 1, "yanchor": "bottom", **refs}
