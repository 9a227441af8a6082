"""Into how many devices a workload is cut, so that each chunk takes about as long as any other."""

from collections.abc import Iterable
from itertools import islice

from devices_sim.devices import SimulatedDevices
from panprivacy.encryption import SCHEMES
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.parts.admission import Admission
from partners.recipe_document import SIMULATION_LIFETIME
from simulations import workloads
from simulations.models import DeviceChunk, Simulation

CHUNK_SECONDS = 2.0
"""About how long one chunk takes: for so long a real recipe's chunk may wait for the worker."""

CHUNK_DEVICES = 1_000

REQUEST_SECONDS = 0.04
"""About how long the server takes for one request, whatever is in it."""

SHARING_SECONDS = 2e-4
"""About how long one number of a plain report takes: its share of a proof, and of its verification."""

TOKEN_SECONDS = 0.05
"""About how long a device waits for its token."""

EVENT_SECONDS = 1e-6
"""About how long one random event takes."""

LARGEST_SECONDS = SIMULATION_LIFETIME.total_seconds() / 2
"""Of a single worker; then a simulation has time to spare before its recipe is closed."""

CHUNKS_STORED = 100
"""At a time: so much of a large file is in memory at most."""


def plan_cut(
    plan: workloads.Planned, draft: RecipeDraft, simulated: SimulatedDevices
) -> tuple[int, list[workloads.Chunk]]:
    """The devices of a plan: their number, and them in chunks. Raises FieldError."""
    seconds = _seconds_of_plan(plan, draft, simulated)
    if plan.devices is not None:
        _require_in_time(plan.devices, seconds)
    chunks = list(plan.cut(devices_at_once(seconds)))
    devices = workloads.DEVICES.check("workload.devices", int, sum(chunk.count for chunk in chunks))
    _require_in_time(devices, seconds)
    return devices, chunks


def work_seconds(plan: workloads.Planned, draft: RecipeDraft, simulated: SimulatedDevices) -> float:
    """About how long one process works on all devices of a plan; 0 if it does not say how many there are."""
    return (plan.devices or 0) * _seconds_of_plan(plan, draft, simulated)


def _seconds_of_plan(plan: workloads.Planned, draft: RecipeDraft, simulated: SimulatedDevices) -> float:
    """Of one device. It draws its events whether or not it takes part."""
    events = simulated.statistic.parameters.step_count * plan.workload.get("probability", 0.0)
    return float(seconds_per_device(draft, simulated) + EVENT_SECONDS * events)


def devices_at_once(seconds: float) -> int:
    """The devices of a chunk, if each takes so long."""
    return max(1, min(CHUNK_DEVICES, int(CHUNK_SECONDS / seconds)))


def chunks_store(simulation: Simulation, chunks: Iterable[workloads.Chunk]) -> int:
    """Store them; how many devices they have."""
    devices, rest = 0, iter(chunks)
    while some := list(islice(rest, CHUNKS_STORED)):
        devices += sum(chunk.count for chunk in some)
        DeviceChunk.objects.bulk_create(
            DeviceChunk(simulation=simulation, first=chunk.first, count=chunk.count, listed=chunk.listed)
            for chunk in some
        )
    return devices


def seconds_per_device(draft: RecipeDraft, simulated: SimulatedDevices) -> float:
    """About how long one device takes, on average: encrypting as long as decrypting, and its request."""
    each = SHARING_SECONDS
    if draft.encryption is not None:
        each = SCHEMES[draft.encryption].public_key_class.decryption_seconds
    reporting = max(simulated.statistic.parameters.sampling_rate, 0.01)
    encrypting = simulated.most_ciphertexts * each
    sending = REQUEST_SECONDS if draft.relay else REQUEST_SECONDS / simulated.batch_reports
    # Whether or not they take part.
    asking = TOKEN_SECONDS if draft.admission == Admission.TOKEN else 0.0
    return float((encrypting + sending) * reporting + asking)


def _require_in_time(devices: int, seconds: float) -> None:
    most = max(1, int(LARGEST_SECONDS / seconds))
    if devices > most:
        raise FieldError(
            "workload.devices",
            f"must be at most {most:,} for this recipe, not {devices:,}: one worker would take "
            f"more than {LARGEST_SECONDS / 3600:.0f} hours",
        )
