"""Reading simulations."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db.models import Q, QuerySet

from devices_sim.devices import simulated_class
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.shuffle.interface import ShuffleStatistic
from recipes.models import Recipe
from recipes.numbers import margins_with, numbers_of
from results.models import Release, SimulatedTruth
from results.rates import held_of
from simulations import device_counts
from simulations.chunk_sizes import seconds_per_device
from simulations.models import SeriesSimulation, Simulation
from simulations.outcome import CollectionResult, rejections, seconds_shared
from storage.answers.questions import State
from storage.columns import stored


class Stage(StrEnum):
    """How far a simulation is, as it is told to people and programs."""

    WAITING = "waiting"
    """Other simulations come first, or no worker has begun."""

    RUNNING = "running"
    """Devices report."""

    SUMMING = "summing"
    """All have; the reports are added up."""

    FINISHED = "finished"
    """The result is there, or the reason why nothing was released."""

    CANCELLED = "cancelled"
    FAILED = "failed"


MOST_AT_ONCE = 4
"""Simulations of analysts that run at a time; others wait for their turn."""

WORKER_WAIT = timedelta(seconds=15)
"""For so long after its devices were sent to workers, a simulation does not seem to wait for one."""

ABOUT_SECONDS = 6
"""What a simulation takes besides the work of its devices: polls, sums and the release."""

MEASURED = 10
"""Latest simulations by which the next one is estimated."""

ENDED = (Stage.FINISHED, Stage.CANCELLED, Stage.FAILED)

HELD = "the result is held, as more reports came than its tokens explain; an administrator decides"


@dataclass(frozen=True)
class Progress:
    """How far a simulation is.

    Attributes:
        seconds_left: until every device has reported, at the speed so far; None where nothing tells.
        ahead: simulations that come first.
    """

    stage: Stage
    seconds_left: int | None
    ahead: int = 0


def simulations_running() -> QuerySet[Simulation]:
    """Those whose devices still report, the oldest first."""
    return Simulation.objects.filter(state=Simulation.State.RUNNING).order_by("started_at")


def simulations_in_line() -> QuerySet[Simulation]:
    """Those of analysts that run or wait for their turn: those of visitors have places of their own, and
    those of commands need none."""
    return simulations_running().filter(try_number=None, at_once=None)


def series_running() -> QuerySet[SeriesSimulation]:
    """Series whose rounds are simulated, the oldest first."""
    running = SeriesSimulation.objects.filter(state=SeriesSimulation.State.RUNNING)
    return running.select_related("series__created_by").order_by("started_at")


def ahead_of(simulation: Simulation) -> int:
    """How many simulations of analysts come before this one; 0 if a command or a visitor began it."""
    if simulation.try_number is not None or simulation.at_once is not None:
        return 0
    earlier = Q(started_at__lt=simulation.started_at) | Q(
        started_at=simulation.started_at, pk__lt=simulation.pk
    )
    return simulations_in_line().filter(earlier).count()


def seconds_estimated(estimated: float) -> float:
    """About how long a simulation takes from its turn to its result, by how long the latest ones took.

    Args:
        estimated: work of its devices for one process, by constants, in seconds.
    """
    measured = Simulation.objects.filter(
        state=Simulation.State.REPORTED, begun_at__isnull=False, estimated_seconds__gt=0
    ).values_list("begun_at", "ended_at", "estimated_seconds")[:MEASURED]
    taken = sum((stored(ended) - stored(begun)).total_seconds() for begun, ended, _ in measured)
    expected = sum(seconds for _, _, seconds in measured)
    # Without any, as if one process worked.
    factor = max(taken, 0.0) / expected if expected else 1.0
    return ABOUT_SECONDS + factor * estimated


def seconds_expected(draft: RecipeDraft, devices: int) -> float:
    """How long this number of simulated devices takes, in seconds, as `seconds_estimated` gives it."""
    simulated = simulated_class(draft)(draft.plain_statistic)
    return seconds_estimated(devices * seconds_per_device(draft, simulated))


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
    begun_at = simulation.begun_at
    if begun_at is None:
        ahead = ahead_of(simulation)
        return Progress(Stage.WAITING if ahead >= MOST_AT_ONCE else Stage.RUNNING, None, ahead)
    taken = max(0.0, (now - begun_at).total_seconds())
    if not simulation.done:
        waits = simulation.devices > 0 and not simulation.problem and taken >= WORKER_WAIT.total_seconds()
        return Progress(Stage.WAITING if waits else Stage.RUNNING, None)
    return Progress(Stage.RUNNING, round(taken / simulation.done * (simulation.devices - simulation.done)))


@dataclass(frozen=True)
class SeriesProgress:
    """How far the simulation of a series is.

    Attributes:
        stage: `WAITING` if its round waits, else `RUNNING` until the last round has its result.
        rounds: in all.
        done: those with a result, or the reason why nothing was released.
        seconds_left: until the last has its result, at the pace of the rounds that have one; None before the
            first has.
        ahead: as of `Progress`.
        problem: what went wrong last, or what it waits for, as a clause; empty if nothing is to be said.
    """

    stage: Stage
    rounds: int
    done: int
    seconds_left: int | None
    ahead: int
    problem: str


def series_progress_of(simulation: SeriesSimulation, now: datetime) -> SeriesProgress:
    """How far the simulation of a series is at `now`."""
    series, rounds = simulation.series, simulation.series.draft["rounds"]
    done = series.rounds.filter(recipe__release__isnull=False).count()
    if simulation.state == SeriesSimulation.State.RUNNING and done == rounds:
        return SeriesProgress(Stage.FINISHED, rounds, done, None, 0, "")
    if simulation.state != SeriesSimulation.State.RUNNING:
        return SeriesProgress(Stage(simulation.state), rounds, done, None, 0, simulation.problem)
    stage, ahead, problem = Stage.RUNNING, 0, simulation.problem
    until, part = now, 0.0
    last = Simulation.objects.filter(recipe__round__series=series).select_related("recipe").first()
    if last is not None and not problem:
        progress = progress_of(last, now)
        stage = Stage.WAITING if progress.stage is Stage.WAITING else Stage.RUNNING
        ahead, problem = progress.ahead, problem_of(last)
    if last is not None and not Release.objects.filter(recipe=last.recipe_id).exists():
        until, part = last.started_at, last.done / last.devices if last.devices else 0.0
    # The pace of the rounds that have a result: so the time never rises while a round runs.
    taken = max(0.0, (until - simulation.started_at).total_seconds())
    left = round(taken / done * (rounds - done - part)) if done else None
    return SeriesProgress(stage, rounds, done, left, ahead, problem)


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
    # Without the time in line.
    begun_at = simulation.begun_at or simulation.started_at
    total = (release.released_at - begun_at).total_seconds()
    reporting = (simulation.ended_at - begun_at).total_seconds()
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
