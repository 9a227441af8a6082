"""Tries: beginning, joining and ending them, and how many strangers can begin."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.utils import timezone

from ledger.models import Spending
from log.audit.models import Entry
from recipes.models import Recipe
from results.models import SimulatedTruth
from simulations import operations, tries
from simulations.chunks import try_end
from simulations.errors import SimulationRefusedError
from simulations.models import Simulation
from simulations.operations import simulation_cancel
from simulations.tasks import advance_simulations
from simulations.tries import latest_try, simulated_devices, try_join, try_members, try_of
from tests.clock import time_is
from tests.collections.simulations.scene import DEVICES, devices_report, ended, small_tries, start
from tests.factories import raw_reports_submit, report_of_values

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    small_tries(monkeypatch, settings)
    cache.clear()
    # Time stands still, so that nobody comes too late on a busy machine.
    now = timezone.now()
    time_is(monkeypatch, lambda: now)


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    moment = timezone.now() + timedelta(seconds=seconds)
    time_is(monkeypatch, lambda: moment)


def apart(monkeypatch: pytest.MonkeyPatch, count: int) -> list[Simulation]:
    """So many tries, one after the other."""
    begun = []
    for _ in range(count):
        begun.append(try_join(asker="a"))
        later(monkeypatch, 61)
    return begun


def cancelled(simulation: Simulation) -> None:
    simulation_cancel(simulation=simulation, actor=None)


def test_try_opens_soon_has_short_steps_and_spends_nothing() -> None:
    before = timezone.now()
    recipe = try_join(asker="a").recipe
    after = timezone.now()
    assert (recipe.simulation, recipe.published.step_seconds) == (True, 10)
    assert recipe.opens_at is not None
    assert recipe.closes_at is not None
    assert before + timedelta(seconds=7) <= recipe.opens_at <= after + timedelta(seconds=8)
    assert recipe.closes_at - recipe.opens_at == timedelta(seconds=55)
    assert not Spending.objects.exists()


def test_early_visitor_joins_a_try_and_late_one_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    first = try_join(asker="a")
    later(monkeypatch, 5)
    assert try_join(asker="b") == first
    later(monkeypatch, 1.5)
    second = try_join(asker="a")
    assert first.recipe.opens_at is not None
    assert second.recipe.opens_at == first.recipe.opens_at + tries.APART
    later(monkeypatch, 50)
    assert try_join(asker="b") == second
    assert Recipe.objects.count() == 2
    # A try that was cancelled is not joined.
    cancelled(second)
    assert try_join(asker="b") not in (first, second)


def test_two_requests_that_begin_the_same_try_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    first = try_join(asker="a")
    monkeypatch.setattr(tries, "latest_try", lambda: None)
    assert try_join(asker="b") == first
    assert Recipe.objects.count() == 1
    assert Entry.objects.filter(action="recipe_published").count() == 1


def test_clock_that_is_set_back_delays_no_try(monkeypatch: pytest.MonkeyPatch) -> None:
    try_join(asker="a")
    later(monkeypatch, -86_400)
    opens_at = try_join(asker="a").recipe.opens_at
    assert opens_at is not None
    assert opens_at - timezone.now() <= tries.APART


@pytest.mark.parametrize("before_midnight", [None, 90])
def test_address_begins_few_tries_an_hour_and_joins_any(
    monkeypatch: pytest.MonkeyPatch, before_midnight: int | None
) -> None:
    """The hour does not end at midnight. Without that, the test begins at noon."""
    monkeypatch.setattr(tries, "TRIES_AN_HOUR", 2)
    midnight = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    begins = (midnight - timezone.now()).total_seconds() - (before_midnight or 43_200)
    later(monkeypatch, begins)
    apart(monkeypatch, 2)
    assert (timezone.now() > midnight) is (before_midnight is not None)
    with pytest.raises(SimulationRefusedError, match="from your network"):
        try_join(asker="a")
    other = try_join(asker="b")
    assert try_join(asker="a") == other


def test_day_has_so_many_tries_for_all_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tries, "TRIES_A_DAY", 2)
    for simulation in apart(monkeypatch, 2):
        cancelled(simulation)
    with pytest.raises(SimulationRefusedError, match="today"):
        try_join(asker="b")
    later(monkeypatch, 86_400)
    try_join(asker="b")


def test_no_more_tries_run_than_workers_come_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tries, "TRIES_AT_ONCE", 2)
    apart(monkeypatch, 2)
    with pytest.raises(SimulationRefusedError, match="still at work"):
        try_join(asker="a")


def test_tries_and_simulations_have_places_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "MOST_IN_LINE", 2)
    for _ in range(2):
        started = start()
    apart(monkeypatch, tries.TRIES_AT_ONCE)
    cancelled(started)
    start()


def test_try_waits_for_browsers_and_its_result_counts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = devices_report(try_join(asker="a"))
    try_end(simulation=simulation)
    assert (simulation.done, simulation.state) == (DEVICES, "running")
    recipe = Recipe.objects.get(pk=simulation.recipe_id)
    assert raw_reports_submit(recipe=recipe, reports=[report_of_values(recipe, [1])]) == []
    release = ended(simulation, monkeypatch)
    assert release.reports == DEVICES + 1
    counted = simulated_devices(Simulation.objects.get())
    assert counted.reported == DEVICES
    assert 0 <= counted.happened <= DEVICES
    # What happened in the browser nobody knows, so there is no truth of the whole.
    assert not SimulatedTruth.objects.exists()
    assert Entry.objects.filter(subject=recipe.identifier).count() == 3


def test_try_whose_devices_are_late_ends_when_they_have_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = try_join(asker="a")
    later(monkeypatch, 600)
    try_end(simulation=simulation)
    assert Simulation.objects.get().state == "running"
    assert ended(devices_report(simulation), monkeypatch).reports == DEVICES


def test_tick_ends_a_try_whose_time_is_over_once(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = devices_report(try_join(asker="a"))
    advance_simulations()
    assert Simulation.objects.get().state == "running"
    later(monkeypatch, 120)
    advance_simulations()
    assert Simulation.objects.get().state == "reported"
    advance_simulations()
    try_end(simulation=simulation)  # from before
    assert Entry.objects.filter(action="recipe_closed").count() == 1


def test_try_is_found_by_its_recipe_and_other_recipes_are_none() -> None:
    simulation = try_join(asker="a")
    assert try_of(str(simulation.recipe.identifier)) == latest_try() == simulation
    assert try_of(str(start().recipe.identifier)) is None


def test_of_the_simulated_devices_it_happens_on_thirty_percent() -> None:
    none = (1 - tries.RATE) ** tries.STEPS
    assert 1 - none == pytest.approx(0.3, abs=0.005)
    assert try_members(timezone.now())["epsilon"] == tries.EPSILON
