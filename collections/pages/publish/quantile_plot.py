"""A quantile dot plot: how a result may deviate from the truth, as equally likely dots."""

from dataclasses import dataclass
from statistics import NormalDist

from panprivacy.planning.expectation import Z_95
from web.numbers import significant

DOTS = 50
"""Dots of the quantile plot: each stands for one in fifty results."""

WIDTH, DOT, COLUMN = 520.0, 23.0, 28.0
"""Width of the plot, diameter of a dot and distance of columns, in SVG units.

At this distance (0.28 standard errors) no column is lower than one further out.
"""

RANGE = 2.6
"""The plot shows deviations of up to this many standard errors; its outermost dots are at 2.33."""


@dataclass(frozen=True)
class Dot:
    """Centre of a dot, in SVG units."""

    x: float
    y: float


@dataclass(frozen=True)
class Tick:
    """A mark on the axis, in SVG units, and its label."""

    x: float
    label: str


@dataclass(frozen=True)
class QuantilePlot:
    """A quantile dot plot of a result's deviation from the truth."""

    dots: tuple[Dot, ...]
    ticks: tuple[Tick, ...]
    width: float
    height: float
    baseline: float
    radius: float


def quantile_plot(standard_error: float) -> QuantilePlot:
    """Fifty equally likely deviations from the truth, stacked where they fall together.

    The dots are the quantiles (i + ½)/50 of the normal distribution: by the central limit
    theorem this is how a sum of thousands of scrambled answers deviates.
    """
    scale = WIDTH / (2 * RANGE)
    column_of = [round(NormalDist().inv_cdf((index + 0.5) / DOTS) * scale / COLUMN) for index in range(DOTS)]
    tallest = max(column_of.count(column) for column in set(column_of))
    baseline = tallest * DOT + 4
    dots: list[Dot] = []
    height_of: dict[int, int] = {}
    for column in column_of:
        stacked = height_of.get(column, 0)
        height_of[column] = stacked + 1
        dots.append(Dot(round(WIDTH / 2 + column * COLUMN, 1), round(baseline - DOT * (stacked + 0.5), 1)))
    deviations = (-Z_95, -1.0, 0.0, 1.0, Z_95)
    ticks = tuple(
        Tick(round(WIDTH / 2 + z * scale, 1), ("+" if z > 0 else "") + significant(z * standard_error))
        for z in deviations
    )
    return QuantilePlot(tuple(dots), ticks, WIDTH, baseline + 34, baseline, DOT / 2 - 1)
