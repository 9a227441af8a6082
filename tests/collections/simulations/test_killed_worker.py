"""A worker that is killed in the middle of a chunk changes nothing in the count of devices."""

from typing import Any

import pytest

from panapp.services import Services, wait_until
from releases.models import Release, SimulatedTruth
from simulations.models import Simulation
from simulations.operations import simulation_start
from tests.factories import recipe_members
from tests.panapp.crashes import busy_child
from tests.patience import PATIENCE
from tests.processes import services_on_test_database

DEVICES = 6_000

BUSY_SECONDS = 0.3
"""Of the second or more that a chunk takes: the worker has it in hand, and is not done."""


def kill_in_mid_chunk(services: Services, simulation: Simulation) -> int:
    """Kill the worker as a whole while it simulates; how many devices were counted by then."""
    simulation.refresh_from_db()
    done = simulation.done
    victim = busy_child(services, BUSY_SECONDS)
    for process in (victim, victim.parent()):
        process.kill()
    return done


@pytest.mark.long
@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_workers_killed_in_mid_chunk_change_nothing_in_the_count_of_devices(settings: Any) -> None:
    with services_on_test_database() as services:
        settings.SITE_URL = services.base_url
        simulation = simulation_start(
            members=recipe_members(statistic="histogram", k=9, cohort_size=1_000),
            workload={"kind": "bernoulli", "devices": DEVICES, "rate": 0.3},
            seed=7,
            actor=None,
        )
        for kill in range(3):
            done = kill_in_mid_chunk(services, simulation)
            assert done < DEVICES, f"kill {kill} came too late to say anything"
            # The services start the worker again.
            assert wait_until(lambda: Simulation.objects.get().done > done, PATIENCE)  # noqa: B023  # called before the next round
        assert wait_until(lambda: Release.objects.exists(), PATIENCE)
    simulation.refresh_from_db()
    release, truth = Release.objects.get(), SimulatedTruth.objects.get()
    assert (simulation.done, truth.devices, truth.sampled) == (DEVICES, DEVICES, DEVICES)
    assert (simulation.totals["accepted"], simulation.totals["rejected"]) == (DEVICES, {})
    assert release.reports == DEVICES
    assert sum(truth.values) == DEVICES
