"""Spending over time as data, drawn by the one static script."""

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ledger.selectors import Line, Standing

ROOM = 1.08
"""The axis goes so far beyond the highest line."""


def spending_figure(standing: Standing, lines: Sequence[Line], until: datetime) -> dict[str, Any]:
    """The composed ε after each line of the book as steps, with the budget as a dashed line.

    Args:
        standing: of the population now.
        lines: of its book, newest first.
        until: right end of the time axis.
    """
    oldest_first = [
        line for line in reversed(lines) if line.composed is not None and math.isfinite(line.composed)
    ]
    times = [line.at.isoformat() for line in oldest_first] + [until.isoformat()]
    values = [line.composed or 0.0 for line in oldest_first]
    values.append(values[-1] if values else 0.0)
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": "ε of all recipes together",
            "meta": "spent",
            # Spending jumps when a recipe is published, and stays.
            "line": {"shape": "hv", "width": 3},
            # No marker at the right end, where nothing happened.
            "marker": {"symbol": ["circle"] * len(oldest_first) + ["line-ew"], "size": 8},
            "x": times,
            "y": values,
        }
    ]
    highest = max(values)
    if standing.budget is not None:
        budget = standing.budget.epsilon
        highest = max(highest, budget)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": "budget now",
                "meta": "budget",
                "line": {"dash": "dash", "width": 2},
                "hoverinfo": "skip",
                "x": [times[0], times[-1]],
                "y": [budget, budget],
            }
        )
    layout = {
        "height": 340,
        "margin": {"l": 60, "r": 20, "t": 10, "b": 50},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "showlegend": True,
        "hovermode": "closest",
        "xaxis": {"type": "date", "automargin": True},
        "yaxis": {
            "title": {"text": f"ε at δ = {standing.delta:g}", "standoff": 12},
            "automargin": True,
            "range": [0.0, ROOM * highest or 1.0],
            "zeroline": True,
        },
    }
    return {"data": traces, "layout": layout}
