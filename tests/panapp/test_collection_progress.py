"""What a command that collects says meanwhile."""

from types import SimpleNamespace

import pytest
from django.conf import settings

from devices_sim.fleet_result import FleetResult
from panapp import collection
from reports.chunking import CHUNK_SECONDS


def test_devices_are_told_once_a_second_and_in_the_end_and_no_zero_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(collection, "time", SimpleNamespace(monotonic=lambda: now))
    said: list[str] = []
    progress, result = collection._FleetProgress(said.append), FleetResult()
    for tenth in range(1, 26):
        now = tenth / 10
        result.devices += 100
        result.accepted = 1_500 if tenth > 15 else 0
        progress.tell(result)
    progress.end(result)
    assert said == [
        "1,000 devices",
        "2,000 devices, 1,500 reports accepted",
        "2,500 devices, 1,500 reports accepted",
    ]


def test_a_chunk_is_not_taken_for_lost_while_all_that_are_under_way_are_worked_off_by_one_worker() -> None:
    """Each is made so large that it takes `CHUNK_SECONDS`."""
    assert settings.CHUNK_STALE_SECONDS > settings.RECIPE_CHUNKS * CHUNK_SECONDS
