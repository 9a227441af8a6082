"""A whole collection with simulated devices: start the simulation, and watch it until its result is there."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from django.db import OperationalError

from devices_sim.devices import simulated_class
from devices_sim.fleet import FleetError
from devices_sim.fleet_attributes import FleetAttributes
from devices_sim.forecast import FleetForecast
from devices_sim.workloads.bucket import Workload
from log.public_log.cosignatures import witnesses_ask
from log.public_log.tree_growth import integrate
from panprivacy.device.rounds_check import Turn, round_require
from panprivacy.device.transport import HttpTransport
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.parts.admission import Admission
from panprivacy.recipe.parts.round import RoundPlace
from publishing import TRUST_MODELS
from publishing.admission import Admitting
from recipes.models import Recipe
from results.rates import held_of
from results.trust_models import collection_model_of
from simulations.errors import SimulationRefusedError
from simulations.installation.partners import Pairing, RelayPairing
from simulations.installation.services import (
    ADVANCE_COLLECTIONS,
    ADVANCE_SIMULATIONS,
    ServiceError,
    Services,
    wait_until,
)
from simulations.models import Simulation
from simulations.operations import CANCELLED, devices_add, simulation_cancel, simulation_open
from simulations.outcome import CollectionResult
from simulations.selectors import HELD, outcome_of
from storage import clock
from storage.signing_key import verification_key
from tokens.admission.selectors import issuer_must_hear

STALLED_SECONDS = 600.0
"""Without any progress for so long, waiting for the workers is given up."""

PARTNER_SECONDS = 30.0
"""For how long a partner is waited for to hear that a recipe has ended, and to delete what it holds."""

SHORT_PARTNER_SECONDS = 10.0
"""The same while a user waits for an interrupted command to end."""

TROUBLE_SECONDS = 20.0
"""For which devices that cannot report are waited for: witnesses of the log, or servers that come back."""

POLL_SECONDS = 0.05

TELLING_SECONDS = 1.0
"""Between two lines that tell how far devices are."""

INTERRUPTED = "the command that simulated it was interrupted"
FAILED = "the command that simulated it failed"

Say = Callable[[str], None]

AtRound = Callable[[Turn], Workload[Any]]
"""What devices have in a round, e.g. how they would change the model that is its public input."""


class CollectionStalledError(Exception):
    """The workers made no progress, or the result waits for an administrator's decision."""


def collection_run(
    *,
    members: Mapping[str, object],
    workload: Workload[Any] | AtRound,
    services: Services,
    seed: int | None,
    weights: Sequence[float] | None = None,
    attributes: FleetAttributes | None = None,
    eager: bool,
    processes: int,
    say: Say,
    forewarn: Callable[[FleetForecast], None] = lambda _: None,
    place: RoundPlace | None = None,
    others_follow: bool = False,
    stored: Callable[[Recipe], None] = lambda _: None,
) -> CollectionResult:
    """Publish a simulation recipe, let workers simulate its devices, and wait for the release.

    Args:
        members: fields of a recipe file.
        workload: the devices and their events or values; or what makes them of a round, as devices fetch
            and check it.
        services: running web server and workers, with the helper or the shuffler that the recipe needs.
        seed: repeats the devices' coins; simulations only.
        weights: relative sizes of the recipe's segments, for devices whose own is not known.
        attributes: what each device knows of itself, for a recipe with a target, and only there.
        eager: devices take every step.
        processes: most workers that run devices at a time.
        say: takes lines that tell the progress.
        forewarn: takes how much work the devices have, before they begin, if that may be much.
        place: of a round of a recipe in rounds: which it is.
        others_follow: whether the services go on, so that the command need not wait here until partners
            have heard of the end (`wait_until_heard`).
        stored: as of `simulation_open`.

    Raises:
        FieldError, PartnerUnavailableError: nothing was published.
        ServiceError, CollectionStalledError: the workers end; if all devices have reported, the result is
            released or withheld as soon as others run. Otherwise as below.
        FleetError, and whatever interrupts: the recipe is closed, and its result withheld.
    """
    simulation = simulation_open(
        members=members,
        seed=seed,
        weights=weights,
        eager=eager,
        at_once=processes,
        partners={
            trust: services.pairings[model.partner.name].partner()
            for trust, model in TRUST_MODELS.items()
            if model.partner is not None and model.partner.name in services.pairings
        },
        admitting=admitting_beside(services.pairings),
        place=place,
        stored=stored,
    )
    recipe = simulation.recipe
    try:
        log_update(services)
        if not isinstance(workload, Workload):
            workload = workload(_turn(recipe, services))
        devices = simulated_class(recipe.published)
        forecast = devices_add(simulation=simulation, workload=workload, attributes=attributes)
        if devices.has_many_messages:
            forewarn(forecast)
        _wait_for_devices(simulation, services, say)
        result = _wait_for_release(simulation, devices.reports_name, services, say)
    except BaseException as error:
        if not isinstance(error, ServiceError | CollectionStalledError) or not _have_reported(simulation):
            # The partner ends with this command: its result would never come.
            with suppress(SimulationRefusedError):
                simulation_cancel(simulation=simulation, actor=None, reason=reason_of(error))
            wait_until_heard(recipe, say, briefly=True)
        raise
    if not others_follow:
        wait_until_heard(recipe, say)
    return result


def roles_beside(draft: RecipeDraft) -> list[str]:
    """The roles that must run beside the site for a recipe, in the order in which they are named."""
    partner = TRUST_MODELS[draft.trust].partner
    roles = [] if partner is None else [partner.name]
    if draft.admission == Admission.TOKEN:
        roles += ["issuer", "attester"]
    return [*roles, "relay"] if draft.relay else roles


def admitting_beside(pairings: Mapping[str, Pairing]) -> Admitting:
    """The issuer and the relay that run beside."""
    issuer, relay = pairings.get("issuer"), pairings.get("relay")
    return Admitting(
        issuer=None if issuer is None else issuer.partner(),
        relay_url=relay.relay_url if isinstance(relay, RelayPairing) else None,
    )


def reason_of(error: BaseException) -> str:
    """Why a command's simulation is given up, as a clause; only whether it was interrupted becomes public."""
    return FAILED if isinstance(error, Exception) else INTERRUPTED


def log_update(services: Services) -> None:
    """Have the public log take in what is new at once, rather than at the next poll."""
    with suppress(OperationalError):  # the database is busy: the next poll does it
        integrate()
        witnesses_ask(now=clock.database_now(), policy=services.log_policy)


def _turn(recipe: Recipe, services: Services) -> Turn:
    with HttpTransport(services.base_url) as transport:
        key = verification_key().public_bytes_raw()
        turn = round_require(recipe.published, transport, key, memory=None)
    if turn is None:
        raise TypeError("the workload is made of a round, and the recipe is none")
    return turn


def _wait_for_devices(simulation: Simulation, services: Services, say: Say) -> None:
    """Until all have reported; tells how far they are once a second, and at the end.

    Raises:
        FleetError: the simulation ends otherwise, or its devices cannot report.
        CollectionStalledError: no further device has reported for a long time, as when the task of a chunk
            dies each time.
    """
    services.look(ADVANCE_SIMULATIONS)
    told_at = well_at = moved_at = time.monotonic()
    done, said = 0, ""
    while True:
        simulation.refresh_from_db(fields=("state", "done", "totals", "problem", "ended_at"))
        accepted = simulation.totals.get("accepted", 0)
        if simulation.state == Simulation.State.REPORTED:
            say(f"{simulation.done:,} devices, {accepted:,} reports accepted")
            return
        services.check()
        now = time.monotonic()
        well_at = well_at if simulation.problem else now
        if simulation.state != Simulation.State.RUNNING or now - well_at > TROUBLE_SECONDS:
            raise FleetError(f"the devices do not report: {simulation.problem or CANCELLED}")
        if simulation.done != done:
            done, moved_at = simulation.done, now
        elif now - moved_at > STALLED_SECONDS:
            raise CollectionStalledError(
                f"no device reported for {STALLED_SECONDS:.0f} seconds; "
                f"{simulation.done:,} of {simulation.devices:,} have"
            )
        line = f"{simulation.done:,} devices, {accepted:,} reports accepted"
        if simulation.done and line != said and now - told_at >= TELLING_SECONDS:
            told_at, said = now, line
            say(line)
        time.sleep(POLL_SECONDS)


def _have_reported(simulation: Simulation) -> bool:
    simulation.refresh_from_db(fields=("state",))
    return simulation.state == Simulation.State.REPORTED


def _wait_for_release(simulation: Simulation, what: str, services: Services, say: Say) -> CollectionResult:
    recipe = simulation.recipe
    recipe.refresh_from_db()  # it is closed
    last_progress, moved_at = None, time.monotonic()
    while True:
        result = outcome_of(simulation)
        if result is not None:
            recipe.refresh_from_db()
            return result
        if held_of(recipe) is not None:
            raise CollectionStalledError(HELD)
        services.check()
        so_far = collection_model_of(recipe).progress(recipe)
        progress = (so_far.servers[0].counted, so_far.waiting)
        if progress != last_progress:
            say(f"{progress[0]:,} reports summed, {progress[1]:,} {what} waiting")
            last_progress, moved_at = progress, time.monotonic()
            services.look(ADVANCE_COLLECTIONS)
        elif time.monotonic() - moved_at > STALLED_SECONDS:
            errors = "".join(
                f"; {server.name}: {server.trouble.error}" for server in so_far.servers if server.trouble
            )
            raise CollectionStalledError(
                f"nothing was summed for {STALLED_SECONDS:.0f} seconds; "
                f"{progress[1]:,} {what} are waiting{errors}"
            )
        time.sleep(POLL_SECONDS)


def wait_until_heard(recipe: Recipe, say: Say, *, briefly: bool = False) -> None:
    """Until nothing is left to tell others of a recipe: the processes that tell them end with the command."""
    partner, model = TRUST_MODELS[recipe.trust].partner, collection_model_of(recipe)
    seconds = SHORT_PARTNER_SECONDS if briefly else PARTNER_SECONDS
    if partner and not wait_until(lambda: not model.partner_must_hear(recipe), seconds, POLL_SECONDS):
        say(f"the {partner.name} was not notified of the end; it will be when both run again")
    if not wait_until(lambda: not issuer_must_hear(recipe), seconds, POLL_SECONDS):
        say("the issuer was not notified of the end; it will be when both run again")
