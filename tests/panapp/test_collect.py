"""`collect`, as other tools call it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from recipes.models import Recipe
from tests.factories import recipe_members
from tests.processes import database_url

ROOT = Path(__file__).resolve().parents[2]
MEMBERS = {
    "recipe",
    "statistic",
    "devices",
    "sampled",
    "reports",
    "released",
    "reason",
    "estimate",
    "standard_error",
    "interval",
    "truth",
    "privacy",
    "seconds",
}

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes]


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database_url()},
        capture_output=True,
        text=True,
        timeout=120,
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


def collect(recipe: Path, events: Path, *options: str) -> dict[str, Any]:
    done = run("collect", str(recipe), "--events", str(events), "--json", *options)
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    return json.loads(line)


def test_collect_of_a_count_prints_one_object_with_every_member(tmp_path: Path, events: Path) -> None:
    result = collect(recipe_file(tmp_path, epsilon=8.0), events, "--seed", "3")
    assert set(result) == MEMBERS
    assert (result["devices"], result["sampled"], result["reports"]) == (
        40,
        40,
        {"accepted": 40, "rejected": {}},
    )
    assert (result["released"], result["reason"], result["truth"]) == (True, None, 32)
    assert set(result["interval"]) == {"level", "low", "high"}
    assert result["interval"]["low"] < result["estimate"] < result["interval"]["high"]
    assert set(result["seconds"]) == {"devices", "submit", "process", "total"}
    for guarantee in result["privacy"]:
        assert set(guarantee) == {
            "model",
            "relation",
            "epsilon",
            "found_epsilon",
            "delta",
            "dishonest_fraction",
            "source",
            "assumption",
        }
    recipe = Recipe.objects.get(identifier=result["recipe"])
    assert (recipe.status, recipe.simulation) == ("closed", True)


def test_collect_of_a_histogram_gives_lists_of_k_plus_1(tmp_path: Path, events: Path) -> None:
    file = recipe_file(tmp_path, statistic="histogram", k=3, epsilon=9.0)
    result = collect(file, events, "--eager")
    assert result["truth"] == [8, 8, 8, 16]
    for member in (
        result["estimate"],
        result["standard_error"],
        result["interval"]["low"],
        result["interval"]["high"],
    ):
        assert len(member) == 4


def test_collect_with_the_same_seed_gives_the_same_estimate(tmp_path: Path, events: Path) -> None:
    file = recipe_file(
        tmp_path, statistic="mean", k=3, guarantee="aggregator", cohort_size=20, sampling_rate=0.9
    )
    first, second = (collect(file, events, "--seed", "5", "--processes", str(n)) for n in (1, 2))
    assert first["recipe"] != second["recipe"]
    assert (first["estimate"], first["sampled"]) == (second["estimate"], second["sampled"])
    assert first["truth"] == pytest.approx((8 * 1 + 8 * 2 + 16 * 3) / 40)


def test_collect_below_the_cohort_size_releases_nothing_and_says_why(tmp_path: Path, events: Path) -> None:
    result = collect(recipe_file(tmp_path, cohort_size=41), events)
    assert result["released"] is False
    assert "cohort size of 41" in result["reason"]
    assert (result["estimate"], result["standard_error"], result["interval"]) == (None, None, None)
    assert result["reports"]["accepted"] == 40


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"sampling_rate": 1.5}, "sampling_rate"),
        ({"steps": None}, "steps"),
        ({"steps": 3}, "step"),
        ({"favourite_colour": "blue"}, "favourite_colour"),
    ],
)
def test_collect_with_bad_input_exits_with_2_and_publishes_nothing(
    tmp_path: Path, events: Path, changes: dict[str, Any], field: str
) -> None:
    done = run("collect", str(recipe_file(tmp_path, **changes)), "--events", str(events))
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.strip().splitlines()
    assert f" {field}: " in line
    assert not Recipe.objects.exists()


@pytest.mark.parametrize("content", ["", "[1]", "{", '{"name": "a", "name": "b"}'])
def test_recipe_publish_of_an_unreadable_file_exits_with_2(tmp_path: Path, content: str) -> None:
    file = tmp_path / "recipe.json"
    file.write_text(content)
    for arguments in (("recipe", "publish", str(file)), ("recipe", "publish", str(tmp_path / "none.json"))):
        done = run(*arguments)
        assert (done.returncode, len(done.stderr.strip().splitlines())) == (2, 1)
    assert not Recipe.objects.exists()


def test_recipe_publish_prints_the_recipe_as_devices_see_it(tmp_path: Path) -> None:
    done = run("recipe", "publish", str(recipe_file(tmp_path)), "--json")
    assert done.returncode == 0, done.stderr
    published = json.loads(done.stdout)
    recipe = Recipe.objects.get()
    assert published["id"] == recipe.identifier
    assert published["document"] == json.loads(recipe.document)
    assert not recipe.simulation
    assert run("recipe", "close", published["id"]).returncode == 0
    assert run("recipe", "close", published["id"]).returncode == 2
