"""Simulations: start, run chunk by chunk, end, cancel. Each device counts once, whatever crashes.

The database decides, as in `aggregation`: a chunk's row is deleted and its devices are counted in one
transaction. A task carries a chunk's identifier only, and may be lost, doubled or killed at any moment. A
chunk that is sent again makes the same reports with the same nonces, which the site counts once.
"""

import secrets
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.models import User
from django.db import OperationalError, transaction
from django.db.models import F, Q

from audit.operations import log_lock
from devices_sim.fleet import run_buckets
from devices_sim.fleet_result import FleetResult
from devices_sim.log_check import LogCheck, LogRefusedError, NotInLogError
from devices_sim.transport import Transport, TransportError
from devices_sim.trust_models import ReportingModel, reporting_model
from panprivacy.encryption import SCHEMES
from panprivacy.errors import FieldError
from panprivacy.recipe_draft import RecipeDraft
from panprivacy.statistic import Statistic
from planner.guarantees import guarantees_require, promise_require
from public_log.integrating import integrate
from public_log.selectors import is_witnessed, site_policy
from recipes.actions import RECIPE_PUBLISHED
from recipes.models import Recipe
from releases.models import Release
from releases.operations import SIMULATION_LIFETIME, truth_record
from simulations import counted, workloads
from simulations.ending import simulation_close, simulation_give_up
from simulations.errors import SimulationRefusedError
from simulations.models import DeviceChunk, Simulation
from storage import clock
from storage.signing_key import verification_key
from storage.waits import wait_after
from trust_models import unavailable_here
from trust_models.publishing import recipe_publish_file

logger = structlog.get_logger(__name__)

MOST_AT_ONCE = 4
"""Simulations that run at a time."""

FILE_ATTEMPTS = 3
"""At a file whose worker fails or dies each time; then the simulation fails, and holds no place any more."""

CHUNK_SECONDS = 2.0
"""About how long one chunk takes: for so long a real recipe's chunk may wait for the worker."""

CHUNK_DEVICES = 1_000

REQUEST_SECONDS = 0.04
"""About how long the server takes for one request, whatever is in it."""

SHARING_SECONDS = 2e-4
"""About how long one number of a plain report takes: its share of a proof, and of its verification."""

EVENT_SECONDS = 1e-6
"""About how long one random event takes."""

LARGEST_SECONDS = SIMULATION_LIFETIME.total_seconds() / 2
"""Of a single worker; then a simulation has time to spare before its recipe is closed."""

LONGEST_WAIT = timedelta(minutes=10)
"""Between two attempts at a chunk that is not done. There is no last one: the simulation ends with its
recipe, which is closed after a day."""

LOG_PATIENCE = timedelta(seconds=30)
"""For so long after its start a simulation waits for the public log to have its recipe: witnesses are asked
every few seconds. After that its devices find out what is wrong, and tell."""

LOG_WAIT = timedelta(seconds=2)
"""Until a chunk whose recipe was not in the public log even then is tried again."""

NO_ADDRESS = "PANAPP_SITE_URL is not set, so workers do not know where the simulated devices report"
CANCELLED = "the simulation was cancelled"
FAILED = "the simulation failed"
CLOSED_EARLY = "the recipe was closed before every device had reported"

NOT_A_SIMULATION_S = ("opens_at", "closes_at")
"""Members of a recipe file that a simulation has no use for: it is not bound by its times."""


def simulation_start(
    *, members: Mapping[str, object], workload: object, seed: object, actor: User | None
) -> Simulation:
    """Publish a copy of a recipe for simulated devices, and have workers simulate them.

    Do not call it in a transaction: another server may be asked on the way. The workers begin at the next
    tick.

    Args:
        members: fields of a recipe file; its times are left out.
        workload: see `workloads.planned`.
        seed: repeats what the devices do; None draws one from `secrets`.

    Raises:
        FieldError: a field of the recipe, `seed`, or `workload.…`; nothing was stored. What is wrong within a
            file a worker finds, and the simulation then fails with it.
        PartnerUnavailableError: the recipe's other server did not answer; nothing was stored.
        SimulationRefusedError: the site does not know its own address, or enough simulations run already.
        NotComputedError: its guarantees are not computed yet; not for the command line.
    """
    require_address()
    _require_room()
    members = {name: value for name, value in members.items() if name not in NOT_A_SIMULATION_S}
    if actor is not None:
        draft = RecipeDraft.from_mapping(members)
        guarantees_require(asked=draft)
        promise_require(asked=draft)
    return simulation_publish(members=members, workload=workload, seed=seed, actor=actor)


def _require_room() -> None:
    running = Simulation.objects.filter(state=Simulation.State.RUNNING, try_number=None)
    if running.count() >= MOST_AT_ONCE:
        raise SimulationRefusedError(f"{MOST_AT_ONCE} simulations run already; wait for one, or cancel one")


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
    try_number: int | None = None,
) -> Simulation:
    """Publish a simulated recipe as it stands, with the devices that workers simulate.

    Args:
        members, workload, seed: as of `simulation_start`, but times are kept.
        try_number: of a try (`simulations.tries`), one more than the last one's; None of others.

    Raises:
        IntegrityError: a try has this number already; nothing was stored.
        FieldError, PartnerUnavailableError, SimulationRefusedError: as `simulation_start`.
    """
    if seed is not None:
        seed = workloads.SEED.check("seed", int, seed)
    draft = RecipeDraft.from_mapping(members)
    if draft.target is not None:
        raise FieldError("target", "must be left out: devices that workers simulate have no attributes")
    model = reporting_model(draft)
    unavailable = unavailable_here(draft.trust)
    if unavailable:
        raise FieldError("trust", f"cannot be {draft.trust.value} here: {unavailable}")
    statistic = draft.calibrated_statistic()
    plan = workloads.planned(workload, model, statistic, draft.segments)
    if plan.devices is None:
        devices, chunks = 0, [workloads.Chunk(0, 0, plan.content)]
    else:
        devices, chunks = _cut(plan, draft, model, statistic)
    simulation = Simulation(
        workload=plan.workload,
        seed=str(secrets.randbits(256) if seed is None else seed),
        seed_given=seed is not None,
        devices=devices,
        started_at=clock.database_now(),
        try_number=try_number,
    )

    def store(recipe: Recipe) -> None:
        if try_number is None:
            # Counted once more, by one at a time: others may have begun meanwhile.
            log_lock()
            _require_room()
        simulation.recipe = recipe
        simulation.save(force_insert=True)
        _chunks_store(simulation, chunks)

    # With the recipe or not at all: nobody simulates the devices of one that was published alone.
    recipe_publish_file(members=members, actor=actor, simulation=True, stored=store)
    return simulation


def chunks_take(*, simulation: Simulation) -> list[uuid.UUID]:
    """Chunks whose tasks are to be sent now, marked as sent: those never sent, and those whose task seems
    lost.

    Returns:
        So many that `RECIPE_CHUNKS` of the simulation are underway; none while its recipe is about to be in
        the public log. The caller sends their tasks after commit.
    """
    now = clock.database_now()
    chunks = DeviceChunk.objects.filter(simulation=simulation)
    due = chunks.filter(Q(send_after=None) | Q(send_after__lte=now))
    # Looked at without a lock first: at most ticks there is none. A file is cut meanwhile.
    if not due.exists() or (not due.filter(count=0).exists() and _waits_for_log(simulation, now)):
        return []
    with transaction.atomic():
        locked = Simulation.objects.select_for_update().get(pk=simulation.pk)
        if locked.state != Simulation.State.RUNNING:
            return []
        if locked.started_at + 2 * SIMULATION_LIFETIME <= now:
            # Its workers die before they hear that the recipe is closed.
            _fail(locked)
            return []
        room = max(0, settings.RECIPE_CHUNKS - chunks.filter(send_after__gt=now).count())
        # All others of the simulation may come before a chunk.
        patience = timedelta(seconds=settings.CHUNK_STALE_SECONDS + settings.RECIPE_CHUNKS * CHUNK_SECONDS)
        # Lost ones first.
        taken = list(due.order_by(F("send_after").asc(nulls_last=True), "first").defer("listed")[:room])
        for chunk in taken:
            if chunk.send_after is not None:
                chunk.attempts += 1
                logger.warning("devices_sent_again", chunk=str(chunk.pk), attempts=chunk.attempts)
            chunk.send_after = now + wait_after(chunk.attempts, first=patience, longest=LONGEST_WAIT)
        DeviceChunk.objects.bulk_update(taken, ("attempts", "send_after"))
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
        _require_in_log(row.simulation.recipe, transport)
        result = _report(row, transport)
    except LogRefusedError as error:
        logger.error("simulated_devices_refused", simulation=str(row.simulation_id), error=str(error))
        _note_refusal(row.simulation, error)
        return
    except TransportError as error:
        _note_problem(row.simulation, error)
        if isinstance(error, NotInLogError):
            # It is about to be: so soon that this counts as no attempt.
            soon = clock.database_now() + LOG_WAIT
            DeviceChunk.objects.filter(pk=chunk).update(send_after=soon, attempts=0)
        return
    with transaction.atomic():
        simulation = Simulation.objects.select_for_update().get(pk=row.simulation_id)
        counts = DeviceChunk.objects.filter(pk=chunk).delete()[0]
        if not counts or simulation.state != Simulation.State.RUNNING:
            return
        total = counted.of_json(simulation.totals)
        total.add(result)
        simulation.totals = counted.as_json(total)
        simulation.done = total.devices
        simulation.problem = ""
        simulation.save(update_fields=("totals", "done", "problem"))
        # A try ends at a tick, when browsers have had their time.
        if simulation.done == simulation.devices and simulation.try_number is None:
            _conclude(simulation, total)


def try_end(*, simulation: Simulation) -> None:
    """End a try whose simulated devices have all reported, once its recipe's time is over; or do nothing."""
    # Looked at without a lock first: at most ticks it goes on.
    closes_at = simulation.recipe.closes_at
    if simulation.done < simulation.devices or closes_at is None or clock.settled_now() < closes_at:
        return
    with transaction.atomic():
        simulation = Simulation.objects.select_for_update().get(pk=simulation.pk)
        if simulation.state == Simulation.State.RUNNING:
            _conclude(simulation, counted.of_json(simulation.totals))


@transaction.atomic
def simulation_cancel(*, simulation: Simulation, actor: User | None) -> Simulation:
    """End a simulation: its recipe is closed, and no result released. Cancelled once more, it stays so.

    Raises:
        SimulationRefusedError: it has ended already.
    """
    simulation = Simulation.objects.select_for_update().get(pk=simulation.pk)
    if simulation.state == Simulation.State.CANCELLED:
        return simulation
    has_result = Release.objects.filter(recipe=simulation.recipe_id).exists()
    if simulation.state == Simulation.State.FAILED or has_result:
        raise SimulationRefusedError("the simulation has ended already")
    _end(simulation, Simulation.State.CANCELLED, "")
    simulation_give_up(recipe=simulation.recipe, reason=CANCELLED, actor=actor)
    return simulation


def _cut(
    plan: workloads.Planned, draft: RecipeDraft, model: ReportingModel, statistic: Statistic[Any]
) -> tuple[int, list[workloads.Chunk]]:
    """The devices of a plan: their number, and them in chunks. Raises FieldError."""
    seconds = _seconds_per_device(draft, model, statistic)
    # Devices draw their events whether or not they take part.
    seconds += EVENT_SECONDS * statistic.parameters.step_count * plan.workload.get("probability", 0.0)
    if plan.devices is not None:
        _require_in_time(plan.devices, seconds)
    chunks = list(plan.cut(max(1, min(CHUNK_DEVICES, int(CHUNK_SECONDS / seconds)))))
    devices = workloads.DEVICES.check("workload.devices", int, sum(chunk.count for chunk in chunks))
    _require_in_time(devices, seconds)
    return devices, chunks


def _chunks_store(simulation: Simulation, chunks: Iterable[workloads.Chunk]) -> None:
    DeviceChunk.objects.bulk_create(
        (
            DeviceChunk(simulation=simulation, first=chunk.first, count=chunk.count, listed=chunk.listed)
            for chunk in chunks
        ),
        batch_size=500,
    )


def _file_cut(row: DeviceChunk) -> None:
    """Put the devices of a file in the place of the row that holds it; the simulation fails where it is
    refused."""
    if row.attempts >= FILE_ATTEMPTS:
        _note_refusal(row.simulation, FieldError("workload", "could not be read, at several attempts"))
        return
    recipe, content = row.simulation.recipe, None if row.listed is None else bytes(row.listed)
    draft, statistic = RecipeDraft.from_mapping(recipe.draft), recipe.published.calibrated_statistic
    model = reporting_model(draft)
    try:
        plan = workloads.planned_again(row.simulation.workload, content, model, statistic)
        devices, chunks = _cut(plan, draft, model, statistic)
    except FieldError as error:
        _note_refusal(row.simulation, error)
        return
    with transaction.atomic():
        simulation = Simulation.objects.select_for_update().get(pk=row.simulation_id)
        is_ours = DeviceChunk.objects.filter(pk=row.pk).delete()[0]
        if is_ours and simulation.state == Simulation.State.RUNNING:
            simulation.devices = devices
            simulation.save(update_fields=("devices",))
            _chunks_store(simulation, chunks)


def _seconds_per_device(draft: RecipeDraft, model: ReportingModel, statistic: Statistic[Any]) -> float:
    """About how long one device takes, on average: encrypting as long as decrypting, and its request."""
    each = SHARING_SECONDS
    if draft.encryption is not None:
        each = SCHEMES[draft.encryption].public_key_class.decryption_seconds
    reporting = max(statistic.parameters.sampling_rate, 0.01)
    encrypting = model.most_ciphertexts(statistic) * each
    return float((encrypting + REQUEST_SECONDS / model.batch_reports) * reporting)


def _require_in_time(devices: int, seconds: float) -> None:
    most = max(1, int(LARGEST_SECONDS / seconds))
    if devices > most:
        raise FieldError(
            "workload.devices",
            f"must be at most {most:,} for this recipe, not {devices:,}: one worker would take "
            f"more than {LARGEST_SECONDS / 3600:.0f} hours",
        )


def _waits_for_log(simulation: Simulation, now: datetime) -> bool:
    """Whether devices would not report yet, and it is too early for anything to be wrong."""
    # Where a clock was set back, nothing is waited for.
    if simulation.done or not timedelta(0) <= now - simulation.started_at < LOG_PATIENCE:
        return False
    _integrate()
    return not is_witnessed((RECIPE_PUBLISHED,), str(simulation.recipe.identifier))


def _integrate() -> None:
    with suppress(OperationalError):  # the database is busy: the task that does so comes to it
        integrate()


def _require_in_log(recipe: Recipe, transport: Transport) -> None:
    """As devices do before they report: is the recipe in the public log, as this site's policy asks?

    Raises:
        LogRefusedError: it is not, or the log is another one.
        TransportError: not yet (`NotInLogError`), or no answer.
    """
    _integrate()
    LogCheck(site_policy()).require(transport.recipe(str(recipe.identifier)), transport)


def _report(row: DeviceChunk, transport: Transport) -> FleetResult:
    simulation = row.simulation
    published = simulation.recipe.published
    chunk = workloads.Chunk(row.first, row.count, None if row.listed is None else bytes(row.listed))
    bucket = workloads.bucket_of(chunk, simulation.workload, published.parameters.step_count, simulation.seed)
    total = FleetResult()
    # Every attempt may be the second: a broker brings back what a dead worker had, and says nothing of it.
    for result in run_buckets(
        published,
        [bucket],
        transport,
        verification_key=verification_key().public_bytes_raw(),
        seed=int(simulation.seed),
        weights=workloads.weights_of(simulation.workload),
        sent_before=True,
    ):
        total.add(result)
    return total


def _note_problem(simulation: Simulation, error: TransportError) -> None:
    """Say why a chunk was not delivered; it is sent again later, unless its recipe takes no more reports."""
    with transaction.atomic():
        simulation = Simulation.objects.select_for_update().get(pk=simulation.pk)
        if simulation.state != Simulation.State.RUNNING:
            return
        recipe = Recipe.objects.get(pk=simulation.recipe_id)
        if recipe.status == Recipe.Status.CLOSED:
            _fail(simulation)
            return
        simulation.problem = str(error)[: Simulation._meta.get_field("problem").max_length]
        simulation.save(update_fields=("problem",))
    logger.warning("devices_not_delivered", recipe=recipe.identifier, error=str(error))


@transaction.atomic
def _note_refusal(simulation: Simulation, error: LogRefusedError | FieldError) -> None:
    """What devices refuse, or a worker of their file, is refused for good."""
    simulation = Simulation.objects.select_for_update().get(pk=simulation.pk)
    if simulation.state == Simulation.State.RUNNING:
        _fail(simulation, str(error)[: Simulation._meta.get_field("problem").max_length])


def _conclude(simulation: Simulation, total: FleetResult) -> None:
    """All devices are done: keep the truth, and close the recipe, so that its result is released."""
    recipe = simulation.recipe
    # What happened in the browsers of a try nobody knows but they.
    if simulation.try_number is None:
        model, statistic = reporting_model(recipe.published), recipe.published.calibrated_statistic
        truth_record(
            recipe=recipe,
            values=model.truth(statistic, total),
            devices=total.devices,
            sampled=total.sampled,
            segments=model.segment_truths(statistic, total),
        )
    simulation_close(recipe=recipe, actor=None)
    _end(simulation, Simulation.State.REPORTED, "")


def _fail(simulation: Simulation, problem: str = CLOSED_EARLY) -> None:
    _end(simulation, Simulation.State.FAILED, problem)
    simulation_give_up(recipe=simulation.recipe, reason=FAILED, actor=None)


def _end(simulation: Simulation, state: Simulation.State, problem: str) -> None:
    simulation.state, simulation.problem = state, problem
    simulation.ended_at = clock.database_now()
    simulation.save(update_fields=("state", "problem", "ended_at"))
    DeviceChunk.objects.filter(simulation=simulation).delete()
