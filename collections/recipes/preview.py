"""What an analyst can expect of a recipe before anyone publishes it: figures that follow typing."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any
from urllib.parse import urlencode

from panprivacy.mechanisms.interface import Mechanism
from recipes.presentation import Z_95, margin, significant
from recipes.sentences import sampling_sentence

DOTS = 50
"""Dots of the quantile plot: each stands for one in fifty results."""

WIDTH, DOT, COLUMN = 520.0, 23.0, 28.0
"""Width of the plot, diameter of a dot and distance of columns, in SVG units.

At this distance (0.28 standard errors) no column is lower than one further out.
"""

RANGE = 2.6
"""The plot shows deviations of up to so many standard errors; its outermost dots lie at 2.33."""


@dataclass(frozen=True)
class Dot:
    """Centre of a dot, in SVG units."""

    x: float
    y: float


@dataclass(frozen=True)
class Tick:
    """A mark on the axis, in SVG units, and what it says."""

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


@dataclass(frozen=True)
class Preview:
    """Everything that the preview shows.

    Attributes:
        standard_error, margin, noise: in `unit`; `noise` is the change between two such
            releases below which it looks like noise (95 %).
        points: the standard error in percentage points of the population, for statistics
            that count devices; else empty.
        reporting: number of devices expected to report.
        releases_nothing: whether fewer are expected than the cohort size.
        plan_query: for the address of the planner with the same numbers.
    """

    unit: str
    standard_error: str
    margin: str
    points: str
    margin_points: str
    noise: str
    population_size: int
    reporting: int
    cohort_size: int
    releases_nothing: bool
    sampling: str
    plot: QuantilePlot
    plan_query: str


def preview_of(mechanism: Mechanism[Any], population_size: int) -> Preview:
    """What to expect if `population_size` devices (≥ 1) hear of a recipe with this (calibrated) mechanism."""
    error = mechanism.expected_standard_error(population_size)
    parameters = mechanism.parameters
    reporting = round(population_size * parameters.sampling_rate)
    counts_devices = mechanism.counts_devices
    return Preview(
        unit=mechanism.unit,
        standard_error=significant(error),
        margin=significant(margin(error)),
        points=significant(100 * error / population_size) if counts_devices else "",
        margin_points=significant(100 * margin(error) / population_size) if counts_devices else "",
        noise=significant(Z_95 * math.sqrt(2) * error),
        population_size=population_size,
        reporting=reporting,
        cohort_size=parameters.cohort_size,
        releases_nothing=reporting < parameters.cohort_size,
        sampling=sampling_sentence(parameters.sampling_rate),
        plot=quantile_plot(error),
        plan_query=_plan_query(mechanism, population_size),
    )


def _plan_query(mechanism: Mechanism[Any], population_size: int) -> str:
    derived = mechanism.parameters.derived_names()
    entered = {name: value for name, value in mechanism.parameters.as_dict().items() if name not in derived}
    return urlencode({"statistic": mechanism.statistic, "population_size": population_size, **entered})


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
