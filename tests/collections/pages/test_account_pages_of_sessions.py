"""Signing out everywhere ends every session, keeps the password, and is on record."""

from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2SHA1PasswordHasher, make_password
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from accounts.operations import password_change
from audit.models import Entry
from audit.sessions import PasswordChangedError, sessions_end
from pages.account import views
from tests.page_text import page_text
from tests.scenes import PASSWORD, account

pytestmark = pytest.mark.django_db

URL = "/sign-out-everywhere/"


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def is_signed_in(client: Client) -> bool:
    return client.get(reverse("own-password")).status_code == 200


def test_every_session_of_the_account_ends_and_no_other() -> None:
    ana, bob = account("ana"), account("bob")
    here, there, others = signed_in(ana), signed_in(ana), signed_in(bob)
    answer = here.post(URL, {"password": PASSWORD})
    assert answer["Location"] == reverse("sign-in")
    assert (is_signed_in(here), is_signed_in(there), is_signed_in(others)) == (False, False, True)
    assert User.objects.get(username="ana").check_password(PASSWORD)
    told = list(Entry.objects.filter(subject="ana").values_list("action", flat=True)[:1])
    assert told == ["signed_out_everywhere"]
    assert not Entry.objects.filter(details__change="password").exists()


def test_wrong_password_ends_nothing() -> None:
    here = signed_in(account("ana"))
    answer = here.post(URL, {"password": "guess"})
    assert answer.status_code == 422
    assert "This is not your password." in page_text(answer)
    assert is_signed_in(here)


def test_password_that_was_changed_meanwhile_stays_the_new_one() -> None:
    ana = account("ana")
    stale = User.objects.get(pk=ana.pk)
    ana.set_password("a new one, longer")
    ana.save()
    with pytest.raises(PasswordChangedError):
        sessions_end(user=stale, password=PASSWORD)
    assert User.objects.get(pk=ana.pk).check_password("a new one, longer")


def test_strangers_are_asked_to_sign_in(client: Client) -> None:
    assert client.post(URL, {"password": "x"})["Location"].startswith(reverse("sign-in"))


def test_account_menu_names_the_pages_of_ones_account() -> None:
    page = page_text(signed_in(account("ana")).get("/"))
    menu = page.split('<details class="menu">')[1].split("</details>")[0]
    assert reverse("own-password") in menu
    assert URL in menu
    assert "Change your password" in menu


NEW = "a new one, longer"


@pytest.mark.parametrize(
    "meanwhile",
    [
        {"is_active": False},
        {"password": make_password("the owner's new one")},
    ],
    ids=["switched off", "password changed"],
)
def test_password_of_an_account_that_changed_meanwhile_is_not_set(
    meanwhile: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that is under way undoes nothing of what an administrator, or the owner, has done."""
    here = signed_in(account("ana"))

    def late(*, user: User, password: str) -> User:
        User.objects.filter(pk=user.pk).update(**meanwhile)
        return password_change(user=user, password=password)

    monkeypatch.setattr(views, "password_change", late)
    answer = here.post("/password/", {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW})
    assert answer.status_code == 422
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


def test_account_that_was_deleted_meanwhile_stays_deleted() -> None:
    stale = account("ana")
    User.objects.filter(pk=stale.pk).delete()
    with pytest.raises(PasswordChangedError):
        password_change(user=stale, password=NEW)
    assert not User.objects.filter(username="ana").exists()


def test_password_that_is_hashed_anew_when_it_is_checked_can_be_changed() -> None:
    ana = account("ana")
    other = PBKDF2SHA1PasswordHasher()
    User.objects.filter(pk=ana.pk).update(password=other.encode(PASSWORD, other.salt()))
    here = signed_in(User.objects.get(pk=ana.pk))
    answer = here.post("/password/", {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW})
    assert answer.status_code == 302
    assert User.objects.get(pk=ana.pk).check_password(NEW)
