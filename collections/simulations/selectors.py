"""Reading simulations."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db.models import QuerySet

from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.shuffle.interface import ShuffleStatistic
from recipes.models import Recipe
from recipes.numbers import margins_with, numbers_of
from results.models import Release, SimulatedTruth
from results.rates import held_of
from simulations import device_counts
from simulations.models import Simulation
from simulations.outcome import CollectionResult, rejections, seconds_shared
from storage.answers.questions import State


class Stage(StrEnum):
    """How far a simulation is, as it is told to people and programs."""

    RUNNING = "running"
    """Devices report."""

    SUMMING = "summing"
    """All have; the reports are added up."""

    FINISHED = "finished"
    """The result is there, or the reason why nothing was released."""

    CANCELLED = "cancelled"
    FAILED = "failed"


ENDED = (Stage.FINISHED, Stage.CANCELLED, Stage.FAILED)

HELD = "the result is held, as more reports came than its tokens explain; an administrator decides"


@dataclass(frozen=True)
class Progress:
    """How far a simulation is.

    Attributes:
        seconds_left: until every device has reported, at the speed so far; None where nothing tells.
    """

    stage: Stage
    seconds_left: int | None


def simulations_running() -> QuerySet[Simulation]:
    """Those whose devices still report, the oldest first."""
    return Simulation.objects.filter(state=Simulation.State.RUNNING).order_by("started_at")


def simulation_of(recipe: Recipe) -> Simulation | None:
    """The simulation whose copy a recipe is, if it is one."""
    return Simulation.objects.filter(recipe=recipe).first()


def progress_of(simulation: Simulation, now: datetime) -> Progress:
    """How far a simulation is at `now`."""
    if simulation.state == Simulation.State.REPORTED:
        is_there = Release.objects.filter(recipe=simulation.recipe_id).exists()
        return Progress(Stage.FINISHED if is_there else Stage.SUMMING, None)
    if simulation.state != Simulation.State.RUNNING:
        return Progress(Stage(simulation.state), None)
    if not simulation.done:
        return Progress(Stage.RUNNING, None)
    taken = max(0.0, (now - simulation.started_at).total_seconds())
    return Progress(Stage.RUNNING, round(taken / simulation.done * (simulation.devices - simulation.done)))


def problem_of(simulation: Simulation) -> str:
    """What went wrong last, or what it waits for, as a clause; empty where nothing is to be said."""
    held = simulation.state == Simulation.State.REPORTED and held_of(simulation.recipe) is not None
    return HELD if held else simulation.problem


def outcome_of(simulation: Simulation) -> CollectionResult | None:
    """What came of a simulation; None where it has not come to its end, or cannot be read here."""
    release = Release.objects.filter(recipe=simulation.recipe_id).first()
    truth = SimulatedTruth.objects.filter(recipe=simulation.recipe_id).first()
    if release is None or truth is None or simulation.ended_at is None or simulation.recipe.unreadable:
        return None
    fleet = device_counts.of_json(simulation.totals)
    total = (release.released_at - simulation.started_at).total_seconds()
    reporting = (simulation.ended_at - simulation.started_at).total_seconds()
    return CollectionResult(
        recipe=simulation.recipe,
        fleet=fleet,
        release=release,
        rejected=rejections(simulation.recipe, fleet),
        truth=tuple(truth.values),
        seconds=seconds_shared(fleet, reporting=reporting, processing=total - reporting, total=total),
    )


def planned_margin(simulation: Simulation) -> float | State | None:
    """The 95% margin to expect of so many devices, of several values for all together: in percentage points
    if devices are counted, otherwise in the statistic's unit. Or why it is not known; None if none can be
    computed beforehand."""
    statistic: Any = simulation.recipe.published.calibrated_statistic
    if not simulation.devices:
        return None
    if isinstance(statistic, CohortStatistic):
        reports = simulation.devices * statistic.parameters.sampling_rate
        found = margins_with(simulation.recipe, [reports])
        return found if isinstance(found, State) else found[0].margin
    margin = numbers_of(simulation.recipe).margin
    if margin is None or not isinstance(statistic, ShuffleStatistic):
        return None
    return 100 * margin / statistic.cohort_size if statistic.counts_devices else margin
