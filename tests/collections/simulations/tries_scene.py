"""Tries that are small, and brought to their end without workers."""

from typing import Any

import pytest

from releases.models import Release
from simulations import tries
from simulations.models import Simulation
from simulations.operations import chunk_run, chunks_take, try_end
from tests.clock import time_is
from tests.collections.simulations.site import Site
from tests.collections.simulations.test_simulations import released

DEVICES = 40


def small_tries(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """Tries can begin here, each with `DEVICES` simulated devices."""
    settings.TRY, settings.SITE_URL = True, "http://localhost"
    monkeypatch.setattr(tries, "DEVICES", DEVICES)
    monkeypatch.setattr(tries, "COHORT_SIZE", 20)


def devices_report(simulation: Simulation) -> Simulation:
    """All simulated devices do."""
    for chunk in chunks_take(simulation=simulation):
        chunk_run(chunk=chunk, transport=Site())
    return Simulation.objects.get(pk=simulation.pk)


def ended(simulation: Simulation, monkeypatch: pytest.MonkeyPatch) -> Release:
    """The time of the try is over: it ends, and its result is released."""
    closes_at = simulation.recipe.closes_at
    assert closes_at is not None
    with monkeypatch.context() as later:
        time_is(later, lambda: closes_at)
        try_end(simulation=simulation)
        return released(simulation)
