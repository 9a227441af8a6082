"""A date that cannot be read back: refused when it is entered, and harmless if it is stored all the same.

`"opens_at": "9998-12-31T00:00:00Z"` without `closes_at` leads to a closing in the year 9999. No document can
name that time. A recipe with it could be published and never be read again: one row that nothing can change.
"""

import io
import itertools
import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from accounts.api_tokens.operations import token_create
from log.public_log.verification import log_verify
from panapp.celery import celery_application
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.signed_documents import SignedDocument
from publishing.publication import recipe_close, recipe_publish
from recipes.errors import UnreadableRecipeError
from recipes.models import Recipe
from results.models import Release
from results.operations import result_withhold
from series.models import Series
from series.operations import rounds_advance, series_publish
from tests.browser.every_page import _addresses, scene
from tests.collections.pages.scene import TABS, recipe_page
from tests.driving import collections_advance
from tests.factories import draft_recipe, published_recipe, recipe_members
from tests.page_text import page_text
from tests.scenes import account, analyst, finished_recipe, open_recipe
from tests.unreadable import make_unreadable

pytestmark = pytest.mark.django_db

FAR = "9998-12-31T00:00:00Z"
TIMES = (datetime(9998, 12, 31, tzinfo=UTC), datetime(9999, 1, 5, tzinfo=UTC))


@pytest.fixture
def api() -> Client:
    _, text = token_create(user=analyst(), name="test", scopes=["recipes:write"], days=1, actor=None)
    return Client(headers={"Authorization": f"Bearer {text}"})


def command(tmp_path: Path, name: str, members: dict[str, Any]) -> CommandError:
    file = tmp_path / "file.json"
    file.write_text(json.dumps(members))
    with pytest.raises(CommandError) as refused:
        call_command(name, "publish", str(file), stdout=io.StringIO(), stderr=io.StringIO())
    assert refused.value.returncode == 2
    return refused.value


def test_far_time_is_refused_in_commands_api_and_form(tmp_path: Path, api: Client, client: Client) -> None:
    """At which times: tests/panprivacy/formats/test_times.py."""
    one, weekly = recipe_members(opens_at=FAR), recipe_members(opens_at=FAR, every="week", rounds=2)
    rounds = recipe_members(opens_at=FAR, steps=1, step_seconds=1, rounds=2, round_seconds=60)
    for name, members in (("recipe", one), ("series", weekly), ("series", rounds)):
        assert "opens_at: " in str(command(tmp_path, name, members))
    for path, members in (("recipes/", one), ("recipes/review/", one), ("series/", weekly)):
        answer = api.post(f"/api/v1/{path}", members, content_type="application/json")
        assert (answer.status_code, answer.json()["field"]) == (400, "opens_at")
    client.force_login(account("bea", "Analysts"))
    form = {**recipe_members(population="everyone", population_size=1000), "opens_at": FAR[:16]}
    answer = client.post(
        reverse("recipe-new") + "?statistic=count_nonzero",
        {**form, "step_seconds": 86_400, "encryption": "paillier-2048", "action": "save"},
    )
    assert answer.status_code == 422
    assert answer.context["form"].errors["opens_at"] == ["Enter a time in the years 1970 to 2999."]
    assert not Recipe.objects.exists()
    assert not Series.objects.exists()


def _stored_unread(monkeypatch: pytest.MonkeyPatch) -> Recipe:
    """A recipe whose document cannot be read back, published by the product's own operation: only what keeps
    that from happening is switched off meanwhile."""
    with monkeypatch.context() as patched:
        patched.setattr(RecipeDraft, "window", lambda *_: TIMES)
        patched.setattr(SignedDocument, "require_readable", lambda _: None, raising=False)
        recipe = published_recipe(name="Far", question="When?")
    with pytest.raises(ValueError, match="s_at: "):
        PublishedRecipe.from_document(json.loads(recipe.document))
    return recipe


def test_publish_that_cannot_be_read_back_stores_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    draft = draft_recipe()
    monkeypatch.setattr(RecipeDraft, "window", lambda *_: TIMES)
    with pytest.raises(FieldError) as refused:
        recipe_publish(recipe=draft, actor=None)
    assert refused.value.field == "opens_at"
    draft.refresh_from_db()
    assert draft.status == Recipe.Status.DRAFT
    assert not draft.document


def test_lists_with_unreadable_recipe_serve_others(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    finished_recipe([[1]] * 20, question="Done?")
    open_recipe([1] * 3, question="Open?", closes_at=None)
    far = _stored_unread(monkeypatch)
    client.force_login(analyst())
    overview = page_text(client.get("/"))
    assert all(question in overview for question in ("Done?", "Open?", "When?"))
    assert "cannot be read by this version" in overview
    listed = client.get("/api/v1/recipes/").json()["results"]
    assert {one["question"]: one["readable"] for one in listed} == {
        "Done?": True,
        "Open?": True,
        "When?": False,
    }
    served = client.get(f"/api/v1/recipes/{far.identifier}/").json()
    assert served["document"]["closes_at"] == "9999-01-05T00:00:00Z"
    for tab in TABS:
        page = recipe_page(client, far, tab)
        assert "cannot be read by this version" in page
        assert "9999-01-05T00:00:00Z" in page


@pytest.mark.parametrize(
    "text", ["null", "[]", "3", "not JSON", "[" * 100_000, '{"epsilon": NaN}', '{"trust": 1}']
)
def test_document_that_is_no_recipe_is_unreadable_and_shown_as_it_is(text: str) -> None:
    recipe = Recipe(document=text)
    assert "cannot be read" in recipe.unreadable
    with suppress(UnreadableRecipeError):
        _ = recipe.trust
    shown = recipe.stated_document
    assert shown == text or json.dumps(shown) == text


def test_log_verify_with_an_unreadable_recipe_checks_its_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    far = _stored_unread(monkeypatch)
    assert log_verify() > 0
    told = io.StringIO()
    call_command("log", "verify", stdout=told)
    assert "broken" not in told.getvalue()
    with monkeypatch.context() as patched:
        patched.setattr("recipes.log_checks.signed_message", lambda *_: b"another message")
        with pytest.raises(ValueError, match=str(far.identifier)):
            log_verify()


def test_unreadable_recipe_is_closed_and_withheld_by_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    far = _stored_unread(monkeypatch)
    told = io.StringIO()
    call_command("recipe", "close", str(far.identifier), stdout=told)
    assert "Closed 'Far'" in told.getvalue()
    collections_advance()
    assert not Release.objects.exists()
    call_command("recipe", "withhold", str(far.identifier), "--reason", "unreadable", stdout=told)
    assert Release.objects.get().outcome == Release.Outcome.WITHHELD
    assert not hasattr(Recipe.objects.get(pk=far.pk), "key")
    assert log_verify() > 0


def test_page_and_api_close_unreadable(client: Client, api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = _stored_unread(monkeypatch), _stored_unread(monkeypatch)
    address = f"/api/v1/recipes/{one.identifier}/close/"
    assert api.post(address, {}, content_type="application/json").json()["status"] == "closed"
    client.force_login(account("bea", "Analysts"))
    page = reverse("recipe-close", args=[other.identifier])
    assert "Closing is final" in page_text(client.get(page))
    client.post(page)
    assert set(Recipe.objects.values_list("status", flat=True)) == {Recipe.Status.CLOSED}


def test_advance_with_an_unreadable_recipe_concludes_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    far = _stored_unread(monkeypatch)
    recipe_close(recipe=far, actor=None)
    good = recipe_close(recipe=open_recipe([1] * 3), actor=None)
    series = series_publish(members=recipe_members(every="week", rounds=1), actor=None)
    collections_advance()
    collections_advance()
    rounds_advance()
    assert Release.objects.get().recipe == good
    assert series.rounds.get().recipe is not None


def _patterns(patterns: list[Any], before: str = "") -> Iterator[URLPattern]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLPattern) and pattern.name:
            yield pattern
        elif isinstance(pattern, URLResolver) and not route.startswith(("admin/", "leader/")):
            yield from _patterns(pattern.url_patterns, route)


@pytest.mark.long
def test_no_page_list_or_task_fails_where_no_recipe_can_be_read(
    client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recipes of every statistic, trust model and state; of none of them the document can be read."""
    settings.SITE_URL, settings.EMAIL_FROM = "http://localhost", "telemetry@telemetry.example"
    settings.TRY = True
    user = account("ada", "Analysts", is_staff=True, is_superuser=True)
    client.force_login(user)
    client.raise_request_exception = False
    examples = scene(user)
    examples["series"] = list(Series.objects.values_list("identifier", flat=True))
    others = ("approval", "dashboard", "intrusion", "mail", "webhook")
    examples |= {name: [1] for name in others} | {"username": ["ada"]}

    make_unreadable(monkeypatch)
    failed = [
        address
        for pattern in _patterns(get_resolver().url_patterns)
        for address in itertools.islice(_addresses(pattern, examples), 40)
        if (answer := client.get(address)).status_code >= 500 or not _whole(answer)
    ]
    assert not failed
    celery_application.autodiscover_tasks(force=True)
    # Truncating the log of the database cannot be done within a test's transaction.
    for task in settings.CELERY_BEAT_SCHEDULE.keys() - {"storage.tasks.truncate_log"}:
        celery_application.tasks[task].apply(throw=True)
    for recipe in Recipe.objects.exclude(status=Recipe.Status.DRAFT).select_related("release"):
        if recipe.status == Recipe.Status.PUBLISHED:
            recipe_close(recipe=recipe, actor=None)
        if not hasattr(recipe, "release"):
            result_withhold(recipe=recipe, reason="it cannot be read", actor=None)
    assert log_verify() > 0


def _whole(answer: Any) -> bool:
    """Whether all of a streamed answer comes."""
    return not answer.streaming or b"".join(answer.streaming_content) is not None
