"""Simulations: start, give devices, cancel. What workers do of them is in `chunks`."""

import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from devices_sim.devices import simulated_class
from devices_sim.fleet_attributes import FleetAttributes
from devices_sim.fleet_result import FleetResult
from devices_sim.forecast import FleetForecast
from devices_sim.workloads.bucket import Workload
from log.audit.operations import entry_append, log_lock
from panprivacy.accounting.trust import Trust
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.parts.round import RoundPlace
from partners.partner import Partner
from publishing import unavailable_here
from publishing.admission import Admitting
from publishing.publication import recipe_publish_file
from recipes.models import Recipe
from recipes.planner.guarantees import Guaranteed, guarantees_require
from results.models import Release
from simulations import workloads
from simulations.actions import SIMULATION_STARTED
from simulations.chunk_sizes import chunks_store, devices_at_once, plan_cut, seconds_per_device, work_seconds
from simulations.chunks import simulation_conclude
from simulations.errors import SimulationRefusedError
from simulations.models import SeriesSimulation, Simulation
from simulations.selectors import simulations_in_line
from simulations.simulation_ends import simulation_end, simulation_give_up
from storage import clock

MOST_IN_LINE = 100
"""Simulations that run or wait for their turn."""

NO_ADDRESS = "PANAPP_SITE_URL is not set, so workers do not know where the simulated devices report"

CANCELLED = "the simulation was cancelled"

NOT_A_SIMULATION_S = ("opens_at", "closes_at")
"""Members of a recipe file that a simulation has no use for: it is not bound by its times."""


def simulation_start(
    *, members: Mapping[str, object], workload: object, seed: object, actor: User | None, public: bool = False
) -> Simulation:
    """Publish a copy of a recipe for simulated devices, and have workers simulate them.

    Do not call it in a transaction: another server may be asked on the way. The workers begin when its turn
    has come.

    Args:
        public: whether the copy is public for good, with its question and its result. Else analysts of this
            site see it alone, and it can be deleted (`deletion`).
        members: fields of a recipe file; its times are left out.
        workload: see `workloads.planned`.
        seed: repeats what the devices do; None draws one from `secrets`.

    Raises:
        FieldError: a field of the recipe, `seed`, `public`, or `workload.…`; nothing was stored. What is
            wrong within a file a worker finds, and the simulation then fails with it.
        PartnerUnavailableError: the recipe's other server did not answer; nothing was stored.
        SimulationRefusedError: the site does not know its own address, or too many simulations wait already.
        NotComputedError: its guarantees are not computed yet; not for the command line.
    """
    require_address()
    _require_capacity()
    members = {name: value for name, value in members.items() if name not in NOT_A_SIMULATION_S}
    guaranteed = None
    if actor is not None:
        guaranteed = guarantees_require(asked=RecipeDraft.from_mapping(members))
        guaranteed.require_kept()
    return simulation_publish(
        members=members,
        workload=workload,
        seed=seed,
        actor=actor,
        private=not public,
        guaranteed=guaranteed,
    )


def _require_capacity() -> None:
    if simulations_in_line().count() >= MOST_IN_LINE:
        raise SimulationRefusedError(f"{MOST_IN_LINE} simulations are in line already; cancel one first")


def require_address() -> None:
    """Raise SimulationRefusedError where workers do not know where devices report."""
    if not settings.SITE_URL:
        raise SimulationRefusedError(NO_ADDRESS)


def simulation_publish(
    *,
    members: Mapping[str, object],
    workload: object,
    seed: object,
    actor: User | None,
    private: bool = False,
    try_number: int | None = None,
    guaranteed: Guaranteed | None = None,
    stored: Callable[[Simulation], None] = lambda _: None,
) -> Simulation:
    """Publish a simulated recipe as it stands, with the devices that workers simulate.

    Args:
        members, workload, seed: as of `simulation_start`, but times are kept.
        private: as of `recipe_publish_file`.
        try_number: of a try (`simulations.tries`), one more than the last one's; None of others.
        guaranteed: as of `recipe_publish_file`.
        stored: called with it in the transaction that publishes it; what it raises undoes that.

    Raises:
        IntegrityError: a try has this number already; nothing was stored.
        FieldError, PartnerUnavailableError, SimulationRefusedError: as `simulation_start`.
    """
    number = None if seed is None else workloads.SEED.check("seed", int, seed)
    draft = RecipeDraft.from_mapping(members)
    if guaranteed is not None:
        draft = guaranteed.settled(draft)
    if draft.target is not None:
        raise FieldError("target", "must be left out: devices that workers simulate have no attributes")
    simulated_devices = simulated_class(draft)
    unavailable = unavailable_here(draft.trust)
    if unavailable:
        raise FieldError("trust", f"cannot be {draft.trust.value} here: {unavailable}")
    simulated = simulated_devices(draft.calibrated_statistic())
    plan = workloads.planned(workload, simulated, draft.segments)
    if plan.devices is None:
        devices, chunks = 0, [workloads.Chunk(0, 0, plan.content)]
    else:
        devices, chunks = plan_cut(plan, draft, simulated)
    simulation = _new(plan.workload, number)
    simulation.devices, simulation.try_number = devices, try_number
    simulation.estimated_seconds = work_seconds(plan, draft, simulated)

    def store(recipe: Recipe) -> None:
        if try_number is None:
            # Counted once more, by one at a time: others may have begun meanwhile.
            log_lock()
            _require_capacity()
        simulation.recipe = recipe
        simulation.save(force_insert=True)
        chunks_store(simulation, chunks)
        if private:
            entry_append(action=SIMULATION_STARTED, subject=simulation.subject, actor=actor, details={})
        stored(simulation)

    # With the recipe or not at all: the devices of a recipe that was published alone would never report.
    recipe_publish_file(
        members=members, actor=actor, simulation=True, private=private, stored=store, guaranteed=guaranteed
    )
    return simulation


def simulation_open(
    *,
    members: Mapping[str, object],
    seed: int | None,
    weights: Iterable[float] | None,
    eager: bool,
    at_once: int,
    partners: Mapping[Trust, Partner],
    admitting: Admitting,
    place: RoundPlace | None,
    stored: Callable[[Recipe], None] = lambda _: None,
) -> Simulation:
    """Publish a simulated recipe whose devices come with `devices_add`: for commands, which have them in
    files of any size, and wait for what comes of them.

    Args:
        members: fields of a recipe file, with its times.
        seed: as of `simulation_start`, of any size.
        weights: relative sizes of the recipe's segments, checked.
        eager: whether devices take every step.
        at_once: most chunks of devices that workers have in hand.
        partners, admitting, place: as of `recipe_publish_file`.
        stored: called with the recipe in the transaction that stores it.

    Raises:
        FieldError, PartnerUnavailableError: nothing was stored.
    """
    kind = simulated_class(RecipeDraft.from_mapping(members)).option
    workload: dict[str, Any] = {"kind": kind, "eager": eager}
    if weights is not None:
        workload["weights"] = list(weights)
    simulation = _new(workload, seed)
    simulation.at_once = at_once

    def store(recipe: Recipe) -> None:
        simulation.recipe = recipe
        simulation.save(force_insert=True)
        stored(recipe)

    recipe_publish_file(
        members=members,
        actor=None,
        simulation=True,
        partners=partners,
        admitting=admitting,
        place=place,
        stored=store,
    )
    return simulation


def devices_add(
    *, simulation: Simulation, workload: Workload[Any], attributes: FleetAttributes | None
) -> FleetForecast:
    """Give a simulation all its devices; workers begin at the next poll.

    Args:
        simulation: by `simulation_open`, without devices.
        attributes: what each of them knows of itself, for a recipe with a target, and only there.

    Returns:
        How much work they have.

    Raises:
        FieldError: they cannot take part in the recipe.
    """
    published = simulation.recipe.published
    simulated = simulated_class(published)(published.calibrated_statistic)
    workload.require_fits(published)
    seconds = seconds_per_device(RecipeDraft.from_mapping(simulation.recipe.draft), simulated)
    if simulation.workload["eager"]:
        seconds *= max(1, published.parameters.step_count)
    chunks = workloads.listed(workload, devices_at_once(seconds), attributes)
    with transaction.atomic():
        locked = Simulation.objects.select_for_update().get(pk=simulation.pk)
        if locked.state == Simulation.State.RUNNING:
            simulation.devices = chunks_store(simulation, chunks)
            simulation.save(update_fields=("devices",))
            if not simulation.devices:
                simulation_conclude(simulation, FleetResult())
    at_once = min(simulation.at_once or 1, os.cpu_count() or 1)
    return FleetForecast(
        users=simulation.devices,
        messages=simulated.most_ciphertexts,
        seconds=simulation.devices * seconds / at_once,
    )


def _new(workload: dict[str, Any], seed: int | None) -> Simulation:
    return Simulation(
        workload=workload,
        seed=str(secrets.randbits(256) if seed is None else seed),
        seed_given=seed is not None,
        devices=0,
        started_at=clock.database_now(),
    )


S = TypeVar("S", Simulation, SeriesSimulation)


def locked(simulation: S) -> S:
    """The row of a simulation, locked; SimulationRefusedError if it is deleted."""
    found = type(simulation)._default_manager.select_for_update().filter(pk=simulation.pk).first()
    if found is None:
        raise SimulationRefusedError("the simulation is deleted already")
    return found


@transaction.atomic
def simulation_cancel(*, simulation: Simulation, actor: User | None, reason: str = CANCELLED) -> Simulation:
    """End a simulation: its recipe is closed, and no result released. Cancelled once more, it stays so.

    Args:
        reason: why, as a clause; it is public.

    Raises:
        SimulationRefusedError: it has ended already, or is deleted.
    """
    simulation = locked(simulation)
    if simulation.state == Simulation.State.CANCELLED:
        return simulation
    has_result = Release.objects.filter(recipe=simulation.recipe_id).exists()
    if simulation.state == Simulation.State.FAILED or has_result:
        raise SimulationRefusedError("the simulation has ended already")
    simulation_end(simulation, Simulation.State.CANCELLED, "")
    simulation_give_up(recipe=simulation.recipe, reason=reason, actor=actor)
    return simulation
