"""What waiting is worth: the margin of an open collection if it closes now, and if it stays open.

Who shows it gives the rounded number of reports and public times only, so that it tells nothing else.
"""

import math
from dataclasses import dataclass
from typing import Any

from panprivacy.mechanisms.cohort import CohortStatistic
from panprivacy.planning.expectation import expected_margin, margin_points
from panprivacy.recipe_plan import REACHED
from panprivacy.trust_models import Servers

EARLIEST = 0.05
"""Part of the time that must have passed before a pace is taken for one."""


@dataclass(frozen=True)
class Forecast:
    """Expectations; None is what cannot be said.

    Attributes:
        now: the 95% margin if it closes now, in percentage points where devices are counted, else in the
            statistic's unit; None where so many reports hardly give a result.
        reports: how many there will be in the end at the pace so far; None where there is no pace yet.
        later: the margin with so many; None likewise.
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
) -> Forecast:
    """What to expect after `reports` (≥ 0, rounded down) in the part `passed` (0 to 1) of the time to report.

    Args:
        servers: the trust model.
        population_size: how many devices will hear of it; no more than its part that takes part can report.
    """
    parameters = mechanism.parameters
    later: float | None = None
    if reports > 0 and passed >= EARLIEST:
        later = reports / min(passed, 1.0)
        if population_size is not None:
            later = max(reports, min(later, population_size * parameters.sampling_rate))
    return Forecast(
        now=_margin(mechanism, reports, servers),
        reports=later,
        later=None if later is None else _margin(mechanism, later, servers),
    )


def _margin(mechanism: CohortStatistic[Any], reports: float, servers: type[Servers]) -> float | None:
    """The margin of so many reports; None where a result is less likely than `REACHED`."""
    parameters = mechanism.parameters
    if servers.release_probability(parameters.cohort_size, math.floor(reports), 1.0) < REACHED:
        return None
    population = max(1, round(reports / parameters.sampling_rate))
    margin = expected_margin(mechanism, population)
    points = margin_points(mechanism, margin, population)
    return margin if points is None else points
