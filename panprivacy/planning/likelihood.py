"""How likely a recipe has a result, and with which cohort it is likely."""

from typing import Any

from panprivacy.planning.limits import USUAL
from panprivacy.planning.value_search import largest_number
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.trust_models.interface import Servers

REACHED = 0.95
"""Least probability with which there must be a result: without a full cohort nothing is released."""

_HARDLY = 0.0005
"""What is less likely is reported as not happening."""


def unlikely_sentence(statistic: Statistic[Any], servers: type[Servers], population_size: int) -> str:
    """The warning for a drafted or published recipe if a result is less likely than `REACHED`; empty if it is
    not."""
    if statistic.planning_obstacle:
        return ""
    size, rate = statistic.cohort_size, statistic.reporting_rate
    chance, surely = servers.release_probability(size, population_size, rate), ""
    if chance >= REACHED:
        return ""
    result = f"A result comes in only {100 * chance:.2g}% of cases"
    if chance < _HARDLY:
        result = "Nothing would be released"
    if (most := servers.sufficient_reports(size)) > size:
        surely = f"; with its margin a result takes up to {most:,} valid reports"
    return (
        f"{result}: about {round(population_size * rate):,} devices would report, and the cohort size is "
        f"{size:,}{surely}."
    )


def likely_cohort(statistic: Statistic[Any], servers: type[Servers], population_size: int) -> int | None:
    """The largest cohort size, up to the statistic's own, with which a result is likely (`REACHED`).

    None if devices with the usual limits refuse cohorts as small as that.
    """

    def likely(size: int) -> bool:
        return servers.release_probability(size, population_size, statistic.reporting_rate) >= REACHED

    return largest_number(likely, USUAL.smallest_cohort, statistic.cohort_size)


def unlikely_advice(statistic: Statistic[Any], servers: type[Servers], population_size: int) -> str:
    """`unlikely_sentence`, and the largest cohort with which a result is likely; empty if it is likely."""
    sentence = unlikely_sentence(statistic, servers, population_size)
    if not sentence:
        return ""
    if (largest := likely_cohort(statistic, servers, population_size)) is None:
        return f"{sentence} Even the smallest cohort that devices accept is too large."
    return f"{sentence} The largest cohort with which a result is likely is {largest:,}."
