"""The value of waiting: the margin of an open collection if it closes at once, and if it stays open.

Callers pass only the rounded number of reports and public times, so that it reveals nothing else.
"""

import math
from dataclasses import dataclass
from typing import Any

from panprivacy.planning.expectation import expected_margin, margin_points
from panprivacy.planning.likelihood import REACHED
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.trust_models import Servers

EARLIEST = 0.05
"""Part of the time that must have passed for a pace to be computed."""


@dataclass(frozen=True)
class MarginForecast:
    """Expectations; None if unknown.

    Attributes:
        now: the 95% margin if it closes at once; None if that number of reports hardly gives a result. It is
            in percentage points if devices are counted, otherwise in the statistic's unit.
        reports: the expected final number at the pace so far; None if there is no pace yet.
        later: the margin with that number; None likewise.
    """

    now: float | None
    reports: float | None
    later: float | None


def forecast(
    mechanism: CohortStatistic[Any],
    reports: int,
    passed: float,
    population_size: int | None = None,
    *,
    servers: type[Servers],
) -> MarginForecast:
    """What to expect after `reports` (≥ 0, rounded down) in the part `passed` (0 to 1) of the time to report.

    Args:
        servers: the trust model.
        population_size: how many devices will receive it; at most the sampled part of them can report.
    """
    parameters = mechanism.parameters
    later: float | None = None
    if reports > 0 and passed >= EARLIEST:
        later = reports / min(passed, 1.0)
        if population_size is not None:
            later = max(reports, min(later, population_size * parameters.sampling_rate))
    return MarginForecast(
        now=_margin(mechanism, reports, servers),
        reports=later,
        later=None if later is None else _margin(mechanism, later, servers),
    )


def _margin(mechanism: CohortStatistic[Any], reports: float, servers: type[Servers]) -> float | None:
    """The margin with this number of reports; None if a result is less likely than `REACHED`."""
    parameters = mechanism.parameters
    if servers.release_probability(parameters.cohort_size, math.floor(reports), 1.0) < REACHED:
        return None
    population = max(1, round(reports / parameters.sampling_rate))
    margin = expected_margin(mechanism, population)
    points = margin_points(mechanism, margin, population)
    return margin if points is None else points
