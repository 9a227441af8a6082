"""What a device checks of a round, against the site that published it, through the site's own gateway."""

from pathlib import Path
from typing import Any

import pytest

from devices_sim.log_check import LogCheck
from devices_sim.rounds_check import round_require
from devices_sim.rounds_memory import RoundsMemory
from public_log.integrating import integrate
from public_log.selectors import site_policy
from recipes.models import Recipe
from series.in_order import input_publish
from series.operations import rounds_advance, series_publish
from storage.signing_key import verification_key
from tests.factories import recipe_members
from tests.relayed_site import through_relay

pytestmark = pytest.mark.django_db

ROUNDS: dict[str, Any] = {
    "steps": 1,
    "step_seconds": 1,
    "cohort_size": 20,
    "sampling_rate": 0.2,
    "rounds": 3,
    "round_seconds": 60,
    "public_input": True,
}


def test_device_believes_the_round_and_its_input_through_a_relay(tmp_path: Path) -> None:
    """The input is longer than what one padded answer holds."""
    content = {"weights": [0.125] * 20_000}
    series = series_publish(members=recipe_members(**ROUNDS), actor=None)
    input_publish(series=series, number=1, content=content, actor=None)
    rounds_advance()
    integrate()
    recipe = Recipe.objects.get().published
    with through_relay() as way, RoundsMemory(tmp_path / "rounds") as memory:
        key, log = verification_key().public_bytes_raw(), LogCheck(site_policy())
        turn = round_require(recipe, way, key, memory=memory, log=log)
        assert turn is not None
        assert turn.input is not None
        assert (turn.number, turn.input.content) == (1, content)
