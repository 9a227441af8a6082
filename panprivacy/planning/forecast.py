"""The value of waiting: how many reports an open collection will have, and what margin they give.

Callers pass only the rounded number of reports and public times, so that it reveals nothing else.
"""

import math
from dataclasses import dataclass
from typing import Any

from panprivacy.formats.parameters import CohortParameters
from panprivacy.planning.expectation import shown_margin
from panprivacy.planning.likelihood import REACHED
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.trust_models import Servers

EARLIEST = 0.05
"""Part of the time that must have passed for a pace to be computed."""

DIGITS = 2
"""Significant digits of an expected number of reports."""


def final_reports(
    parameters: CohortParameters, reports: int, passed: float, population_size: int | None = None
) -> float | None:
    """The number of reports to expect in the end, at the pace so far, to `DIGITS`; None if there is no pace
    yet.

    Args:
        reports: so far, at least 0, rounded down.
        passed: the part of the time to report that has passed, from 0 to 1.
        population_size: how many devices will receive it; at most the sampled part of them can report.
    """
    if reports == 0 or passed < EARLIEST:
        return None
    pace = reports / min(passed, 1.0)
    if population_size is not None:
        pace = min(pace, population_size * parameters.sampling_rate)
    return max(float(reports), float(f"{pace:.{DIGITS}g}"))


@dataclass(frozen=True)
class ReachedMargin:
    """What a number of reports gives.

    Attributes:
        margin: the 95% margin: in percentage points if devices are counted, otherwise in the statistic's
            unit.
        likely: whether these reports give a result with a probability of at least `REACHED`.
    """

    margin: float
    likely: bool


def reached_margin(
    mechanism: CohortStatistic[Any], reports: float, *, servers: type[Servers]
) -> ReachedMargin:
    """What `reports` (above 0) give under the trust model of these servers."""
    parameters = mechanism.parameters
    population = max(1, round(reports / parameters.sampling_rate))
    chance = servers.release_probability(parameters.cohort_size, math.floor(reports), 1.0)
    return ReachedMargin(shown_margin(mechanism, population), chance >= REACHED)
