"""`manage.py series`: from a file to rounds, and the same on simulated devices."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from panapp.services import SIMULATING
from series.models import Mark, Round, Series
from tests.factories import recipe_members

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = "manage.py series simulate --rounds 2 --seed 1 --json --segment 2.1 --weights 0 1"
FILE = {"every": "week", "rounds": 3}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "series.json"
    path.write_text(json.dumps(recipe_members(**FILE)))
    return path


@pytest.mark.django_db
def test_publish_mark_and_stop(file, capsys):
    call_command("series", "publish", str(file), "--json")
    printed = json.loads(capsys.readouterr().out)
    series = Series.objects.get()
    assert (printed["series"], len(printed["openings"])) == (series.identifier, 3)
    assert printed["every"] == "week"
    call_command("series", "mark", series.identifier, "version 2.1 released", at="2026-03-01T00:00:00Z")
    assert Mark.objects.get().note == "version 2.1 released"
    call_command("series", "stop", series.identifier)
    assert "3 of 3 rounds are not asked" in capsys.readouterr().out
    assert set(series.rounds.values_list("state", flat=True)) == {Round.State.SKIPPED}


@pytest.mark.django_db
def test_show_follows_one_segment(tmp_path, capsys):
    path = tmp_path / "series.json"
    path.write_text(json.dumps(recipe_members(segments=["2.0", "2.1"], **FILE)))
    call_command("series", "publish", str(path))
    identifier = Series.objects.get().identifier
    capsys.readouterr()
    call_command("series", "show", identifier, "--segment", "2.1")
    assert json.loads(capsys.readouterr().out)["segment"] == "2.1"
    with pytest.raises(CommandError, match=re.escape("segment: must be one of 2.0, 2.1")) as error:
        call_command("series", "show", identifier, "--segment", "3")
    assert error.value.returncode == 2


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("stop", "0" * 16), "identifier: no series"), (("mark", "0" * 16, "x"), "identifier: no series")],
)
def test_a_series_that_is_not_there_is_an_input_error(arguments, message):
    with pytest.raises(CommandError, match=re.escape(message)) as error:
        call_command("series", *arguments)
    assert error.value.returncode == 2


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("command", "changes", "message"),
    [
        (("collect",), FILE, "every: makes this a series file, which `series publish`"),
        (("recipe", "publish"), FILE, "every: makes this a series file"),
        (("recipe", "draft"), {"until": "2030-01-01T00:00:00Z"}, "until: makes this a series file"),
        (("series", "publish"), {}, "every: is missing: this is a recipe file, which `collect`"),
        (("series", "simulate", "--rounds", "2"), {}, "every: is missing: this is a recipe file"),
        (
            ("series", "simulate", "--rounds", "2"),
            {"rounds": 2, "round_seconds": 60},
            "every: is missing: the rounds of this file follow one another, and `collect` runs them",
        ),
    ],
)
def test_a_file_of_the_other_kind_is_refused_with_the_command_that_takes_it(
    tmp_path, command, changes, message
):
    path = tmp_path / "file.json"
    path.write_text(json.dumps(recipe_members(**changes)))
    with pytest.raises(CommandError, match=re.escape(message)) as error:
        call_command(*command, str(path))
    assert error.value.returncode == 2


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a,1,1,1\nb,1,1,3\n", 'round: line 3, column 4: must be 1 to 2, as in `--rounds`, not "3"'),
        ("a,1,1,1\n", "round: 2 has no row"),
        ("a,1,1,1\na,1,1,2\nb,9,1,2\n", "step: line 4, column 2"),
        ("a,1,1\n", "line 2: must have 4 cells"),
    ],
)
def test_a_file_whose_rounds_are_wrong_is_refused_before_anything_is_started(tmp_path, rows, message):
    events = tmp_path / "events.csv"
    events.write_text(f"device,step,events,round\n{rows}")
    path = tmp_path / "series.json"
    path.write_text(json.dumps(recipe_members(**FILE)))
    with pytest.raises(CommandError, match=re.escape(message)):
        call_command("series", "simulate", str(path), "--events", str(events), "--rounds", "2")


def test_what_only_simulates_publishes_no_round_of_a_real_series():
    """Its devices would find no server once the command has ended."""
    program = "from django.conf import settings; print(*settings.CELERY_BEAT_SCHEDULE)"
    ticks = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", program],
        cwd=ROOT,
        env={**os.environ, **SIMULATING},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert set(settings.CELERY_BEAT_SCHEDULE) - set(ticks) == {"series.tasks.advance_series"}
