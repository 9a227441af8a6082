"""Simulating a whole series: its rounds one after the other, each as a simulation that waits in line."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from devices_sim.devices import simulated_class
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import Description, as_typed
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.series import SeriesDraft
from partners.recipe_document import SIMULATION_LIFETIME
from recipes.errors import PartnerUnavailableError
from recipes.models import Recipe
from recipes.planner.guarantees import Guaranteed, NotComputedError, guarantees_require
from results.models import Release
from series.operations import round_simulated, series_publish_simulated, series_stop_simulated
from simulations import workloads
from simulations.chunk_sizes import LARGEST_SECONDS, work_seconds
from simulations.errors import SimulationRefusedError
from simulations.models import SeriesSimulation, Simulation
from simulations.operations import (
    MOST_IN_LINE,
    NOT_A_SIMULATION_S,
    require_address,
    simulation_cancel,
    simulation_publish,
)
from simulations.selectors import series_running
from storage import clock
from storage.waits import wait_after

MOST_ROUNDS = 20
"""Of a simulated series."""

POINTS = Description(
    label="Points",
    help="By how many percentage points the share changes in the last round.",
    minimum=-100,
    maximum=100,
)

FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=2), timedelta(minutes=2)
"""Until a round is tried again that could not begin."""

TOO_LONG = "it did not end within two days"
"""Why a series is given up whose rounds do not end."""


@dataclass(frozen=True)
class SeriesWorkload:
    """The devices of each round.

    Attributes:
        devices: of a round, spread evenly over the segments.
        shares: of them with the event: one for each segment, or one for all.
        risen: the share that changes in the last round, by its place; None if none does.
        points: by how many percentage points it changes.
    """

    devices: int
    shares: tuple[float, ...]
    risen: int | None
    points: float

    @classmethod
    def checked(cls, workload: object, segments: tuple[str, ...]) -> Self:
        """Read an object with `devices`, `shares`, and perhaps `rises` with `segment` and `points`.

        Raises:
            FieldError: names the field, such as `workload.rises.points`.
        """
        members = _object("workload", workload, ("devices", "shares"), ("rises",))
        devices = workloads.DEVICES.check("workload.devices", int, members["devices"])
        shares = workloads.checked_shares("workload.shares", members["shares"], segments)
        rises = members.get("rises")
        if rises is None:
            return cls(devices, shares, None, 0.0)
        needed = ("segment", "points") if segments else ("points",)
        members = _object("workload.rises", rises, needed, ())
        points = POINTS.check("workload.rises.points", float, members["points"])
        place = 0
        if segments:
            if members["segment"] not in segments:
                known = ", ".join(segments)
                raise FieldError(
                    "workload.rises.segment", f"must be one of {known}, not {as_typed(members['segment'])}"
                )
            place = segments.index(str(members["segment"]))
            shares = shares if len(shares) > 1 else shares * len(segments)
        percent = 100 * shares[place]
        if not 0 <= percent + points <= 100:
            raise FieldError(
                "workload.rises.points",
                f"must be {-percent:g} to {100 - percent:g}, because the share is {percent:g}%",
            )
        return cls(devices, shares, place, points)

    def of_round(self, *, last: bool) -> dict[str, Any]:
        """The workload of one round's simulation."""
        shares = list(self.shares)
        if last and self.risen is not None:
            shares[self.risen] = min(1.0, max(0.0, shares[self.risen] + self.points / 100))
        return {"kind": workloads.SHARES, "devices": self.devices, "shares": shares}


def series_simulation_start(
    *,
    members: Mapping[str, object],
    workload: object,
    seed: object,
    actor: User | None,
    public: bool = False,
    draft_of: Recipe | None = None,
) -> SeriesSimulation:
    """Publish a copy of a series for simulated devices with its first round; workers begin the others, each
    when the one before has its result. No budget is spent.

    Do not call it in a transaction: another server may be asked on the way.

    Args:
        members: of a series file; its times are left out. The last round is as of now, the others lie before.
        workload: as of `SeriesWorkload.checked`.
        seed: of the first round, and each later one has one more; None draws them from `secrets`.
        public: as of `simulation_start`, for the series and all of its rounds.
        draft_of: the draft whose review asked for it, if one did.

    Raises:
        FieldError: a field of the series, or `workload.…`; nothing was stored.
        PartnerUnavailableError, SimulationRefusedError, NotComputedError: as `simulation_start`.
    """
    require_address()
    now = clock.database_now()
    asked = SeriesDraft.from_mapping(
        {name: value for name, value in members.items() if name not in NOT_A_SIMULATION_S}
    )
    draft = asked.ending(now, _rounds(asked, now))
    openings = draft.openings(now)
    devices = SeriesWorkload.checked(workload, draft.recipe.segments)
    guaranteed = None
    if actor is not None:
        guaranteed = guarantees_require(asked=draft.recipe)
        guaranteed.require_kept()
    _require_in_time(draft.recipe, len(openings), devices, guaranteed)
    first = None if seed is None else workloads.SEED.check("seed", int, seed)
    _require_capacity()
    made: list[SeriesSimulation] = []

    def store(simulation: Simulation) -> None:
        # Counted once more, by one at a time: `simulation_publish` has locked the log.
        _require_capacity()
        series = series_publish_simulated(draft=draft, actor=actor, private=not public)
        round_simulated(simulation.recipe, series=series, number=1)
        made.append(
            SeriesSimulation.objects.create(
                series=series,
                draft=draft_of,
                workload=workload,
                seed="" if first is None else str(first),
                started_at=now,
            )
        )

    simulation_publish(
        members=draft.round(1, len(openings), openings[0]).as_dict(),
        workload=devices.of_round(last=len(openings) == 1),
        seed=first,
        actor=actor,
        private=not public,
        guaranteed=guaranteed,
        stored=store,
    )
    return made[0]


def _require_capacity() -> None:
    if series_running().count() >= MOST_IN_LINE:
        raise SimulationRefusedError(f"{MOST_IN_LINE} series are simulated already; cancel one first")


def series_simulation_advance(*, simulation: SeriesSimulation) -> None:
    """Begin the next round if the one before has its result, or end as the rounds did. Safe to run at any
    time, even twice."""
    series, now = simulation.series, clock.database_now()
    if simulation.started_at + 2 * SIMULATION_LIFETIME <= now:
        _end(simulation, SeriesSimulation.State.FAILED, TOO_LONG)
        return
    last = series.rounds.order_by("-number").values_list("number", "recipe").first()
    if last is None:
        raise TypeError(f"{series} was published with its first round")
    number, recipe = last
    own = Simulation.objects.get(recipe=recipe)
    if own.state in (Simulation.State.CANCELLED, Simulation.State.FAILED):
        _end(simulation, SeriesSimulation.State(own.state), own.problem)
    elif not Release.objects.filter(recipe=recipe).exists():
        return
    elif number >= series.draft["rounds"]:
        _end(simulation, SeriesSimulation.State.FINISHED, "")
    elif simulation.retry_at is None or simulation.retry_at <= now:
        _begin(simulation, number + 1, now)


def _begin(simulation: SeriesSimulation, number: int, now: datetime) -> None:
    """Publish a round, with its devices. What fails for now is tried again after a pause that grows."""
    series = simulation.series
    draft = SeriesDraft.from_mapping(series.draft)
    openings = draft.openings(now)
    workload = SeriesWorkload.checked(simulation.workload, draft.recipe.segments)

    def store(own: Simulation) -> None:
        # One that was cancelled meanwhile begins no further round.
        running = SeriesSimulation.objects.filter(pk=simulation.pk, state=SeriesSimulation.State.RUNNING)
        if not running.update(problem="", failures=0, retry_at=None):
            raise SimulationRefusedError("the simulation of its series has ended")
        round_simulated(own.recipe, series=series, number=number)

    try:
        simulation_publish(
            members=draft.round(number, len(openings), openings[number - 1]).as_dict(),
            workload=workload.of_round(last=number == len(openings)),
            seed=(int(simulation.seed) + number - 1) % 2**53 if simulation.seed else None,
            actor=series.created_by,
            private=series.private,
            guaranteed=guarantees_require(asked=draft.recipe),
            stored=store,
        )
    except IntegrityError:
        return  # another worker has begun this round
    except FieldError as error:
        _end(simulation, SeriesSimulation.State.FAILED, str(error))
    except (PartnerUnavailableError, SimulationRefusedError, NotComputedError) as error:
        pause = wait_after(simulation.failures, first=FIRST_PAUSE, longest=LONGEST_PAUSE)
        SeriesSimulation.objects.filter(pk=simulation.pk).update(
            problem=_cut(str(error)), failures=simulation.failures + 1, retry_at=now + pause
        )


def series_simulation_cancel(*, simulation: SeriesSimulation, actor: User | None) -> SeriesSimulation:
    """End a simulation: no further round begins, and the one that runs releases nothing. Cancelled once more,
    it stays so. Do not call it in a transaction.

    Raises:
        SimulationRefusedError: it has ended already, or is deleted.
    """
    ended = _end(simulation, SeriesSimulation.State.CANCELLED, "")
    left = SeriesSimulation.objects.filter(pk=simulation.pk).first()
    if left is None:
        raise SimulationRefusedError("the simulation is deleted already")
    if not ended and left.state != SeriesSimulation.State.CANCELLED:
        raise SimulationRefusedError("the simulation has ended already")
    # Once that is committed, no other round can come.
    rounds = Simulation.objects.filter(recipe__round__series=simulation.series_id)
    last = rounds.order_by("-started_at").first()
    if last is not None:
        with suppress(SimulationRefusedError):
            simulation_cancel(simulation=last, actor=actor)
    return left


def _end(simulation: SeriesSimulation, state: SeriesSimulation.State, problem: str) -> bool:
    """End one that runs, and its series if rounds are left; whether it did. Alone in its transaction:
    publishing locks the log first."""
    running = SeriesSimulation.objects.filter(pk=simulation.pk, state=SeriesSimulation.State.RUNNING)
    now = clock.database_now()
    with transaction.atomic():
        ended = bool(running.update(state=state, problem=_cut(problem), ended_at=now))
        if ended and state != SeriesSimulation.State.FINISHED:
            series_stop_simulated(series=simulation.series, at=now)
    return ended


def _cut(problem: str) -> str:
    return problem[: SeriesSimulation._meta.get_field("problem").max_length]


def _rounds(asked: SeriesDraft, now: datetime) -> int:
    rounds = len(asked.openings(now))
    if rounds > MOST_ROUNDS:
        field = "rounds" if asked.until is None else "until"
        raise FieldError(field, f"must give at most {MOST_ROUNDS} rounds of a simulation, not {rounds:,}")
    return rounds


def _require_in_time(
    draft: RecipeDraft, rounds: int, devices: SeriesWorkload, guaranteed: Guaranteed | None
) -> None:
    """FieldError if all rounds together are more work than one simulation may be."""
    settled = draft if guaranteed is None else guaranteed.settled(draft)
    simulated = simulated_class(settled)(settled.calibrated_statistic())
    plan = workloads.planned(devices.of_round(last=False), simulated, settled.segments)
    most = int(LARGEST_SECONDS / rounds / work_seconds(plan, settled, simulated) * devices.devices)
    if devices.devices > most:
        raise FieldError(
            "workload.devices",
            f"must be at most {most:,} in each of {rounds} rounds of this recipe, not {devices.devices:,}: "
            f"one worker would take more than {LARGEST_SECONDS / 3600:.0f} hours",
        )


def _object(
    field: str, value: object, needed: tuple[str, ...], optional: tuple[str, ...]
) -> dict[str, object]:
    """An object with these fields; FieldError if it is none."""
    if not isinstance(value, Mapping):
        raise FieldError(field, f"must be an object with {' and '.join(needed)}")
    for name in needed:
        if name not in value:
            raise FieldError(f"{field}.{name}", "is missing")
    for name in value:
        if name not in (*needed, *optional):
            raise FieldError(field, f"cannot have {as_typed(name)[:60]}")
    return dict(value)
