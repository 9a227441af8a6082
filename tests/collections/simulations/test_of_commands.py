"""Simulations of commands: published first, and given devices then, in files of any size."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from devices_sim.fleet_attributes import FleetAttributes
from devices_sim.workloads.bucket import EventWorkload, listed
from panprivacy.device.target_check import TargetRefusedError
from panprivacy.formats.errors import FieldError
from partners.recipe_document import SIMULATION_LIFETIME
from publishing.admission import Admitting
from results.models import Release, SimulatedTruth
from simulations import chunk_sizes, chunks, workloads
from simulations.chunks import chunks_take
from simulations.models import DeviceChunk, Simulation
from simulations.operations import devices_add, simulation_cancel, simulation_open
from simulations.selectors import MOST_AT_ONCE, outcome_of
from tests.collections.simulations.scene import Site, released, run, small_chunks, start
from tests.factories import recipe_members
from tests.page_text import page_text
from tests.refusals import raising
from tests.scenes import analyst
from tests.target_scene import DECLARED, counted, declare, file_of, publish
from tests.tokens import ISSUER_KEY

pytestmark = pytest.mark.django_db

EVENTS = tuple((f"d{number}", {1} if number % 3 == 0 else set()) for number in range(30))


def opened(*, seed: int | None = 7, eager: bool = False, at_once: int = 2, **changes: Any) -> Simulation:
    return simulation_open(
        members=recipe_members(**changes),
        seed=seed,
        weights=None,
        eager=eager,
        at_once=at_once,
        partners={},
        admitting=Admitting(),
        place=None,
    )


def with_devices(simulation: Simulation, devices: Any = EVENTS) -> Simulation:
    devices_add(simulation=simulation, workload=EventWorkload(4, listed(devices)), attributes=None)
    return simulation


def test_simulations_of_commands_take_no_place_of_others() -> None:
    for _ in range(MOST_AT_ONCE):
        opened()
    assert chunks_take(simulation=start())


def test_devices_of_a_command_report_and_its_page_shows_them(site: Site) -> None:
    simulation = run(with_devices(opened()), site)
    assert (simulation.state, simulation.devices, simulation.done) == ("reported", 30, 30)
    assert SimulatedTruth.objects.get().values == [10]
    assert released(simulation).reports == 30
    outcome = outcome_of(simulation)
    assert outcome is not None
    assert outcome.as_dict()["reports"] == {"accepted": 30, "rejected": {}}
    client = Client()
    client.force_login(analyst())
    text = page_text(client.get(reverse("simulation", args=[simulation.pk])))
    assert "30 devices, 30 of them sampled" in text


def test_devices_that_take_every_step_have_smaller_chunks(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_sizes, "CHUNK_SECONDS", 0.002)
    lazy, eager = with_devices(opened()), with_devices(opened(eager=True))
    assert DeviceChunk.objects.filter(simulation=eager).count() > lazy.chunks.count()
    assert run(eager, site).totals["accepted"] == 30
    # No more of them are under way than the command says.
    small_chunks(monkeypatch, 5)
    assert len(chunks_take(simulation=with_devices(opened(at_once=3)))) == 3


def test_forecast_is_of_all_devices_and_longer_if_they_take_every_step() -> None:
    workload, none = EventWorkload(4, listed(EVENTS)), None
    alone, eager = (
        devices_add(simulation=opened(at_once=1, eager=eager), workload=workload, attributes=none)
        for eager in (False, True)
    )
    assert (alone.users, alone.messages) == (30, 1)
    assert eager.seconds > alone.seconds > 0


def test_devices_that_come_after_the_end_or_do_not_fit_are_not_kept() -> None:
    simulation = opened()
    simulation_cancel(simulation=simulation, actor=None, reason="the command was interrupted")
    with_devices(simulation)
    assert Release.objects.get().reason == "the command was interrupted"
    with pytest.raises(FieldError, match="at most the recipe's 3, not 4"):
        with_devices(opened(steps=3))
    empty = with_devices(opened(), devices=())
    empty.refresh_from_db()
    assert (empty.state, empty.recipe.status) == ("reported", "closed")
    assert not DeviceChunk.objects.exists()


def test_simulation_whose_command_died_early_ends_after_two_days() -> None:
    simulation = opened(seed=-(10**90))
    assert simulation.seed == str(-(10**90))
    assert chunks_take(simulation=simulation) == []
    Simulation.objects.update(started_at=timezone.now() - 2 * SIMULATION_LIFETIME)
    simulation.refresh_from_db()
    assert chunks_take(simulation=simulation) == []
    simulation.refresh_from_db()
    assert simulation.state == "failed"


def test_attributes_stay_with_their_device() -> None:
    attributes = FleetAttributes(of_all={"os": "linux"}, of_device={"d1": {"region": "eu"}})
    (chunk,) = workloads.listed([("d0", {1}), ("d1", set())], 10, attributes)
    devices = workloads.devices_of(chunk, {"kind": "events"}, 4, "7")
    assert list(devices.bucket) == [("d0", {1}), ("d1", frozenset())]
    assert devices.attributes is not None
    assert devices.attributes.of("d0") == {"os": "linux"}
    assert devices.attributes.of("d1") == {"os": "linux", "region": "eu"}


def test_devices_check_results_that_a_target_cites(
    settings: Any, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ISSUER_URL = "http://issuer.example"
    settings.ISSUER_KEY = ISSUER_KEY.public_key().public_bytes_raw()
    declare("everyone", DECLARED)
    asked = publish(file_of(("os", "linux", counted(simulation=True))), simulation=True)
    chunks._recipe_require(asked, site)

    monkeypatch.setattr(chunks, "target_require", raising(TargetRefusedError))
    with pytest.raises(TargetRefusedError):
        chunks._recipe_require(asked, site)
