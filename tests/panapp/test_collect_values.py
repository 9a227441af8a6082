"""`collect` of values: what is refused before any process starts. test_installation.py runs some."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from tests.panapp.scene import shuffled_members, values_file

DISTINCT_ELEMENTS = {"statistic": "distinct_elements", "cohort_size": 20, "k": 4}


def recipe_file(directory: Path, **changes: Any) -> Path:
    path = directory / "recipe.json"
    path.write_text(json.dumps(shuffled_members(DISTINCT_ELEMENTS) | changes))
    return path


EVENTS = {"statistic": "count_nonzero", "steps": 3, "cohort_size": 2}


@pytest.mark.parametrize(
    ("recipe", "values", "message"),
    [
        ({}, (0, 1, 4), "value: line 4, column 2: must be a whole number from 0 to 3, not "),
        ({}, (), "device: the file must name at least one device"),
        ({"cohort_size": 1}, (0,), "cohort_size: must be "),
        (
            {"steps": 3},
            (0,),
            "steps: is not a field of a distinct_elements recipe; it has name, question, event, "
            "event_definition, admission, relay, statistic, population, trust, encryption, opens_at, "
            "closes_at, epsilon, delta, cohort_size, k, hashed",
        ),
    ],
)
def test_collect_of_bad_values_exits_with_2_and_names_line_and_column(
    tmp_path: Path, recipe: dict[str, Any], values: tuple[int, ...], message: str
) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("collect", recipe_file(tmp_path, **recipe), values=values_file(tmp_path, *values))
    assert refused.value.returncode == 2
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("statistic", "given", "message"),
    [
        (
            {},
            (),
            "values: is missing: distinct_elements needs --values FILE.csv, with the header device,",
        ),
        ({}, ("events",), "events: is not for distinct_elements: its devices need --values FILE.csv"),
        ({}, ("events", "values"), "events: is not for distinct_elements"),
        (
            EVENTS,
            (),
            "events: is missing: count_nonzero needs --events FILE.csv, with the header device,",
        ),
        (EVENTS, ("values",), "values: is not for count_nonzero: its devices need --events FILE.csv"),
        (EVENTS, ("events", "values"), "values: is not for count_nonzero"),
    ],
)
def test_collect_takes_the_one_file_that_the_statistic_needs_and_says_which(
    tmp_path: Path, statistic: dict[str, Any], given: tuple[str, ...], message: str
) -> None:
    path = values_file(tmp_path, 0)
    with pytest.raises(CommandError) as refused:
        call_command("collect", recipe_file(tmp_path, **statistic), **dict.fromkeys(given, path))
    assert refused.value.returncode == 2
    assert str(refused.value).startswith(message)


def test_collect_of_a_file_that_cannot_be_read_exits_with_2(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.csv"):
        with pytest.raises(CommandError, match=r"^values: .* is not a file that can be read$") as refused:
            call_command("collect", recipe_file(tmp_path), values=path)
        assert refused.value.returncode == 2
