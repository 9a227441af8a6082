"""`collect`, as other tools call it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from recipes.models import Recipe
from tests.factories import recipe_members
from tests.panapp.scene import shuffled_members, values_file
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.django_db


RECIPE = {"admission": "token", "relay": True, "sampling_rate": 0.5}
TARGET = {"os": {"value": "linux", "recipe": "0" * 64}}


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """40 devices; device d has d modulo 5 events, and two of its rows say the same."""
    rows = ["device,step,events"]
    for device in range(40):
        rows += [f"d{device},{step},{step}" for step in range(1, device % 5 + 1)]
        rows.append(f"d{device},1,{1 if device % 5 else 0}")
    path = tmp_path / "events.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def recipe_file(tmp_path: Path, **changes: Any) -> Path:
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps(recipe_members(**changes)))
    return path


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"sampling_rate": 1.5}, "sampling_rate"),
        ({"steps": None}, "steps"),
        ({"steps": 3}, "step"),
        ({"favourite_colour": "blue"}, "favourite_colour"),
        ({"statistic": "mean", "k": 3, "trust": "two_server"}, "trust"),
        (RECIPE | {"target": TARGET}, "attributes"),  # are missing
    ],
)
def test_collect_with_bad_input_is_refused_with_2_and_publishes_nothing(
    tmp_path: Path, events: Path, changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("collect", recipe_file(tmp_path, **changes), events=events)
    assert refused.value.returncode == 2
    (line,) = str(refused.value).splitlines()
    assert f" {field}: " in f" {line}"
    assert not Recipe.objects.exists()


@pytest.mark.parametrize("content", ["", "[1]", "{", '{"name": "a", "name": "b"}', None])
def test_recipe_publish_of_an_unreadable_file_is_refused_with_2(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "recipe.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(CommandError) as refused:
        call_command("recipe", "publish", str(file))
    assert (refused.value.returncode, len(str(refused.value).splitlines())) == (2, 1)
    assert not Recipe.objects.exists()


@pytest.mark.parametrize("given", ["os=linux", "nowhere.csv"])
def test_collect_refuses_attributes_without_a_target_or_unreadable_ones(
    tmp_path: Path, events: Path, given: str
) -> None:
    with pytest.raises(CommandError, match=r"^attributes: (must be left out|nowhere.csv cannot be read)"):
        call_command("collect", recipe_file(tmp_path), events=events, attributes=given)


def test_bad_input_is_one_line_on_stderr_before_settings_and_apps_load(
    tmp_path: Path, events: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DJANGO_SETTINGS_MODULE")  # as in a shell
    recipe = recipe_file(tmp_path, epsilon=-1)
    command = [sys.executable, "-X", "importtime", "manage.py", "collect", recipe, "--events", events]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    imported, said = [], []
    for line in done.stderr.strip().splitlines():
        (imported if line.startswith("import time:") else said).append(line)
    assert len(said) == 1
    assert any("panprivacy.recipe.document" in line for line in imported)
    later = ("panapp.settings", "celery", "django.db.models", "publishing.target")
    assert not any(name in line for line in imported for name in later)


def test_recipe_publish_prints_the_recipe_as_devices_see_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("recipe", "publish", str(recipe_file(tmp_path)), "--json")
    published = json.loads(capsys.readouterr().out)
    recipe = Recipe.objects.get()
    assert published["id"] == recipe.identifier
    assert published["document"] == json.loads(recipe.document)
    assert not recipe.simulation
    call_command("recipe", "close", published["id"])
    with pytest.raises(CommandError) as refused:
        call_command("recipe", "close", published["id"])
    assert refused.value.returncode == 2


DISTINCT_ELEMENTS = {"statistic": "distinct_elements", "cohort_size": 20, "k": 4}


def values_recipe_file(directory: Path, **changes: Any) -> Path:
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
            "steps: is not a field of a distinct_elements recipe; it has name, question, statistic, "
            "population, trust, encryption, opens_at, closes_at, event, event_definition, admission, "
            "relay, hpke, epsilon, delta, cohort_size, k, hashed",
        ),
    ],
)
def test_collect_of_bad_values_exits_with_2_and_names_line_and_column(
    tmp_path: Path, recipe: dict[str, Any], values: tuple[int, ...], message: str
) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("collect", values_recipe_file(tmp_path, **recipe), values=values_file(tmp_path, *values))
    assert refused.value.returncode == 2
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("statistic", "given", "message"),
    [
        ({}, (), "values: is missing: distinct_elements needs --values FILE.csv, with the header device,"),
        ({}, ("events",), "events: is not for distinct_elements: its devices need --values FILE.csv"),
        ({}, ("events", "values"), "events: is not for distinct_elements"),
        (EVENTS, (), "events: is missing: count_nonzero needs --events FILE.csv, with the header device,"),
        (EVENTS, ("values",), "values: is not for count_nonzero: its devices need --events FILE.csv"),
        (EVENTS, ("events", "values"), "values: is not for count_nonzero"),
    ],
)
def test_collect_takes_the_one_file_that_the_statistic_needs(
    tmp_path: Path, statistic: dict[str, Any], given: tuple[str, ...], message: str
) -> None:
    path = values_file(tmp_path, 0)
    with pytest.raises(CommandError) as refused:
        call_command("collect", values_recipe_file(tmp_path, **statistic), **dict.fromkeys(given, path))
    assert refused.value.returncode == 2
    assert str(refused.value).startswith(message)


def test_collect_of_a_file_that_cannot_be_read_exits_with_2(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.csv"):
        with pytest.raises(CommandError, match=r"^values: .* is not a file that can be read$") as refused:
            call_command("collect", values_recipe_file(tmp_path), values=path)
        assert refused.value.returncode == 2
