"""A whole collection with simulated devices: publish, run the devices, release."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User

from admission.selectors import issuer_must_hear
from devices_sim.attributes import FleetAttributes
from devices_sim.fleet import run_fleet
from devices_sim.fleet_result import FleetResult
from devices_sim.forecast import Forecast
from devices_sim.rounds_check import Turn, round_require
from devices_sim.transport import HttpTransport, ServedRecipe
from devices_sim.trust_models import reporting_model
from devices_sim.workloads.bucket import Workload
from panapp.fleet_log import fleet_log_require, fleet_target_require
from panapp.pairing import Pairing, RelayPairing
from panapp.services import ServiceError, Services, wait_until
from panprivacy.asked_admission import Admission
from panprivacy.asked_round import AskedRound
from panprivacy.recipe_draft import RecipeDraft
from recipes.models import Recipe
from releases.models import Release
from releases.operations import truth_record
from releases.rates import held_of
from simulations.ending import simulation_close, simulation_give_up
from simulations.outcome import CollectionResult, rejections, seconds_shared
from simulations.selectors import HELD
from storage.signing_key import verification_key
from trust_models import TRUST_MODELS, trust_model_of
from trust_models.admitting import Admitting
from trust_models.publishing import recipe_publish_file

STALLED_SECONDS = 600.0
"""Without any progress for so long, waiting for the workers is given up."""

PARTNER_SECONDS = 30.0
"""For how long a partner is waited for to hear that a recipe has ended, and to delete what it holds."""

SHORT_PARTNER_SECONDS = 10.0
"""The same where somebody waits for an interrupted command to end."""

POLL_SECONDS = 0.05

TELLING_SECONDS = 1.0
"""Between two lines that tell how far devices are."""

INTERRUPTED = "the command that simulated it was interrupted"
FAILED = "the command that simulated it failed"

Say = Callable[[str], None]

AtRound = Callable[[Turn], Workload[Any]]
"""What devices have in a round, e.g. how they would change the model that is its public input."""


class CollectionStalledError(Exception):
    """The workers made no progress, or the result waits for somebody's decision."""


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
    actor: User | None,
    say: Say,
    forewarn: Callable[[Forecast], None] = lambda _: None,
    place: AskedRound | None = None,
    others_follow: bool = False,
) -> CollectionResult:
    """Publish a simulation recipe, let its devices report over HTTP, and wait for the release.

    Args:
        members: fields of a recipe file.
        workload: the devices and their events or values; or what makes them of a round, as devices fetched
            and checked it.
        services: running web server and workers, with the helper or the shuffler that the recipe needs.
        seed: repeats the devices' coins; simulations only.
        weights: relative sizes of the recipe's segments, for devices whose own is not known.
        attributes: what each device knows of itself, for a recipe with a target, and only there.
        eager: devices take every step.
        processes: processes that run devices.
        actor: who publishes.
        say: takes lines that tell the progress.
        place: of a round of a recipe in rounds: which it is.
        others_follow: whether the services go on, so that nobody need wait here until partners have heard of
            the end (`wait_until_heard`).
        forewarn: takes how much work the devices have, before they begin, where that may be much.

    Raises:
        FieldError, PartnerUnavailableError: nothing was published.
        ServiceError, CollectionStalledError: the recipe is closed; its result is released or withheld as
            soon as workers run.
        FleetError, and whatever interrupts: the recipe is closed, and its result withheld.
    """
    started = time.monotonic()
    partners = {
        trust: services.pairings[model.partner.name].partner()
        for trust, model in TRUST_MODELS.items()
        if model.partner is not None and model.partner.name in services.pairings
    }
    recipe = recipe_publish_file(
        members=members,
        actor=actor,
        simulation=True,
        partners=partners,
        admitting=admitting_beside(services.pairings),
        place=place,
    )
    devices = reporting_model(recipe.published)
    try:
        served, turn = _looked_at(recipe, services)
        if not isinstance(workload, Workload):
            if turn is None:
                raise TypeError("the workload is made of a round, and the recipe is none")
            workload = workload(turn)
        forecast = devices.forecast(recipe.published, workload, processes)
        if forecast is not None:
            forewarn(forecast)
        fleet = _run_devices(
            recipe, served, workload, services, seed, weights, attributes, eager, processes, say
        )
        statistic = recipe.published.calibrated_statistic
        truth = devices.truth(statistic, fleet)
        truth_record(
            recipe=recipe,
            values=truth,
            devices=fleet.devices,
            sampled=fleet.sampled,
            segments=devices.segment_truths(statistic, fleet),
        )
        submitted = time.monotonic()
        services.check()  # from here on, workers release by themselves
        simulation_close(recipe=recipe, actor=actor)
        release = _wait_for_release(devices.sends, recipe, services, say)
    except (ServiceError, CollectionStalledError):
        # No report will follow, so the recipe must not stay open with its key. Other workers may end it.
        simulation_close(recipe=recipe, actor=actor)
        raise
    except BaseException as error:
        # Not all devices have reported, and the partner ends with this command: nobody else would end it.
        simulation_give_up(recipe=recipe, reason=reason_of(error), actor=actor)
        wait_until_heard(recipe, say, briefly=True)
        raise
    recipe.refresh_from_db()
    ended = time.monotonic()
    if not others_follow:
        wait_until_heard(recipe, say)
    return CollectionResult(
        recipe=recipe,
        fleet=fleet,
        release=release,
        rejected=rejections(recipe, fleet),
        truth=truth,
        seconds=seconds_shared(
            fleet, reporting=fleet.elapsed_seconds, processing=ended - submitted, total=ended - started
        ),
    )


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


def _looked_at(recipe: Recipe, services: Services) -> tuple[ServedRecipe, Turn | None]:
    """What devices fetch and check before they take part: once for all of them."""
    with HttpTransport(services.base_url) as transport:
        served = transport.recipe(str(recipe.identifier))
        fleet_log_require(served, transport, services)
        fleet_target_require(recipe.published, transport, services)
        key = verification_key().public_bytes_raw()
        return served, round_require(recipe.published, transport, key, memory=None)


def _run_devices(
    recipe: Recipe,
    served: ServedRecipe,
    workload: Workload[Any],
    services: Services,
    seed: int | None,
    weights: Sequence[float] | None,
    attributes: FleetAttributes | None,
    eager: bool,
    processes: int,
    say: Say,
) -> FleetResult:
    partner = trust_model_of(recipe).partner
    pairing = None if partner is None else services.pairings.get(partner.name)
    issuer = services.pairings.get("issuer")
    told = _FleetProgress(say)
    fleet = run_fleet(
        served=served,
        verification_key=verification_key().public_bytes_raw(),
        partner_key=None if pairing is None else pairing.key,
        issuer_key=None if issuer is None else issuer.key,
        workload=workload,
        transport=services.base_url,
        seed=seed,
        weights=weights,
        attributes=attributes,
        eager=eager,
        processes=processes,
        progress=told.tell,
    )
    told.end(fleet)
    return fleet


class _FleetProgress:
    """Tells how far devices are, at most once a second, and once at the end."""

    def __init__(self, say: Say) -> None:
        self._say, self._told_at = say, time.monotonic()

    def tell(self, result: FleetResult) -> None:
        if time.monotonic() - self._told_at >= TELLING_SECONDS:
            self._told_at = time.monotonic()
            # They are sent in batches: nothing is wrong where none was sent yet.
            sent = f", {result.accepted:,} reports accepted" if result.accepted else ""
            self._say(f"{result.devices:,} devices{sent}")

    def end(self, result: FleetResult) -> None:
        self._say(f"{result.devices:,} devices, {result.accepted:,} reports accepted")


def _wait_for_release(what: str, recipe: Recipe, services: Services, say: Say) -> Release:
    last_progress, moved_at = None, time.monotonic()
    while True:
        release = Release.objects.filter(recipe=recipe).first()
        if release is not None:
            return release
        if held_of(recipe) is not None:
            raise CollectionStalledError(HELD)
        services.check()
        so_far = trust_model_of(recipe).progress(recipe)
        progress = (so_far.servers[0].counted, so_far.waiting)
        if progress != last_progress:
            say(f"{progress[0]:,} reports summed, {progress[1]:,} {what} waiting")
            last_progress, moved_at = progress, time.monotonic()
            services.look()
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
    model = trust_model_of(recipe)
    seconds = SHORT_PARTNER_SECONDS if briefly else PARTNER_SECONDS
    if model.partner and not wait_until(lambda: not model.partner_must_hear(recipe), seconds, POLL_SECONDS):
        say(f"the {model.partner.name} has not heard of the end; it is told when both run again")
    if not wait_until(lambda: not issuer_must_hear(recipe), seconds, POLL_SECONDS):
        say("the issuer has not heard of the end; it is told when both run again")
