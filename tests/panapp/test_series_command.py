"""`manage.py series`: from a file to rounds, and the same on simulated devices."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from series.models import Mark, Round, Series
from tests.factories import recipe_members
from tests.processes import database_url

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = "manage.py series simulate --rounds 2 --seed 1 --json"
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
@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("stop", "0" * 16), "identifier: no series"), (("mark", "0" * 16, "x"), "identifier: no series")],
)
def test_a_series_that_is_not_there_is_an_input_error(arguments, message):
    with pytest.raises(CommandError, match=re.escape(message)) as error:
        call_command("series", *arguments)
    assert error.value.returncode == 2


@pytest.mark.long
@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_simulate_prints_a_result_for_each_round_with_its_change(tmp_path):
    """All 60 devices have the event in both rounds. At ε = 8 each interval fails to hold with 5% at most, but
    the seed makes this the same every time."""
    events = tmp_path / "events.csv"
    events.write_text("device,step,events\n" + "".join(f"d{device},1,1\n" for device in range(60)))
    path = tmp_path / "series.json"
    path.write_text(json.dumps(recipe_members(epsilon=8.0, **FILE)))
    printed = subprocess.run(
        [sys.executable, *OPTIONS.split(), "--events", str(events), str(path)],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database_url()},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    first, second = json.loads(printed)
    assert (first["truth"], first["reports"]["accepted"], first["change"]) == (60, 60, None)
    change = second["change"]
    assert change["difference"] == pytest.approx(second["estimate"] - first["estimate"])
    assert change["low"] <= 0 <= change["high"]
    assert (change["level"], change["more_than_noise"]) == (0.9, False)
