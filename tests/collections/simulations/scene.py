"""Simulations, and tries that are small, brought to their end without workers; of the site, only HTTP is left
out."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client

from panprivacy.device.transport import JSON, Answer, Transport
from recipes.access import DEVICE_KEY
from recipes.models import Recipe
from results.aggregation.operations import chunk_process, chunks_plan
from results.models import Release
from results.operations import result_release
from simulations import tries
from simulations.chunks import chunk_run, chunks_take, try_end
from simulations.models import Simulation
from simulations.operations import simulation_start
from tests.clock import time_is
from tests.factories import recipe_members

CSV = "device,step,events\n" + "".join(f"d{i},{1 + i % 4},{int(i % 3 == 0)}\n" for i in range(30))
BERNOULLI = {"kind": "bernoulli", "devices": 40, "rate": 0.2}
DEVICES = 40
"""Of a try."""


class Site(Transport):
    """Requests to the site's own addresses, as simulated devices send them."""

    def at(self, base_url: str) -> Transport:
        raise ValueError(f"there is no server {base_url} in this process")

    def exchange(
        self,
        method: str,
        target: str,
        *,
        body: bytes = b"",
        content_type: str = "",
        accept: str = JSON,
        fields: Mapping[str, str] | None = None,
    ) -> Answer:
        given = {"Accept": accept, **(fields or {})}
        if named := re.search("[0-9a-f]{64}", target):
            keys = Recipe.objects.filter(identifier=named[0]).values_list("device_key", flat=True)
            given[DEVICE_KEY] = keys.first() or ""
        answer = Client().generic(method, target, body, content_type=content_type, headers=given)
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return Answer(answer.status_code, headers, answer.getvalue())


def start(
    workload: dict[str, Any] | None = None, seed: int | None = 7, public: bool = True, **changes: Any
) -> Simulation:
    members = recipe_members(**changes)
    return simulation_start(
        members=members, workload=workload or BERNOULLI, seed=seed, actor=None, public=public
    )


def run(simulation: Simulation, site: Transport) -> Simulation:
    """Until nothing is left for workers to do."""
    while chunks := chunks_take(simulation=simulation):
        for chunk in chunks:
            chunk_run(chunk=chunk, transport=site)
    simulation.refresh_from_db()
    return simulation


def summed(simulation: Simulation) -> Recipe:
    """Its recipe, whose reports are added up."""
    recipe = Recipe.objects.get(pk=simulation.recipe_id)
    for chunk in chunks_plan(recipe=recipe):
        chunk_process(chunk=chunk)
    return recipe


def released(simulation: Simulation) -> Release:
    release = result_release(recipe=summed(simulation))
    assert release is not None
    return release


def small_chunks(monkeypatch: pytest.MonkeyPatch, devices: int = 15) -> None:
    monkeypatch.setattr("simulations.chunk_sizes.CHUNK_DEVICES", devices)


def small_tries(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """Tries can begin here, each with `DEVICES` simulated devices."""
    settings.TRY, settings.SITE_URL = True, "http://localhost"
    monkeypatch.setattr(tries, "DEVICES", DEVICES)
    monkeypatch.setattr(tries, "COHORT_SIZE", 20)


def devices_report(simulation: Simulation) -> Simulation:
    """All simulated devices do."""
    return run(simulation, Site())


def ended(simulation: Simulation, monkeypatch: pytest.MonkeyPatch) -> Release:
    """The time of the try is over: it ends, and its result is released."""
    closes_at = simulation.recipe.closes_at
    assert closes_at is not None
    with monkeypatch.context() as later:
        time_is(later, lambda: closes_at)
        try_end(simulation=simulation)
        return released(simulation)
