"""`manage.py recipe … --site`: the life of a recipe at another site, over its API."""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from accounts.api_tokens.operations import token_create
from recipes.models import Recipe
from results.models import Release
from series.models import Series
from tests.factories import recipe_members, stream_members
from tests.panprivacy.device.server import listening
from tests.scenes import analyst
from web.remote_site import RemoteSite, SiteError

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
    assert (published["id"], str(recipe.created_by)) == (recipe.identifier, "ana")
    # Twice is once: what a lost answer leads to.
    assert recipe.identifier in run("publish", number)
    assert recipe.identifier in run("close", recipe.identifier)
    with pytest.raises(CommandError, match="The recipe is closed"):
        run("result", recipe.identifier)
    assert recipe.identifier in run("withhold", recipe.identifier, "--reason", "the helper is gone")
    assert json.loads(run("result", recipe.identifier))["reason"] == "the helper is gone"
    assert Release.objects.count() == 1
    # A file with its universe is published at once.
    (tmp_path / "items.csv").write_text("item\na\nb\nc\n")
    members = stream_members(items=None, universe_size=None, table_size=3, universe="items.csv")
    assert run("publish", file_of(tmp_path, members)).startswith("Published 'Aircraft': ")


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
    monkeypatch.setattr("urllib3.util.retry.time.sleep", lambda _: None)
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


@contextmanager
def site_that_answers(
    status: str, *fields: tuple[str, str], body: bytes = b"{}"
) -> Iterator[tuple[str, list[Any]]]:
    """Its address, and the path and token of all that it was asked."""
    asked: list[Any] = []

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        asked.append((environ["PATH_INFO"], environ["HTTP_AUTHORIZATION"]))
        start_response(status, [*fields, ("Content-Type", "application/json")])
        return [body]

    with listening(answer) as url:
        yield url, asked


def test_site_that_redirects_does_not_get_the_token_elsewhere(token: str) -> None:
    with site_that_answers("302 Found", ("Location", "http://127.0.0.1:9/")) as (url, asked):
        with pytest.raises(SiteError, match="302"):
            RemoteSite(url, token).get("recipes/")
    assert asked == [("/api/v1/recipes/", f"Bearer {token}")]


def test_post_that_must_not_be_repeated_is_sent_once(token: str) -> None:
    with site_that_answers("503 Busy", body=b'{"title": "Busy"}') as (url, asked):
        with pytest.raises(SiteError, match=r"Busy \(503\)"):
            RemoteSite(url, token).post("drafts/", {}, repeat=False)
    assert [path for path, _ in asked] == ["/api/v1/drafts/"]


def test_answer_of_a_site_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    monkeypatch.setattr("web.remote_site.ANSWER_BYTES", 10)
    with site_that_answers("200 OK", body=b'{"detail": "more than that"}') as (url, _):
        with pytest.raises(SiteError, match="longer than 10 bytes"):
            RemoteSite(url, token).get("recipes/")


TOO_FEW = "Nothing would be released: about {} devices would report, and the cohort size is 800."


@pytest.mark.parametrize(
    ("members", "warned"),
    [
        (recipe_members(cohort_size=99), ["cohort_size: must be at least 100"]),
        (recipe_members(cohort_size=100, epsilon=8.5), ["epsilon: must be at most 8"]),
        (recipe_members(cohort_size=99, epsilon=8.5), ["cohort_size", "epsilon"]),
        (recipe_members(cohort_size=100, epsilon=8.0), []),
        (recipe_members(cohort_size=800, population_size=799), [TOO_FEW.format(799)]),
        (recipe_members(cohort_size=800, population_size=1_000, sampling_rate=0.5), [TOO_FEW.format(500)]),
        (recipe_members(cohort_size=800, population_size=800), []),
        (stream_members(), []),
    ],
)
def test_publish_warns_of_what_devices_refuse_and_of_too_few(
    tmp_path: Path, members: dict[str, Any], warned: list[str]
) -> None:
    told = io.StringIO()
    call_command("recipe", "publish", str(file_of(tmp_path, members)), stdout=io.StringIO(), stderr=told)
    assert Recipe.objects.count() == 1
    assert told.getvalue().count("Warning: ") == len(warned)
    for part in warned:
        assert part in told.getvalue()
