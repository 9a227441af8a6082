"""`collect`, as other tools call it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from recipes.models import Recipe
from tests.factories import recipe_members
from tests.patience import PATIENCE
from tests.processes import database_url

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes]


def run(*arguments: str, options: tuple[str, ...] = ()) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *options, "manage.py", *arguments],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database_url()},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


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
        (
            {
                "admission": "token",
                "relay": True,
                "sampling_rate": 0.5,
                "target": {"os": {"value": "linux", "recipe": "0" * 64}},
            },
            "attributes",  # are missing
        ),
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
def test_collect_refuses_attributes_that_no_target_asks_for_or_that_cannot_be_read(
    tmp_path: Path, events: Path, given: str
) -> None:
    with pytest.raises(CommandError, match=r"^attributes: (must be left out|nowhere.csv cannot be read)"):
        call_command("collect", recipe_file(tmp_path), events=events, attributes=given)


def test_refused_input_is_one_line_on_stderr_and_exit_code_2_before_settings_and_apps_are_loaded(
    tmp_path: Path, events: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DJANGO_SETTINGS_MODULE")  # as in a shell
    done = run(
        "collect",
        str(recipe_file(tmp_path, epsilon=-1)),
        "--events",
        str(events),
        options=("-X", "importtime"),
    )
    assert (done.returncode, done.stdout) == (2, "")
    imported, said = [], []
    for line in done.stderr.strip().splitlines():
        (imported if line.startswith("import time:") else said).append(line)
    assert len(said) == 1
    assert any("panprivacy.recipe" in line for line in imported)
    later = ("panapp.settings", "celery", "django.db.models", "trust_models.targeting")
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
