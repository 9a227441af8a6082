"""Whoever had somebody's password kept it: the owner could not change it, and no sign-in was on record.

Before: only administrators changed passwords, and the log had failed sign-ins alone.

Now: everybody changes their own under `/password/`, which ends every other session. The log has every
sign-in and every change.
"""

from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from audit.models import Entry

OLD, NEW = "the password of before", "a password of afterwards"
CHANGE = {"old_password": OLD, "new_password1": NEW, "new_password2": NEW}

pytestmark = pytest.mark.django_db


@pytest.fixture
def mary() -> User:
    return User.objects.create_user("mary", password=OLD)


def signed_in(password: str = OLD, address: str = "/sign-in/") -> Client:
    client = Client()
    client.post(address, {"username": "mary", "password": password})
    return client


def is_signed_in(client: Client) -> bool:
    return client.get(reverse("own-password")).status_code == 200


def actions() -> list[tuple[str, str, str]]:
    entries = Entry.objects.exclude(action="account_changed").order_by("index")
    return [(entry.action, entry.actor, entry.subject) for entry in entries]


@pytest.mark.usefixtures("mary")
def test_own_password_is_changed_and_every_other_session_ends() -> None:
    thief, owner = signed_in(), signed_in()
    assert is_signed_in(thief)
    assert is_signed_in(owner)
    answer = owner.post(reverse("own-password"), CHANGE, follow=True)
    assert "signed out everywhere else" in answer.content.decode()
    assert is_signed_in(owner)
    assert not is_signed_in(thief)
    assert not is_signed_in(signed_in(OLD))
    assert is_signed_in(signed_in(NEW))
    (entry,) = Entry.objects.filter(details__change="password")
    assert (entry.actor, entry.subject) == ("mary", "mary")
    assert NEW not in str(entry.details)


@pytest.mark.usefixtures("mary")
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"old_password": "wrong"}, "old_password"),
        ({"new_password2": "another one entirely"}, "new_password2"),
        ({"new_password1": "mary", "new_password2": "mary"}, "new_password2"),
        ({"old_password": ""}, "old_password"),
    ],
)
def test_change_that_is_refused_names_the_field_and_changes_nothing(
    change: dict[str, str], field: str
) -> None:
    answer = signed_in().post(reverse("own-password"), {**CHANGE, **change})
    assert answer.status_code == 422
    assert set(answer.context["form"].errors) == {field}
    assert is_signed_in(signed_in(OLD))


def test_stranger_is_sent_to_the_sign_in() -> None:
    answer = Client().get(reverse("own-password"))
    assert answer["Location"] == "/sign-in/?next=/password/"
    assert Client(enforce_csrf_checks=True).post(reverse("own-password"), CHANGE).status_code == 403


@pytest.mark.usefixtures("mary")
def test_every_sign_in_is_on_record_once_and_a_refused_one_as_such() -> None:
    before = actions()
    assert is_signed_in(signed_in(OLD))
    assert not is_signed_in(signed_in("wrong"))
    assert actions()[len(before) :] == [("signed_in", "mary", "mary"), ("sign_in_failed", "", "mary")]


@pytest.mark.usefixtures("mary")
def test_page_is_found_from_every_page() -> None:
    assert 'href="/password/"' in signed_in().get("/").content.decode()
    assert 'href="/password/"' not in Client().get("/").content.decode()


@pytest.mark.usefixtures("mary")
@pytest.mark.parametrize(
    ("page", "field", "others"),
    [
        ("own-password", "old_password", CHANGE),
        ("sign-out-everywhere", "password", {}),
        ("own-tokens", "password", {"name": "n", "scopes": ["results:read"], "days": "1"}),
    ],
)
def test_open_window_is_no_place_to_guess_the_password(page: str, field: str, others: dict[str, Any]) -> None:
    """These pages asked for it as often as anybody liked; now wrong ones are counted with failed sign-ins."""
    window = signed_in()
    tried = [
        window.post(reverse(page), {**others, field: f"guess {i}"}).status_code
        for i in range(settings.AXES_FAILURE_LIMIT)
    ]
    assert set(tried[:-1]) == {422}
    assert tried[-1] in {403, 429}
    # The right one tells nothing now, here and at the door.
    assert window.post(reverse(page), {**others, field: OLD}).status_code == tried[-1]
    assert not is_signed_in(signed_in())
    assert is_signed_in(window)
