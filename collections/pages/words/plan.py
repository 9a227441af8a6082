"""What a recipe was planned to give, compared with what was wanted; for drafts, open recipes and results
alike.
"""

from dataclasses import dataclass
from typing import Any

from panprivacy.planning.expectation import margin_points
from panprivacy.planning.recipe_plan import RecipePlan
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.shuffle.interface import ShuffleStatistic
from panprivacy.statistics.streams.interface import StreamStatistic
from web.numbers import number, significant


@dataclass(frozen=True)
class Planned:
    """The error that was to be expected when the recipe was made.

    Attributes:
        margin: how far the 95% interval was to reach from the estimate, with its unit: "± 2.0 points".
        basis: what it was computed for, as a clause.
        target: the wanted margin, with its unit; empty if none was stated.
        missed: whether more than the wanted margin was to be expected.
    """

    margin: str
    basis: str
    target: str = ""
    missed: bool = False


def margin_text(margin: float, unit: str) -> str:
    """2, "points" → "± 2.0 points"; for fractions the unit comes last."""
    return f"± {significant(margin)} {unit}"


def planned_of_devices(mechanism: CohortStatistic[Any], plan: RecipePlan, margin: float) -> Planned:
    """For as many devices as were stated; of recipes without a plan for a cohort that is just full."""
    stated, parameters = plan.population_size, mechanism.parameters
    points = margin_points(mechanism, margin, plan.devices(parameters))
    shown, unit = (margin, mechanism.unit) if points is None else (points, "points")
    if stated is None:
        basis = f"computed for a cohort of {number(parameters.cohort_size)} reports"
    else:
        basis = f"computed for {number(stated)} devices that hear of it"
    if mechanism.partial_errors is not None:
        basis += f", for all values but {mechanism.partial_errors.without}"
    return Planned(
        margin=margin_text(shown, unit),
        basis=basis,
        target="" if plan.target_margin is None else margin_text(plan.target_margin, unit),
        missed=plan.target_margin is not None and shown > plan.target_margin,
    )


def planned_of_shuffle(statistic: ShuffleStatistic[Any], plan: RecipePlan, margin: float) -> Planned:
    """For the batch, whose size is fixed."""
    devices = statistic.cohort_size
    basis = f"computed for a batch of {number(devices)} devices"
    if statistic.counts_devices:
        return Planned(margin_text(100 * margin / devices, "points"), basis)
    return Planned(margin_text(margin, statistic.unit), basis)


def planned_of_stream(statistic: StreamStatistic[Any], plan: RecipePlan, margin: float) -> Planned:
    """The error bound without announced intrusions."""
    note = f", {statistic.expected_note}" if statistic.expected_note else ""
    return Planned(margin_text(margin, statistic.unit), f"computed without announced intrusions{note}")
