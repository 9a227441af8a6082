"""The lines that a recipe's page shows for a device on the command line work as they stand."""

import re
import shlex
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from devices_sim.__main__ import main
from log.public_log.tree_growth import integrate
from panapp.wsgi import application
from panprivacy.device.command_line import device_parser
from panprivacy.device.commands.options import limits_of
from panprivacy.formats import base64_text
from panprivacy.planning.limits import USUAL, LimitError, RecipeLimits
from panprivacy.recipe.document import PublishedRecipe
from recipes.models import Recipe
from series.operations import rounds_advance, series_publish
from storage.signing_key import verification_key
from tests.collections.tokens.admission.scene import RELAY_URL
from tests.factories import published_recipe, recipe_members
from tests.panprivacy.device.in_process import InProcessTransport
from tests.relayed_site import relay
from tests.target_scene import DECLARED, counted, declare, file_of, publish

pytestmark = pytest.mark.django_db

CATEGORIES = {"statistic": "categories", "k": 3, "steps": None, "cohort_size": 100, "epsilon": 2.0}


@pytest.fixture
def run(client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Runs the named commands of a recipe's page; of the others, the command line must know every option."""
    site = InProcessTransport(application, host="testserver", others={RELAY_URL: relay})
    for command in ("join", "report", "tokens"):
        monkeypatch.setattr(f"panprivacy.device.commands.{command}.HttpTransport", lambda *_: site)
    monkeypatch.chdir(tmp_path)

    def run(recipe: Recipe, *names: str) -> list[list[str]]:
        integrate()
        page = client.get(f"/recipes/{recipe.identifier}/take-part/").content.decode()
        text = unescape(page.split('id="join-code">')[1].split("</pre>")[0]).replace("\\\n", " ")
        if "curl -fsSo policy" in text:
            Path("policy").write_bytes(client.get("/log/policy").content)
        values = dict(re.findall(r'^(\w+_KEY)="(.+?)"', text, re.MULTILINE))
        values["KEY"] = base64_text.encode(verification_key().public_bytes_raw())
        shown = []
        for line in re.findall(r"^\.venv/bin/python -m panprivacy\.device (.*)$", text, re.MULTILINE):
            words = shlex.split(re.sub(r"\$(\w+)", lambda found: values[found[1]], line), comments=True)
            shown.append(words)
            if words[0] in names:
                assert main(words) == 0, words
            else:
                device_parser("device")[0].parse_args(words)
        return shown

    return run


def test_target_is_joined_through_the_relay_with_a_token(
    run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    declare("everyone", DECLARED)
    recipe = publish(file_of(("os", "linux", counted()), **CATEGORIES))
    shown = run(recipe, "join", "identity")
    assert [words[0] for words in shown] == ["join", "identity", "enrol", "token", "send"]
    said = capsys.readouterr().out
    assert "asks for its token from" in said
    assert "not in its target" not in said


def test_a_round_names_the_memory_of_rounds(run: Any) -> None:
    rounds = {"rounds": 3, "round_seconds": 3_600, "sampling_rate": 0.2}
    series_publish(members=recipe_members(**CATEGORIES, **rounds), actor=None)
    rounds_advance()
    (words,) = run(Recipe.objects.get())
    assert words[0] == "send-value"
    assert "--rounds-state" in words


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"cohort_size": 20}, "smallest-cohort"),
        ({"epsilon": 9.5}, "largest-epsilon"),
        ({"delta": 2e-4}, "largest-delta"),
        ({"statistic": "mean", "steps": 4, "k": 10, "guarantee": "aggregator"}, "largest-local-epsilon"),
    ],
)
def test_commands_name_every_limit_that_is_exceeded(run: Any, changes: dict[str, Any], named: str) -> None:
    members = {"cohort_size": 100, "epsilon": 2.0, "delta": 1e-6, "steps": 1, "step_seconds": 1}
    recipe = published_recipe(**members | changes)
    (words, *_) = run(recipe)
    assert [word for word in words if word.startswith(("--largest", "--smallest"))] == [f"--{named}"]
    require_taken(recipe.published, limits_of(device_parser("device")[0].parse_args(words)))
    with pytest.raises(LimitError) as error:
        require_taken(recipe.published, USUAL)
    assert error.value.limit.replace("_", "-") == named


def require_taken(published: PublishedRecipe, limits: RecipeLimits) -> None:
    """As a device does."""
    limits.require(published.document, whose="this device")
    limits.require_local(published.calibrated_statistic, whose="this device")


def test_a_recipe_within_all_limits_names_none_of_them(run: Any) -> None:
    members = {"cohort_size": 100, "epsilon": 2.0, "steps": 1, "step_seconds": 1}
    (words, *_) = run(published_recipe(**members))
    assert not [word for word in words if word.startswith(("--largest", "--smallest"))]


def test_a_step_names_an_event_if_the_recipe_has_several(run: Any) -> None:
    members = {"cohort_size": 100, "epsilon": 2.0, "steps": 2, "step_seconds": 1}
    recipe = published_recipe(statistic="funnel", events=["search", "buy"], **members)
    assert run(recipe)[1] == ["step", "--state", "device.state", "--event", "search"]
