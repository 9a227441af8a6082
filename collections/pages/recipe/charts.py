"""Charts as data: plain dictionaries that one static script draws with plotly.js.

No colour stands here. Every trace names its role in `meta`; the style sheet knows the
colours of the roles, in light and in dark mode.
"""

from typing import Any

from pages.recipe.presentation import percent
from recipes.models import Recipe
from releases.excerpt import Excerpt, largest_positions
from releases.models import Release, SimulatedTruth
from releases.selectors import (
    Interval,
    bounds_of,
    excerpt_of,
    joint_bounds_of,
    shown_interval_of,
    verdict_of,
)

THRESHOLDS = {"threshold": "threshold of the paper", "calibrated_threshold": "calibrated threshold"}
"""Detail of a test → its name in the legend."""

TRUTH_NAME = "truth (simulation only)"

MOST_DRAWN = 30
"""Estimates in a chart; of more, the largest. The table beside it has more."""

MARGIN = 0.06
"""Room beyond the outermost interval, as a share of the range."""


def release_figure(recipe: Recipe, release: Release, truth: SimulatedTruth | None) -> dict[str, Any]:
    """A dot for each estimate, with a thick 66% and a thin 95% interval, or with its error bound where no
    standard error is known or the bound is of several estimates at once; the result of a test beside its
    thresholds.

    One number lies on a horizontal axis, several stand side by side. The axis goes below
    zero where an interval does.
    """
    mechanism, excerpt = recipe.published.calibrated_statistic, excerpt_of(release)
    drawn = largest_positions(excerpt.values, MOST_DRAWN)
    positions = [excerpt.positions[row] for row in drawn]
    labels = [mechanism.label(position) for position in positions]
    values = [excerpt.values[row] for row in drawn]
    horizontal = mechanism.scalar
    intervals = [
        (name, role, width, interval.at(drawn)) for name, role, width, interval in _intervals_of(excerpt)
    ]
    traces = [
        _intervals(name, role, width, labels, interval, horizontal)
        for name, role, width, interval in intervals
    ]
    traces.append(_dots("estimate", "estimate", "circle", 11, labels, values, horizontal))
    shown = [0.0, *values]
    for *_, interval in intervals:
        shown += [*interval.low, *interval.high]
    for (key, name), role in zip(THRESHOLDS.items(), ("line-3", "line-4"), strict=True):
        if release.details and verdict_of(release) and key in release.details:
            traces.append(_dots(name, role, "line-ns-open", 28, labels, [release.details[key]], horizontal))
            shown.append(release.details[key])
    if truth is not None:
        truths = [truth.values[position] for position in positions]
        traces.append(_dots(TRUTH_NAME, "truth", "diamond-open", 13, labels, truths, horizontal))
        shown += truths
    low, high = min(shown), max(shown)
    room = MARGIN * (high - low)
    quantity = {
        "title": {"text": mechanism.unit, "standoff": 12},
        "automargin": True,
        # Zero is always in sight; below it only where an interval goes there.
        "range": [low - room if low < 0 else 0.0, high + room],
        "zeroline": True,
        "tickformat": ",",
    }
    # Labels such as 0, 1, 2+ are names of buckets, not numbers.
    category = {"type": "category", "categoryorder": "array", "categoryarray": labels, "automargin": True}
    layout = {
        "height": 240 if horizontal else 400,
        "margin": {"l": 60, "r": 20, "t": 10, "b": 50},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "hovermode": "closest",
        "xaxis": quantity if horizontal else category,
        "yaxis": {**category, "showticklabels": False} if horizontal else quantity,
    }
    return {"data": traces, "layout": layout}


def _intervals_of(excerpt: Excerpt) -> list[tuple[str, str, int, Interval]]:
    """(name, role, width of the line, interval), the wider interval first."""
    wide, narrow, bounds = (
        shown_interval_of(excerpt),
        shown_interval_of(excerpt, 0.66),
        bounds_of(excerpt),
    )
    if wide is not None and narrow is not None:
        return [("95% interval", "interval-95", 2, wide), ("66% interval", "interval-66", 7, narrow)]
    if bounds is not None:
        together = " for all together" if joint_bounds_of(excerpt) else ""
        name = f"error bound{together} (at least {percent(bounds.level)})"
        return [(name, "interval-95", 2, bounds)]
    return []


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
    name: str, role: str, width: int, labels: list[str], interval: Interval, horizontal: bool
) -> dict[str, Any]:
    # One line per interval, separated by gaps, so that the legend shows its thickness.
    places: list[str | None] = []
    ends: list[float | None] = []
    for label, low, high in zip(labels, interval.low, interval.high, strict=True):
        places += [label, label, None]
        ends += [low, high, None]
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
