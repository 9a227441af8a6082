"""Signing out everywhere ends every session, keeps the password, and is on record."""

import io
import time
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth.hashers import PBKDF2SHA1PasswordHasher, make_password
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from accounts.operations import password_change
from log.audit.models import Entry
from log.audit.sessions import PasswordChangedError, sessions_end
from pages.account import views
from tests.page_text import page_text
from tests.scenes import PASSWORD, account, analyst

pytestmark = pytest.mark.django_db

URL = "/sign-out-everywhere/"


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def is_signed_in(client: Client) -> bool:
    return client.get(reverse("own-password")).status_code == 200


def test_every_session_of_the_account_ends_and_no_other() -> None:
    assert Client().post(URL, {"password": "x"})["Location"].startswith(reverse("sign-in"))
    ana, bob = account("ana"), account("bob")
    here, there, others = signed_in(ana), signed_in(ana), signed_in(bob)
    refused = here.post(URL, {"password": "guess"})
    assert refused.status_code == 422
    assert "This is not your password." in page_text(refused)
    assert is_signed_in(here)
    assert here.post(URL, {"password": PASSWORD})["Location"] == reverse("sign-in")
    assert (is_signed_in(here), is_signed_in(there), is_signed_in(others)) == (False, False, True)
    assert User.objects.get(username="ana").check_password(PASSWORD)
    assert Entry.objects.filter(subject="ana").first().action == "signed_out_everywhere"
    assert not Entry.objects.filter(details__change="password").exists()


def test_account_that_was_changed_or_deleted_meanwhile_stays_so() -> None:
    ana = account("ana")
    stale = User.objects.get(pk=ana.pk)
    ana.set_password(NEW)
    ana.save()
    with pytest.raises(PasswordChangedError):
        sessions_end(user=stale, password=PASSWORD)
    assert User.objects.get(pk=ana.pk).check_password(NEW)
    User.objects.filter(pk=ana.pk).delete()
    with pytest.raises(PasswordChangedError):
        password_change(user=stale, password=NEW)
    assert not User.objects.filter(username="ana").exists()


def test_account_menu_names_the_pages_of_ones_account() -> None:
    page = page_text(signed_in(account("ana")).get("/"))
    menu = page.split('<details class="menu">')[-1].split("</details>")[0]
    assert reverse("own-password") in menu
    assert URL in menu
    assert "Change your password" in menu


NEW = "a new one, longer"


@pytest.mark.parametrize(
    "meanwhile",
    [{"is_active": False}, {"password": make_password("the owner's new one")}],
    ids=["switched off", "password changed"],
)
def test_account_changed_meanwhile_gets_no_password(
    meanwhile: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that is under way undoes nothing of what an administrator, or the owner, has done."""
    here = signed_in(account("ana"))

    def late(*, user: User, password: str) -> User:
        User.objects.filter(pk=user.pk).update(**meanwhile)
        return password_change(user=user, password=password)

    monkeypatch.setattr(views, "password_change", late)
    assert change_password(here).status_code == 422
    now = User.objects.get(username="ana")
    assert not now.check_password(NEW)
    assert {name: getattr(now, name) for name in meanwhile} == meanwhile


def test_new_password_leaves_rights_that_were_taken_away_meanwhile() -> None:
    stale = User.objects.create_superuser("root", password=PASSWORD)
    User.objects.filter(pk=stale.pk).update(is_superuser=False, is_staff=False)
    now = password_change(user=stale, password=NEW)
    now.refresh_from_db()
    assert (now.is_superuser, now.is_staff, now.check_password(NEW)) == (False, False, True)
    assert Entry.objects.filter(subject="root", details__change="password").exists()


def test_password_that_is_hashed_anew_when_it_is_checked_can_be_changed() -> None:
    ana = account("ana")
    other = PBKDF2SHA1PasswordHasher()
    User.objects.filter(pk=ana.pk).update(password=other.encode(PASSWORD, other.salt()))
    assert change_password(signed_in(User.objects.get(pk=ana.pk))).status_code == 302
    assert User.objects.get(pk=ana.pk).check_password(NEW)


def test_sign_in_leads_to_where_one_wanted_to_go_and_sign_out_needs_a_form(client: Client) -> None:
    analyst()
    for wanted, reached in (("https://elsewhere.example/", "/"), ("/audit/", "/audit/")):
        data = {"username": "ana", "password": PASSWORD, "next": wanted}
        assert client.post(reverse("sign-in"), data)["Location"] == reached
        assert client.get(reverse("sign-out")).status_code == 405
        assert client.get("/audit/").status_code == 200
        client.post(reverse("sign-out"))
        assert client.get("/audit/").status_code == 302


def sign_in(client: Client, password: str) -> int:
    return client.post(reverse("sign-in"), {"username": "ana", "password": password}).status_code


@pytest.fixture
def locked(client: Client) -> Client:
    """A visitor who failed to sign in as Ana eight times, which filled no table."""
    analyst()
    assert [sign_in(client, "wrong") for _ in range(8)] == [200] * 7 + [429]
    assert {model.objects.count() for model in apps.get_app_config("axes").get_models()} == {0}
    return client


def test_sign_in_is_locked_after_repeated_failures(locked: Client) -> None:
    page = locked.post(reverse("sign-in"), {"username": "ana", "password": PASSWORD})
    assert page.status_code == 429
    assert "locked for a while" in page.content.decode()
    # From elsewhere, and under other names, everybody signs in as ever.
    account("anne")
    assert locked.post(reverse("sign-in"), {"username": "anne", "password": PASSWORD}).status_code == 302
    assert sign_in(Client(REMOTE_ADDR="192.0.2.1"), PASSWORD) == 302


def test_lock_ends_after_a_quarter_of_an_hour(locked: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time
    for minutes, status in ((5, 429), (14, 429), (16, 302)):
        with monkeypatch.context() as later:
            later.setattr(time, "time", lambda passed=60 * minutes: now() + passed)
            assert sign_in(locked, PASSWORD) == status


def test_documented_command_unlocks_where_the_cache_is_shared(locked: Client) -> None:
    # The test's cache is shared in that the command runs in the server's own process.
    operations = (settings.BASE_DIR / "docs" / "operations" / "troubleshooting.md").read_text()
    assert "`python manage.py axes_reset_ip_username ADDRESS NAME`" in operations
    answer = io.StringIO()
    call_command("axes_reset_ip_username", "127.0.0.1", "anne", stdout=answer)
    assert sign_in(locked, PASSWORD) == 429
    call_command("axes_reset_ip_username", "127.0.0.1", "ana", stdout=answer)
    assert answer.getvalue().splitlines() == ["No attempts found.", "1 attempts removed."]
    assert sign_in(locked, PASSWORD) == 302


def change_password(client: Client) -> Any:
    return client.post("/password/", {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW})
