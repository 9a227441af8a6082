"""How often intervals of released results hold, over a grid with corners.

`python -m tests.panprivacy.statistics.intervals.coverage_suite` prints the table of docs/intervals.md: the
least coverage of each row and column, in an hour. `--every 20` checks each twentieth point only.
"""

import argparse
import itertools
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

from panprivacy.accounting import noisy_count
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.randomized.vector_mean import VectorMean, VectorMeanParameters
from tests.panprivacy.statistics.intervals.truths import Coverage, coverage, coverage_of_coordinate

LEAST = 0.945
"""5% may miss, and half a percent is for what is taken together."""

LIKELY = 0.01
"""Results that come out more rarely are not held to anything."""

SEGMENTS = 20

DELTA = 1e-6

POPULATIONS = (2, 40, 1_000, 10_300, 1_000_000)
SHARES = (0, 0.001, 0.5, 0.98, 1)
EPSILONS = (0.1, 1, 6, 20)
RATES = (0.01, 0.1, 0.5, 0.9, 1)

COHORTS: dict[str, Callable[[float, float], float]] = {
    "far below": lambda mean, deviation: 0.3 * mean,
    "at": lambda mean, deviation: mean,
    "just above": lambda mean, deviation: mean + 1.5 * deviation,
}
"""How many reports a result needs, beside the number to expect; with two servers the usual margin is part of
it."""


@dataclass(frozen=True)
class Point:
    """A collection: devices, how many of them have the event, ε, sampling rate and cohort size."""

    population: int
    having: int
    epsilon: float
    rate: float
    cohort: int


def _vector(point: Point) -> Coverage | None:
    parameters = VectorMeanParameters(
        epsilon=point.epsilon,
        delta=DELTA,
        cohort_size=point.cohort,
        dimension=1,
        sampling_rate=point.rate,
    )
    try:
        statistic = VectorMean(parameters.calibrated()).with_noisy_count()
    except FieldError:  # more noise than devices can draw
        return None
    return coverage_of_coordinate(statistic, point.population, point.having)


def _count(point: Point, **options: object) -> Coverage:
    members = (point.population, point.having, point.epsilon, point.rate)
    return coverage(*members, 0.05, point.cohort, **options)


@dataclass(frozen=True)
class Kind:
    """Intervals, and whether the number of reports they are made from has noise."""

    noisy: bool
    coverage: Callable[[Point], Coverage | None]


INTERVALS = {
    "numbers of devices, one server": Kind(False, _count),
    "numbers of devices, two servers": Kind(True, lambda point: _count(point, noisy=True)),
    "shares of devices, one server": Kind(False, lambda point: _count(point, of_share=True)),
    f"over {SEGMENTS} segments, one server": Kind(False, lambda point: _count(point, coins=SEGMENTS)),
    f"over {SEGMENTS} segments, two servers": Kind(
        True, lambda point: _count(point, coins=SEGMENTS, noisy=True)
    ),
    "a coordinate of vectors, two servers": Kind(True, _vector),
}


def points(interval: str, needed: str) -> list[Point]:
    """Of the grid, where a result needs so many reports; none twice."""
    found = {}
    for population, share, epsilon, rate in itertools.product(POPULATIONS, SHARES, EPSILONS, RATES):
        mean = population * rate
        size = _cohort(COHORTS[needed](mean, math.sqrt(mean * (1 - rate))), INTERVALS[interval].noisy)
        if size <= population:
            found[Point(population, round(share * population), epsilon, rate, size)] = None
    return list(found)


def _cohort(needed: float, noisy: bool) -> int:
    """The smallest cohort size, from 2, with which a result usually needs so many reports."""
    low, high = 1, max(2, math.ceil(needed))
    while high - low > 1:
        middle = (low + high) // 2
        enough = middle + (noisy_count.usual_margin(middle) if noisy else 0) >= needed
        low, high = (low, middle) if enough else (middle, high)
    return high


def held(interval: str, point: Point) -> float | None:
    """Of the results that come out, how many hold; None if they come out too rarely, or cannot be asked."""
    found = INTERVALS[interval].coverage(point)
    return found.of_released if found is not None and 1 - found.nothing >= LIKELY else None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1)
    every = parser.parse_args().every
    write = sys.stdout.write
    write("| intervals of | " + " | ".join(f"needed {name}" for name in COHORTS) + " |\n|---|---|---|---|\n")
    for interval in INTERVALS:
        cells = []
        for cohort in COHORTS:
            found = [held(interval, point) for point in points(interval, cohort)[::every]]
            known = [one for one in found if one is not None]
            cells.append(f"{100 * min(known):.1f}% of {len(known)}")
        write(f"| {interval} | " + " | ".join(cells) + " |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
