"""`recipe publish` warns of what devices with the usual limits would refuse."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from recipes.models import Recipe
from tests.factories import recipe_members, stream_members

pytestmark = pytest.mark.django_db


def publish(tmp_path: Path, members: dict[str, Any]) -> str:
    file = tmp_path / "recipe.json"
    file.write_text(json.dumps(members))
    told = io.StringIO()
    call_command("recipe", "publish", str(file), stdout=io.StringIO(), stderr=told)
    assert Recipe.objects.count() == 1
    return told.getvalue()


@pytest.mark.parametrize(
    ("changes", "warned"),
    [
        ({"cohort_size": 99}, ["cohort_size: must be at least 100"]),
        ({"cohort_size": 100, "epsilon": 8.5}, ["epsilon: must be at most 8"]),
        ({"cohort_size": 99, "epsilon": 8.5}, ["cohort_size", "epsilon"]),
        ({"cohort_size": 100, "epsilon": 8.0}, []),
    ],
)
def test_publish_warns_of_what_devices_refuse(
    tmp_path: Path, changes: dict[str, Any], warned: list[str]
) -> None:
    told = publish(tmp_path, recipe_members(**changes))
    assert told.count("Warning: devices may refuse it.") == len(warned)
    for part in warned:
        assert part in told


@pytest.mark.parametrize(
    ("plan", "reporting"),
    [
        ({"population_size": 799}, 799),
        ({"population_size": 1_000, "sampling_rate": 0.5}, 500),
        ({"population_size": 800}, None),
        ({}, None),
    ],
)
def test_publish_where_too_few_would_report_warns_as_the_form_does(
    tmp_path: Path, plan: dict[str, Any], reporting: int | None
) -> None:
    told = publish(tmp_path, recipe_members(cohort_size=800, **plan))
    sentence = f"about {reporting} devices would report, and the cohort size is 800."
    assert told == ("" if reporting is None else f"Warning: Nothing would be released: {sentence}\n")


def test_publish_of_a_stream_warns_of_no_devices(tmp_path: Path) -> None:
    assert publish(tmp_path, stream_members()) == ""
