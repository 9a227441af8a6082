"""`manage.py recipe … --site`: the life of a recipe at another site, over its API."""

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import urllib3
from django.core.management import call_command
from django.core.management.base import CommandError

from api_tokens.operations import token_create
from panapp import remote_site
from recipes.models import Recipe
from releases.models import Release
from series.models import Series
from tests.factories import recipe_members, stream_members
from tests.scenes import analyst

pytestmark = pytest.mark.django_db(transaction=True)

Run = Callable[..., str]


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch) -> str:
    _, text = token_create(user=analyst(), name="test", scopes=["recipes:write"], days=1, actor=None)
    monkeypatch.setenv("PANAPP_TOKEN", text)
    return text


@pytest.fixture
def run(live_server: Any) -> Run:
    def command(*arguments: object, site: str = "") -> str:
        out = StringIO()
        call_command("recipe", *map(str, arguments), "--site", site or live_server.url, stdout=out)
        return out.getvalue().strip()

    return command


def file_of(folder: Path, members: dict[str, Any]) -> Path:
    file = folder / "recipe.json"
    file.write_text(json.dumps(members))
    return file


@pytest.mark.usefixtures("token")
def test_recipe_is_drafted_published_closed_and_withheld_at_another_site(run: Run, tmp_path: Path) -> None:
    file = file_of(tmp_path, recipe_members())
    said = run("draft", file)
    number = Recipe.objects.get().pk
    assert said == f"Draft {number}: read it, then publish it with `recipe publish {number}`"
    published = json.loads(run("publish", number, "--json"))
    recipe = Recipe.objects.get()
    assert published["id"] == recipe.identifier
    assert recipe.created_by is not None
    assert recipe.created_by.get_username() == "ana"
    # Twice is once: what a lost answer leads to.
    assert recipe.identifier in run("publish", number)
    assert recipe.identifier in run("close", recipe.identifier)
    with pytest.raises(CommandError, match="The recipe is closed"):
        run("result", recipe.identifier)
    assert recipe.identifier in run("withhold", recipe.identifier, "--reason", "the helper is gone")
    assert json.loads(run("result", recipe.identifier))["reason"] == "the helper is gone"
    assert Release.objects.count() == 1


@pytest.mark.usefixtures("token")
def test_series_is_published_marked_and_stopped_at_another_site(
    live_server: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = file_of(tmp_path, recipe_members(every="week", rounds=3))
    call_command("series", "publish", str(file), "--site", live_server.url, "--json")
    series = Series.objects.get()
    assert json.loads(capsys.readouterr().out)["series"] == series.identifier
    assert str(series.created_by) == "ana"
    call_command("series", "mark", series.identifier, "version 2", "--site", live_server.url)
    call_command("series", "stop", series.identifier, "--site", live_server.url)
    assert "3 of 3 rounds are not asked" in capsys.readouterr().out
    call_command("series", "show", series.identifier, "--site", live_server.url)
    assert json.loads(capsys.readouterr().out)["marks"][0]["note"] == "version 2"


@pytest.mark.usefixtures("token")
def test_file_is_published_with_its_universe(run: Run, tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("item\na\nb\nc\n")
    members = stream_members(items=None, universe_size=None, table_size=3, universe="items.csv")
    assert run("publish", file_of(tmp_path, members)).startswith("Published 'Aircraft': ")


@pytest.mark.usefixtures("token")
def test_publishing_that_fails_names_the_draft_that_is_kept(run: Run, tmp_path: Path) -> None:
    file = file_of(
        tmp_path, recipe_members(closes_at="2020-01-01T00:00:00Z", opens_at="2019-01-01T00:00:00Z")
    )
    with pytest.raises(CommandError, match=r"closes_at: .*draft [0-9]+ is kept") as refusal:
        run("publish", file)
    assert refusal.value.returncode == 2


def test_site_that_refuses_or_is_none_is_an_error_without_the_token(
    run: Run, tmp_path: Path, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_site, "_REPEATED", urllib3.Retry(0))
    identifier = "0" * 64
    for site, code in (("http://127.0.0.1:9", 1), ("", 2)):
        with pytest.raises(CommandError) as refusal:
            run("close", identifier, site=site)
        assert refusal.value.returncode == code
        assert token not in str(refusal.value)
    monkeypatch.setenv("PANAPP_TOKEN", f"{token}x")
    with pytest.raises(CommandError, match="401"):
        run("close", identifier)


@pytest.mark.parametrize(
    ("site", "text", "field"),
    [
        ("http://telemetry.example", "panapp_x", "site"),
        ("telemetry.example", "panapp_x", "site"),
        ("ftp://telemetry.example", "panapp_x", "site"),
        ("https://telemetry.example", "", "PANAPP_TOKEN"),
        ("https://telemetry.example", "a\nb", "PANAPP_TOKEN"),
    ],
)
def test_token_is_sent_over_https_only(
    run: Run, monkeypatch: pytest.MonkeyPatch, site: str, text: str, field: str
) -> None:
    monkeypatch.setenv("PANAPP_TOKEN", text)
    with pytest.raises(CommandError, match=field) as refusal:
        run("close", "0" * 64, site=site)
    assert refusal.value.returncode == 2
