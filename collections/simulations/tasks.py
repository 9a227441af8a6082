"""Tasks carry identifiers only."""

import uuid
from functools import partial

import structlog
from celery import shared_task
from django.conf import settings
from django.db import transaction

from panprivacy.device.transport import HttpTransport
from recipes.access import DEVICE_KEY
from results.aggregation.tasks import steps_send
from simulations.chunks import chunk_run, chunks_take, try_end
from simulations.models import DeviceChunk, Simulation
from simulations.selectors import series_running, simulations_running
from simulations.series_simulations import series_simulation_advance
from storage.periodic import PeriodicTask

logger = structlog.get_logger(__name__)


@shared_task(base=PeriodicTask)
def advance_simulations() -> None:
    """Send the tasks that are due, of every simulation; safe to run at any time, twice."""
    for simulation in simulations_running():
        try:
            chunks_send(simulation=simulation)
            if simulation.try_number is not None:
                try_end(simulation=simulation)
        except Exception:
            # One that cannot be brought on must not hold up the others.
            logger.exception("simulation_not_advanced", simulation=str(simulation.pk))


@shared_task(base=PeriodicTask)
def advance_simulated_series() -> None:
    """Begin the rounds of simulated series that are due; safe to run at any time, even twice."""
    for simulation in series_running():
        try:
            series_simulation_advance(simulation=simulation)
        except Exception:
            # One that cannot be brought on must not hold up the others.
            logger.exception("simulated_series_not_advanced", series=simulation.series.identifier)


@shared_task
def simulate_devices(chunk: str) -> None:
    """Simulate the devices of one chunk, and send for the next one; safe to run any number of times."""
    row = DeviceChunk.objects.select_related("simulation__recipe").filter(pk=uuid.UUID(chunk)).first()
    if row is None or not settings.SITE_URL:
        return
    recipe = row.simulation.recipe
    fields = {DEVICE_KEY: recipe.device_key} if recipe.private else {}
    with HttpTransport(settings.SITE_URL, fields=fields) as transport:
        chunk_run(chunk=row.pk, transport=transport)
    chunks_send(simulation=row.simulation)
    # The last one closes the recipe.
    steps_send(only=recipe)


def chunks_send(*, simulation: Simulation) -> None:
    """Send the tasks of chunks that are due, once this transaction is committed."""
    for chunk in chunks_take(simulation=simulation):
        transaction.on_commit(partial(simulate_devices.delay, str(chunk)))
