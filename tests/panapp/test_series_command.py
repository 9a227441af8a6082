"""`manage.py series`: from a file to rounds, and the same on simulated devices."""

import json
import re

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from series.models import Mark, Round, Series
from simulations.installation.services import SIMULATING
from tests.factories import recipe_members
from tests.panapp.scene import PLACES, load

FILE = {"every": "week", "rounds": 3}


def written(folder, **changes):
    path = folder / "series.json"
    path.write_text(json.dumps(recipe_members(**changes)))
    return str(path)


@pytest.mark.django_db
def test_publish_mark_show_and_stop(tmp_path, capsys):
    call_command("series", "publish", written(tmp_path, segments=["2.0", "2.1"], **FILE), "--json")
    printed = json.loads(capsys.readouterr().out)
    series = Series.objects.get()
    assert (printed["series"], printed["every"], len(printed["openings"])) == (series.identifier, "week", 3)
    call_command("series", "mark", series.identifier, "version 2.1 released", at="2026-03-01T00:00:00Z")
    assert Mark.objects.get().note == "version 2.1 released"
    capsys.readouterr()
    call_command("series", "show", series.identifier, "--segment", "2.1")
    assert json.loads(capsys.readouterr().out)["segment"] == "2.1"
    with pytest.raises(CommandError, match=re.escape("segment: must be one of 2.0, 2.1")) as error:
        call_command("series", "show", series.identifier, "--segment", "3")
    assert error.value.returncode == 2
    call_command("series", "stop", series.identifier)
    assert "3 of 3 rounds are not asked" in capsys.readouterr().out
    assert set(series.rounds.values_list("state", flat=True)) == {Round.State.SKIPPED}


@pytest.mark.django_db
@pytest.mark.parametrize("arguments", [("stop", "0" * 16), ("mark", "0" * 16, "x")])
def test_a_series_that_is_not_there_is_an_input_error(arguments):
    with pytest.raises(CommandError, match="identifier: no series") as error:
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
def test_a_file_of_the_other_sort_is_refused_with_its_command(tmp_path, command, changes, message):
    with pytest.raises(CommandError, match=re.escape(message)) as error:
        call_command(*command, written(tmp_path, **changes))
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
def test_a_file_with_wrong_rounds_is_refused_before_anything_starts(tmp_path, rows, message):
    events = tmp_path / "events.csv"
    events.write_text(f"device,step,events,round\n{rows}")
    simulate = ("series", "simulate", written(tmp_path, **FILE), "--events", str(events), "--rounds", "2")
    with pytest.raises(CommandError, match=re.escape(message)):
        call_command(*simulate)


def test_what_only_simulates_publishes_no_round_of_a_real_series(tmp_path):
    """Its devices would find no server once the command has ended."""
    ticks = load({**PLACES, **SIMULATING, "PANAPP_DATA_DIR": str(tmp_path)}).CELERY_BEAT_SCHEDULE
    assert set(settings.CELERY_BEAT_SCHEDULE) - set(ticks) == {"series.tasks.advance_series"}
