"""Spending over time as data, drawn by the one static script."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from ledger.selectors import Balance, Line
from web.numbers import number

ROOM = 1.08
"""The axis goes so far beyond the highest line."""


def spending_figure(balance: Balance, lines: Sequence[Line], until: datetime) -> dict[str, Any]:
    """The composed ε after each line of the book as steps, with the budget as a dashed line; where it becomes
    infinite, the steps end.

    Args:
        balance: of the population now.
        lines: of its book, newest first.
        until: right end of the time axis.
    """
    oldest_first = [line for line in reversed(lines) if line.composed is not None]
    steps = _steps(oldest_first, until)
    budget = None if balance.budget is None else balance.budget.epsilon
    highest = max([step.epsilon for step in steps if step.epsilon is not None] + [budget or 0.0])
    top = ROOM * highest or 1.0
    span = [lines[-1].at.isoformat(), until.isoformat()]
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": "privacy loss (ε) of all recipes together",
            "meta": "spent",
            # Spending jumps when a recipe is published, and stays.
            "line": {"shape": "hv", "width": 3},
            "connectgaps": False,
            # Where nothing happened, no marker: at the right end, and where it becomes infinite.
            "marker": {"symbol": ["circle" if step.is_line else "line-ew" for step in steps], "size": 8},
            "x": [step.at.isoformat() for step in steps],
            "y": [step.epsilon for step in steps],
        }
    ]
    if any(step.epsilon is None for step in steps):
        traces.append(_leaps(steps, top))
    if budget is not None:
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": "budget now",
                "meta": "budget",
                "line": {"dash": "dash", "width": 2},
                "hoverinfo": "skip",
                "x": span,
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
            "title": {"text": f"Privacy loss (ε) at δ = {number(balance.delta)}", "standoff": 12},
            "automargin": True,
            "range": [0.0, top],
            "zeroline": True,
        },
    }
    return {"data": traces, "layout": layout}


@dataclass(frozen=True)
class _Step:
    """A point of the curve; `epsilon` is None where it is infinite."""

    at: datetime
    epsilon: float | None
    is_line: bool


def _steps(oldest_first: Sequence[Line], until: datetime) -> list[_Step]:
    """After each line, and at the right end. A gap follows where ε becomes infinite, and lasts until a line
    makes it finite again: what was spent can be returned."""
    steps: list[_Step] = []
    last: float | None = 0.0
    for line in oldest_first:
        epsilon = line.composed if math.isfinite(line.composed or 0.0) else None
        if epsilon is None:
            # The curve goes on to here, and ends.
            steps.append(_Step(line.at, last, is_line=False))
        steps.append(_Step(line.at, epsilon, is_line=True))
        last = epsilon
    return [*steps, _Step(until, last, is_line=False)]


def _leaps(steps: Sequence[_Step], top: float) -> dict[str, Any]:
    """A line that leaves the chart wherever ε becomes infinite."""
    times: list[str | None] = []
    values: list[float | None] = []
    for before, after in pairwise(steps):
        if before.epsilon is not None and after.epsilon is None:
            times += [after.at.isoformat(), after.at.isoformat(), None]
            values += [before.epsilon, top, None]
    return {
        "type": "scatter",
        "mode": "lines+markers+text",
        "name": "ε = ∞ from here on",
        "meta": "spent",
        "line": {"dash": "dot", "width": 3},
        "marker": {"symbol": ["line-ew", "triangle-up", "line-ew"] * (len(times) // 3), "size": 14},
        "text": ["", "∞", ""] * (len(times) // 3),
        "textposition": "middle left",
        "cliponaxis": False,
        "connectgaps": False,
        "hoverinfo": "name",
        "x": times,
        "y": values,
    }
