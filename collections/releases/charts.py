"""Charts as data: plain dictionaries that one static script draws with plotly.js.

No colour stands here. Every trace names its role in `meta`; the style sheet knows the
colours of the roles, in light and in dark mode.
"""

from typing import Any

from recipes.models import Recipe
from recipes.presentation import Z_66, Z_95
from releases.models import Release, SimulatedTruth

TRUTH_NAME = "truth (simulation only)"


def release_figure(recipe: Recipe, release: Release, truth: SimulatedTruth | None) -> dict[str, Any]:
    """A dot for each estimate, with a thick 66 % and a thin 95 % interval.

    One number lies on a horizontal axis, several stand side by side. The axis goes below
    zero where an interval does.
    """
    mechanism = recipe.published.mechanism
    labels = list(mechanism.labels)
    values: list[float] = list(release.values)
    errors: list[float] = list(release.standard_errors)
    horizontal = mechanism.scalar
    traces = [
        _intervals(
            "95 % interval", "interval-95", 2, labels, values, [Z_95 * error for error in errors], horizontal
        ),
        _intervals(
            "66 % interval", "interval-66", 7, labels, values, [Z_66 * error for error in errors], horizontal
        ),
        _dots("estimate", "estimate", "circle", 11, labels, values, horizontal),
    ]
    if truth is not None:
        traces.append(_dots(TRUTH_NAME, "truth", "diamond-open", 13, labels, list(truth.values), horizontal))
    quantity = {
        "title": {"text": mechanism.unit},
        "zeroline": True,
        "rangemode": "tozero",
        "tickformat": ",~r",
    }
    if mechanism.unit == "devices":
        quantity["tickformat"] = ",.0f"
    # Labels such as 0, 1, 2+ are names of buckets, not numbers.
    category = {"type": "category", "categoryorder": "array", "categoryarray": labels, "automargin": True}
    layout = {
        "height": 240 if horizontal else 400,
        "margin": {"l": 60, "r": 20, "t": 10, "b": 50},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "hovermode": "closest",
        "xaxis": quantity if horizontal else {**category, "title": {"text": "bucket"}},
        "yaxis": {**category, "showticklabels": False} if horizontal else quantity,
    }
    return {"data": traces, "layout": layout}


def _dots(
    name: str, role: str, symbol: str, size: int, labels: list[str], values: list[float], horizontal: bool
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "meta": role,
        "marker": {"symbol": symbol, "size": size, "line": {"width": 2}},
        **_axes(labels, values, horizontal),
    }


def _intervals(
    name: str,
    role: str,
    width: int,
    labels: list[str],
    values: list[float],
    halves: list[float],
    horizontal: bool,
) -> dict[str, Any]:
    # One line per interval, separated by gaps, so that the legend shows its thickness.
    places: list[str | None] = []
    ends: list[float | None] = []
    for label, value, half in zip(labels, values, halves, strict=True):
        places += [label, label, None]
        ends += [value - half, value + half, None]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "meta": role,
        "line": {"width": width},
        "connectgaps": False,
        "hoverinfo": "skip",
        **_axes(places, ends, horizontal),
    }


def _axes(labels: list[Any], values: list[Any], horizontal: bool) -> dict[str, Any]:
    return {"x": values, "y": labels} if horizontal else {"x": labels, "y": values}
