"""A token's life: made once, used until it ends, and never written down."""

import io
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.api_tokens import authentication
from accounts.api_tokens.models import ApiToken
from accounts.api_tokens.operations import MOST_TOKENS, token_create, token_revoke
from log.audit.models import Entry
from panprivacy.formats.errors import FieldError
from tests.refusals import field_refused
from tests.scenes import PASSWORD, account, analyst, auditor

pytestmark = pytest.mark.django_db

DRAFTS = "/api/v1/recipes/drafts/"


def made(user: User, *scopes: str, days: int = 30) -> tuple[ApiToken, str]:
    return token_create(user=user, name="nightly", scopes=scopes or ("recipes:write",), days=days, actor=user)


def ask(text: str, path: str = DRAFTS, **headers: str) -> Any:
    return Client(headers={"Authorization": f"Bearer {text}", **headers}).get(path)


def test_token_has_256_random_bits_and_only_its_hash_is_kept() -> None:
    token, text = made(analyst())
    mark, prefix, secret = text.split("_", 2)
    assert (mark, prefix) == ("panapp", token.prefix)
    assert len(secret) == 43  # 256 bits in base64url
    stored = [
        str(list(model._default_manager.values())) for model in apps.get_models() if model._meta.managed
    ]
    assert not any(secret in rows for rows in stored)


def test_use_is_noted_by_the_day() -> None:
    token, text = made(analyst())
    assert token.last_used_on is None
    earliest = timezone.now().date()
    assert ask(text).status_code == 200
    token.refresh_from_db()
    # The test may run at midnight.
    assert token.last_used_on in (earliest, timezone.now().date())


def expire(user: User) -> None:
    now = timezone.now()
    ApiToken.objects.filter(user=user).update(created_at=now - timedelta(days=2), expires_at=now)


def change_password(user: User) -> None:
    user.set_password("another one entirely")
    user.save()


def switch_off(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


def take_role(user: User) -> None:
    user.groups.remove(Group.objects.get(name="Analysts"))


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        (expire, 401, "expired"),
        (change_password, 401, "password was changed"),
        (switch_off, 401, ""),
        (take_role, 403, ""),
    ],
)
def test_token_ends_with_what_it_rests_on(change: Callable[[User], None], status: int, said: str) -> None:
    user = analyst()
    _, text = made(user, days=1)
    assert ask(text).status_code == 200
    change(user)
    answer = ask(text)
    assert (answer.status_code, said in answer.json()["detail"]) == (status, True)
    if change is switch_off:
        User.objects.filter(pk=user.pk).update(is_active=True)
        assert ask(text).status_code == 200


def test_revoked_token_is_refused_and_revoking_twice_is_one_entry() -> None:
    user = analyst()
    token, text = made(user)
    for _ in range(2):
        token_revoke(token=token, actor=user)
    assert ask(text).status_code == 401
    entries = Entry.objects.filter(action__startswith="api_token_").order_by("index")
    assert [(entry.action, entry.actor, entry.subject) for entry in entries] == [
        ("api_token_created", "ana", "ana"),
        ("api_token_revoked", "ana", "ana"),
        ("api_token_refused", "", "ana"),
    ]
    assert all(entry.details["prefix"] == token.prefix for entry in entries)


@pytest.mark.parametrize(
    "text",
    ["", "x", "panapp_00000000_" + "A" * 43, "panapp_0000", "\xe9", "panapp_" + "0" * 5_000, "Bearer x"],
)
def test_what_is_no_token_is_refused_also_with_a_session(client: Client, text: str) -> None:
    client.force_login(analyst())
    answer = client.get(DRAFTS, headers={"Authorization": f"Bearer {text}"})
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == 'Bearer realm="api"'


def test_wrong_secret_after_a_right_prefix_is_refused() -> None:
    _, text = made(analyst())
    wrong = text[:-1] + ("A" if text[-1] != "A" else "B")
    answer = ask(wrong)
    assert (answer.status_code, "no such token" in answer.json()["detail"]) == (401, True)


def test_failures_are_limited_and_a_right_token_works_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    today = datetime(2026, 3, 1, 12, tzinfo=UTC)  # at midnight counts begin anew
    monkeypatch.setattr(authentication, "timezone", SimpleNamespace(now=lambda: today))
    _, right = made(analyst())
    answers = [ask(f"panapp_00000000_{'A' * 43}") for _ in range(12)]
    assert [answer.status_code for answer in answers] == [401] * 8 + [429] * 4
    assert answers[-1].json()["type"] == "/problems/too-many-failures"
    assert ask(right).status_code == 200


def test_token_is_for_the_api_only() -> None:
    _, text = made(account("ada", is_superuser=True, is_staff=True), "log:read")
    for page in ("/audit/", "/password/", "/tokens/", "/recipes/new/", "/admin/"):
        assert ask(text, page).status_code == 302, page
    assert ask(text, "/api/v1/log/").status_code == 200


def test_public_address_reads_no_token() -> None:
    answer = ask("nonsense", "/api/v1/recipes/")
    assert answer.status_code == 200
    assert "no-store" not in answer.headers.get("Cache-Control", "")


def test_token_stands_in_no_log_and_no_answer(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not of what succeeds, of what is refused, or of what breaks."""
    user = analyst()
    _, text = made(user)
    _, narrow = made(user, "recipes:read")
    secrets = [part.split("_", 2)[2] for part in (text, narrow)]
    caplog.set_level(logging.DEBUG)
    answers = [ask(text), ask(narrow, "/api/v1/log/"), ask(f"{text}x")]

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("recipes.drafts_api.drafts_list", broken)
    failing = Client(raise_request_exception=False, headers={"Authorization": f"Bearer {text}"})
    answers.append(failing.get(DRAFTS))
    assert [answer.status_code for answer in answers] == [200, 403, 401, 500]
    written = [caplog.text, str(list(Entry.objects.values())), *(str(answer.content) for answer in answers)]
    assert not [secret for secret in secrets for words in written if secret in words]


def test_token_out_of_range_is_refused_by_field_and_not_made() -> None:
    user = auditor()
    for change, field in (
        ({"name": " "}, "name"),
        ({"name": "x" * 61}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"scopes": []}, "scope"),
        ({"scopes": ["recipes:all"]}, "scope"),
        ({"scopes": ["log:read", "populations:write"]}, "scope"),
        ({"days": 0}, "expires"),
        ({"days": 366}, "expires"),
    ):
        wished = {"name": "nightly", "scopes": ["log:read"], "days": 1, **change}
        with field_refused(field):
            token_create(user=user, actor=None, **wished)
    assert not ApiToken.objects.exists()


def test_account_has_a_bounded_number_of_tokens() -> None:
    user = analyst()
    for _ in range(MOST_TOKENS):
        token, _ = made(user)
    with pytest.raises(FieldError, match="revoke one first"):
        made(user)
    token_revoke(token=token, actor=None)
    made(user)


def test_commands_make_list_and_revoke_a_token() -> None:
    analyst()
    out, said = io.StringIO(), io.StringIO()
    wish = ("--user", "ana", "--scope", "recipes:write", "--scope", "log:read", "--expires", "30d")
    call_command("api_token", "create", *wish, stdout=out, stderr=said)
    text = out.getvalue().strip()
    assert ask(text).status_code == 200
    listed = io.StringIO()
    call_command("api_token", "list", "--user", "ana", stdout=listed)
    prefix = text.split("_")[1]
    assert prefix in listed.getvalue()
    assert text not in listed.getvalue() + said.getvalue()
    call_command("api_token", "revoke", prefix, stdout=io.StringIO())
    assert ask(text).status_code == 401


def test_command_with_bad_input_exits_with_2() -> None:
    auditor()
    for arguments in (
        ("create", "--user", "nobody", "--scope", "log:read", "--expires", "30d"),
        ("create", "--user", "audrey", "--scope", "recipes:write", "--expires", "30d"),
        ("create", "--user", "audrey", "--scope", "log:read", "--expires", "30"),
        ("revoke", "00000000"),
    ):
        with pytest.raises(CommandError) as refusal:
            call_command("api_token", *arguments)
        assert refusal.value.returncode == 2


def form(**changes: Any) -> dict[str, Any]:
    return {"name": "nightly", "scopes": ["recipes:read"], "days": "7", "password": PASSWORD, **changes}


def test_page_makes_a_token_shows_it_once_and_revokes_it(client: Client) -> None:
    client.force_login(analyst())
    answer = client.post(reverse("own-tokens"), form())
    text = answer.context["text"]
    assert text in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    assert ask(text).status_code == 200
    page = client.get(reverse("own-tokens")).content.decode()
    assert text not in page
    prefix = text.split("_")[1]
    assert prefix in page
    client.post(reverse("own-token-revoke", args=[prefix]))
    assert ask(text).status_code == 401
    assert "it was revoked" in client.get(reverse("own-tokens")).content.decode()


def test_page_names_the_field_that_is_wrong_and_makes_nothing(client: Client) -> None:
    client.force_login(analyst())
    for change, field in (
        ({"password": "wrong"}, "password"),
        ({"scopes": ["populations:write"]}, "scopes"),
    ):
        answer = client.post(reverse("own-tokens"), form(**change))
        assert answer.status_code == 422
        assert set(answer.context["form"].errors) == {field}
    assert not ApiToken.objects.exists()


def test_token_of_another_account_cannot_be_seen_or_revoked(client: Client) -> None:
    token, text = made(analyst())
    client.force_login(account("ada", is_superuser=True))
    assert token.prefix not in client.get(reverse("own-tokens")).content.decode()
    assert client.post(reverse("own-token-revoke", args=[token.prefix])).status_code == 404
    assert ask(text).status_code == 200
