"""What workers do of simulations, chunk by chunk. Each device counts once, whatever crashes.

The database decides, as in `results.aggregation`: a chunk's row is deleted and its devices are counted in one
transaction. A task carries a chunk's identifier only, and may be lost, doubled or killed at any moment. A
chunk that is sent again makes the same reports with the same nonces, which the site counts once.
"""

import uuid
from contextlib import suppress
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import OperationalError, transaction
from django.db.models import F, Q

from devices_sim.devices import simulated_class
from devices_sim.fleet import run_buckets
from devices_sim.fleet_result import FleetResult
from log.public_log.models import AskedWitness
from log.public_log.selectors import is_witnessed, site_policy
from log.public_log.tree_growth import integrate
from panprivacy.device.log_check import LogCheck, LogRefusedError, NotInLogError, TooFewWitnessesError
from panprivacy.device.rounds_check import round_require
from panprivacy.device.target_check import TargetRefusedError, target_require
from panprivacy.device.transport import Transport, TransportError
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.rounds.document import RoundRefusedError
from panprivacy.statistics.trust_models.members import RecipeVerificationError
from partners.recipe_document import SIMULATION_LIFETIME
from partners.roles import ISSUER
from publishing import configured_partners
from recipes.actions import RECIPE_PUBLISHED
from recipes.models import Recipe
from results.operations import truth_record
from simulations import device_counts, workloads
from simulations.chunk_sizes import CHUNK_SECONDS, chunks_store, plan_cut
from simulations.models import DeviceChunk, Simulation
from simulations.selectors import MOST_AT_ONCE, ahead_of
from simulations.simulation_ends import simulation_close, simulation_end, simulation_give_up
from storage import clock
from storage.signing_key import verification_key
from storage.waits import wait_after

logger = structlog.get_logger(__name__)

FILE_ATTEMPTS = 3
"""At a file whose worker fails or dies each time; then the simulation fails, and holds no place any more."""

LONGEST_WAIT = timedelta(minutes=10)
"""Between two attempts at a chunk that is not done. There is no last one: the simulation ends with its
recipe, which is closed after a day."""

LOG_PATIENCE = timedelta(seconds=30)
"""For so long after its start a simulation waits for the public log to have its recipe: witnesses are asked
every few seconds. After that its devices find out what is wrong, and tell."""

LOG_WAIT = timedelta(seconds=2)
"""Until a chunk whose recipe was not in the public log even then is tried again."""

FAILED = "the simulation failed"
CLOSED_EARLY = "the recipe was closed before every device had reported"

REFUSALS = (
    LogRefusedError,
    TargetRefusedError,
    RoundRefusedError,
    RecipeVerificationError,
    FieldError,
)
"""What devices refuse for good."""


def chunks_take(*, simulation: Simulation) -> list[uuid.UUID]:
    """Chunks whose tasks are to be sent now, marked as sent: those never sent, and those whose task seems
    lost.

    Returns:
        So many that `RECIPE_CHUNKS` of the simulation, or what it says itself, are underway; none while it is
        in line, or its recipe is about to be in the public log. The caller sends their tasks after commit.
    """
    now = clock.database_now()
    chunks = DeviceChunk.objects.filter(simulation=simulation)
    if simulation.started_at + 2 * SIMULATION_LIFETIME <= now:
        # Its workers die before they hear that the recipe is closed; or its command did, before devices came.
        _note_refusal(simulation, CLOSED_EARLY)
        return []
    due = chunks.filter(Q(send_after=None) | Q(send_after__lte=now))
    # Checked before locking: at most polls there is none. A file is cut meanwhile.
    if not due.exists() or ahead_of(simulation) >= MOST_AT_ONCE:
        return []
    if not due.filter(count=0).exists() and _waits_for_log(simulation, now):
        return []
    with transaction.atomic():
        locked = _running(simulation)
        if locked is None:
            return []
        most = locked.at_once or settings.RECIPE_CHUNKS
        free = max(0, most - chunks.filter(send_after__gt=now).count())
        # All others of the simulation may come before a chunk.
        patience = timedelta(seconds=settings.CHUNK_STALE_SECONDS + most * CHUNK_SECONDS)
        # Lost ones first.
        taken = list(due.order_by(F("send_after").asc(nulls_last=True), "first").defer("listed")[:free])
        for chunk in taken:
            if chunk.send_after is not None:
                chunk.attempts += 1
                logger.warning("devices_sent_again", chunk=str(chunk.pk), attempts=chunk.attempts)
            chunk.send_after = now + wait_after(chunk.attempts, first=patience, longest=LONGEST_WAIT)
        DeviceChunk.objects.bulk_update(taken, ("attempts", "send_after"))
        if locked.begun_at is None:
            locked.begun_at = now
            locked.save(update_fields=("begun_at",))
    return [chunk.pk for chunk in taken]


def chunk_run(*, chunk: uuid.UUID, transport: Transport) -> None:
    """Let the devices of a chunk report, and count them; do nothing where they are counted already.

    Reporting runs outside the transaction: workers do not wait for each other. Only the first to finish a
    chunk finds its row; what another one sent was the same.

    Args:
        transport: to this site's own REST API; stays open.
    """
    row = DeviceChunk.objects.select_related("simulation__recipe").filter(pk=chunk).first()
    if row is None or row.simulation.state != Simulation.State.RUNNING:
        return
    if not row.count:
        _file_cut(row)
        return
    try:
        # Once for all of them: what is true of the first devices is true of the others.
        if not row.simulation.done:
            _recipe_require(row.simulation.recipe, transport)
        result = _report(row, transport)
    except REFUSALS as error:
        logger.error("simulated_devices_refused", simulation=str(row.simulation_id), error=str(error))
        _note_refusal(row.simulation, str(error))
        return
    except TransportError as error:
        _note_problem(row.simulation, error)
        if isinstance(error, NotInLogError):
            # It is about to be: so soon that this counts as no attempt.
            soon = clock.database_now() + LOG_WAIT
            DeviceChunk.objects.filter(pk=chunk).update(send_after=soon, attempts=0)
        return
    with transaction.atomic():
        simulation = _running(row.simulation)
        if simulation is None or not DeviceChunk.objects.filter(pk=chunk).delete()[0]:
            return
        total = device_counts.of_json(simulation.totals)
        total.add(result)
        simulation.totals = device_counts.as_json(total)
        simulation.done = total.devices
        simulation.problem = ""
        simulation.save(update_fields=("totals", "done", "problem"))
        # A try ends at a poll, when browsers have had their time.
        if simulation.done == simulation.devices and simulation.try_number is None:
            simulation_conclude(simulation, total)


def try_end(*, simulation: Simulation) -> None:
    """End a try whose simulated devices have all reported, once its recipe's time is over; or do nothing."""
    # Checked before locking: at most polls it goes on.
    closes_at = simulation.recipe.closes_at
    if simulation.done < simulation.devices or closes_at is None or clock.settled_now() < closes_at:
        return
    with transaction.atomic():
        locked = _running(simulation)
        if locked is not None:
            simulation_conclude(locked, device_counts.of_json(locked.totals))


def simulation_conclude(simulation: Simulation, total: FleetResult) -> None:
    """All devices are done: keep the truth, and close the recipe, so that its result is released."""
    recipe = simulation.recipe
    # Only the browsers of a try know what happened in them.
    if simulation.try_number is None:
        published = recipe.published
        truth = simulated_class(published)(published.calibrated_statistic).truth(total)
        truth_record(
            recipe=recipe,
            values=truth.values,
            devices=total.devices,
            sampled=total.sampled,
            segments=list(truth.segments),
        )
    simulation_close(recipe=recipe, actor=None)
    simulation_end(simulation, Simulation.State.REPORTED, "")


def _file_cut(row: DeviceChunk) -> None:
    """Put the devices of a file in the place of the row that holds it; the simulation fails where it is
    refused."""
    if row.attempts >= FILE_ATTEMPTS:
        _note_refusal(row.simulation, "workload: could not be read, at several attempts")
        return
    recipe, content = row.simulation.recipe, None if row.listed is None else bytes(row.listed)
    draft = RecipeDraft.from_mapping(recipe.draft)
    simulated = simulated_class(draft)(recipe.published.calibrated_statistic)
    try:
        plan = workloads.planned_again(row.simulation.workload, content, simulated)
        devices, chunks = plan_cut(plan, draft, simulated)
    except FieldError as error:
        _note_refusal(row.simulation, str(error))
        return
    with transaction.atomic():
        simulation = _running(row.simulation)
        if simulation is not None and DeviceChunk.objects.filter(pk=row.pk).delete()[0]:
            simulation.devices = devices
            simulation.save(update_fields=("devices",))
            chunks_store(simulation, chunks)


def _waits_for_log(simulation: Simulation, now: datetime) -> bool:
    """Whether devices would not report yet, and it is too early for anything to be wrong."""
    # Of a private one, the log has nothing. Where a clock was set back, nothing is waited for.
    if (
        simulation.done
        or simulation.recipe.private
        or not timedelta(0) <= now - simulation.started_at < LOG_PATIENCE
    ):
        return False
    _integrate()
    return not is_witnessed((RECIPE_PUBLISHED,), str(simulation.recipe.identifier))


def _integrate() -> None:
    with suppress(OperationalError):  # the database is busy: the task that does so comes to it
        integrate()


def _recipe_require(recipe: Recipe, transport: Transport) -> None:
    """Check what devices check before they report: the signatures of the recipe, that the public log has it
    as this site's policy asks unless it is private, and what its target and its round rest on.

    Raises:
        LogRefusedError, TargetRefusedError, RoundRefusedError, RecipeVerificationError, FieldError: it is
            refused.
        TransportError: the log does not have it so far (`NotInLogError`), or no answer.
    """
    log, key = LogCheck(site_policy()), verification_key().public_bytes_raw()
    served = transport.recipe(str(recipe.identifier))
    if not recipe.private:
        _integrate()
        log.require(served, transport)
    partner, issuer = configured_partners().get(recipe.published.trust), ISSUER.configured()
    published = served.verified(
        key,
        None if partner is None else partner.verification_key,
        None if issuer is None else issuer.verification_key,
    )
    if published.target is not None:
        target_require(
            published.target,
            population=published.population,
            simulation=published.simulation,
            transport=transport,
            log=log,
        )
    round_require(published, transport, key, memory=None)


def _report(row: DeviceChunk, transport: Transport) -> FleetResult:
    simulation = row.simulation
    published, workload = simulation.recipe.published, simulation.workload
    chunk = workloads.Chunk(row.first, row.count, None if row.listed is None else bytes(row.listed))
    steps, segments = published.parameters.step_count, published.segments
    devices = workloads.devices_of(chunk, workload, steps, simulation.seed, segments)
    return run_buckets(
        published,
        [devices.bucket],
        transport,
        verification_key=verification_key().public_bytes_raw(),
        seed=int(simulation.seed),
        weights=workloads.weights_of(workload),
        attributes=devices.attributes,
        eager=workload.get("eager", False),
        # Every attempt may be the second: a broker brings back what a dead worker had, and does not say so.
        sent_before=True,
    )


def _note_problem(simulation: Simulation, error: TransportError) -> None:
    """Say why a chunk was not delivered; it is sent again later, unless its recipe takes no more reports."""
    with transaction.atomic():
        locked = _running(simulation)
        if locked is None:
            return
        recipe = Recipe.objects.get(pk=locked.recipe_id)
        if recipe.status == Recipe.Status.CLOSED:
            _fail(locked)
            return
        problem = str(error) + (_silent_witnesses() if isinstance(error, TooFewWitnessesError) else "")
        locked.problem = problem[: Simulation._meta.get_field("problem").max_length]
        locked.save(update_fields=("problem",))
    logger.warning("devices_not_delivered", recipe=recipe.identifier, error=str(error))


def _silent_witnesses() -> str:
    """What the witnesses that do not sign the log answered."""
    names = {witness.key.name: name for name, witness in site_policy().witnesses.items()}
    asked = AskedWitness.objects.filter(witness__in=names, failing_since__isnull=False)
    return "".join(f"; {names[one.witness]}: {one.last_error}" for one in asked)


@transaction.atomic
def _note_refusal(simulation: Simulation, problem: str) -> None:
    """What devices refuse, or a worker of their file, is refused for good."""
    locked = _running(simulation)
    if locked is not None:
        _fail(locked, problem[: Simulation._meta.get_field("problem").max_length])


def _running(simulation: Simulation) -> Simulation | None:
    """The simulation with its row locked; None if it does not run any more, or is deleted."""
    running = Simulation.objects.filter(state=Simulation.State.RUNNING)
    return running.select_for_update().filter(pk=simulation.pk).first()


def _fail(simulation: Simulation, problem: str = CLOSED_EARLY) -> None:
    simulation_end(simulation, Simulation.State.FAILED, problem)
    simulation_give_up(recipe=simulation.recipe, reason=FAILED, actor=None)
