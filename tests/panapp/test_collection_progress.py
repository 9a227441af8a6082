"""What a command that collects says meanwhile."""

from typing import Any

import pytest
from django.conf import settings

from devices_sim.fleet import FleetError
from reports.rows import CHUNK_SECONDS
from simulations.collect import collection
from simulations.collect.collection import CollectionStalledError
from simulations.installation.services import Services


class Watched:
    """A simulation of which each look shows a tenth of a second more."""

    def __init__(self, clock: "Clock", ends_with: str = "reported") -> None:
        self.clock, self.ends_with = clock, ends_with
        self.state, self.problem, self.done, self.totals = "running", "", 0, dict[str, int]()
        self.devices, self.moves_until = 2_500, 25

    def refresh_from_db(self, **_: object) -> None:
        self.clock.now += 0.1
        tenth = round(self.clock.now * 10)
        if 15 < tenth <= self.moves_until and not self.problem:
            self.done, self.totals = 100 * tenth, {"accepted": 60 * tenth}
        if tenth == 25:
            self.state = self.ends_with


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, _: float) -> None:
        return


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(collection, "time", clock)
    return clock


def watched(simulation: Any) -> list[str]:
    said: list[str] = []
    collection._wait_for_devices(simulation, Services("http://site.example", None), said.append)
    return said


def test_devices_are_told_once_a_second_and_at_the_end_and_no_zero(clock: Clock) -> None:
    assert watched(Watched(clock)) == [
        "1,600 devices, 960 reports accepted",
        "2,500 devices, 1,500 reports accepted",
    ]


def test_devices_of_a_simulation_that_was_cancelled_are_an_error(clock: Clock) -> None:
    with pytest.raises(FleetError, match="do not report: the simulation was cancelled"):
        watched(Watched(clock, ends_with="cancelled"))


def test_devices_that_cannot_report_are_given_up_after_a_while(clock: Clock) -> None:
    simulation = Watched(clock, ends_with="running")
    simulation.problem = "no answer"
    with pytest.raises(FleetError, match="do not report: no answer"):
        watched(simulation)
    assert clock.now > collection.TROUBLE_SECONDS


def test_devices_of_which_no_more_report_are_given_up_in_the_end(clock: Clock) -> None:
    """As when the task of their chunk dies each time, and leaves no problem."""
    simulation = Watched(clock, ends_with="running")
    simulation.moves_until = 20
    with pytest.raises(CollectionStalledError, match=r"no device reported .* 2,000 of 2,500 have"):
        watched(simulation)
    assert 2.0 + collection.STALLED_SECONDS < clock.now < 3.0 + collection.STALLED_SECONDS


def test_a_chunk_is_not_taken_for_lost_while_one_worker_does_them_all() -> None:
    """Each is made so large that it takes `CHUNK_SECONDS`."""
    assert settings.CHUNK_STALE_SECONDS > settings.RECIPE_CHUNKS * CHUNK_SECONDS
