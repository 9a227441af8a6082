"""The chart of spending over time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from ledger.selectors import Balance, Line
from pages.charts.description import Axis, Chart, Panel, Scale, Series, Value
from web.numbers import number

ROOM = 1.08
"""How far the axis extends beyond the highest line."""


def spending_chart(balance: Balance, lines: Sequence[Line], until: datetime) -> Chart:
    """The composed ε after each line of the book as steps, with the budget as a dashed line; the steps end
    when it becomes infinite.

    Args:
        balance: the population's present one.
        lines: of its book, newest first.
        until: right end of the time axis.
    """
    oldest_first = [line for line in reversed(lines) if line.composed is not None]
    steps = _steps(oldest_first, until)
    budget = None if balance.budget is None else balance.budget.epsilon
    highest = max([step.epsilon for step in steps if step.epsilon is not None] + [budget or 0.0])
    top = ROOM * highest or 1.0
    series = [
        Series(
            name="privacy loss (ε) of all recipes together",
            role="spent",
            # Spending jumps when a recipe is published, and stays.
            steps=True,
            width=3,
            # No mark where nothing happened: at the right end, and where it becomes infinite.
            symbol="circle",
            size=[8 if step.is_line else 0 for step in steps],
            x=[step.at for step in steps],
            y=[step.epsilon for step in steps],
        )
    ]
    if any(step.epsilon is None for step in steps):
        series.append(_leaps(steps, top))
    if budget is not None:
        span = [lines[-1].at, until]
        series.append(
            Series(name="budget now", role="budget", dash="dash", width=2, x=span, y=[budget, budget])
        )
    title = f"Privacy loss (ε) at δ = {number(balance.delta)}"
    return Chart(
        title=f"Spending of the population {balance.population.name}",
        description="The privacy loss (ε) of all recipes together after each line of the ledger.",
        panels=(
            Panel(x=Axis(scale=Scale.TIME), y=Axis(title=title, low=0.0, high=top), series=tuple(series)),
        ),
        height=240,
    )


@dataclass(frozen=True)
class _Step:
    """A point of the curve; `epsilon` is None if it is infinite."""

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
            # The curve continues to here, and ends.
            steps.append(_Step(line.at, last, is_line=False))
        steps.append(_Step(line.at, epsilon, is_line=True))
        last = epsilon
    return [*steps, _Step(until, last, is_line=False)]


def _leaps(steps: Sequence[_Step], top: float) -> Series:
    """A line that leaves the chart wherever ε becomes infinite."""
    times: list[Value] = []
    values: list[Value] = []
    for before, after in pairwise(steps):
        if before.epsilon is not None and after.epsilon is None:
            times += [after.at, after.at, None]
            values += [before.epsilon, top, None]
    leaps = len(times) // 3
    return Series(
        name="ε = ∞ from here on",
        role="spent",
        dash="dot",
        width=3,
        symbol="triangle-up",
        size=[0, 14, 0] * leaps,
        words=["", "∞", ""] * leaps,
        x=times,
        y=values,
    )
