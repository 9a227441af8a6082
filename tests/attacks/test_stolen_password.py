"""A thief of a password must not keep the account.

Every account changes its own password under `/password/`, which ends every other session. The log has every
sign-in (tests/collections/log/audit) and every change.
"""

from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from log.audit.models import Entry

OLD, NEW = "the password of before", "a password of afterwards"
CHANGE = {"old_password": OLD, "new_password1": NEW, "new_password2": NEW}

pytestmark = pytest.mark.django_db


@pytest.fixture
def mary() -> User:
    return User.objects.create_user("mary", password=OLD)


def signed_in(password: str = OLD) -> Client:
    client = Client()
    client.post("/sign-in/", {"username": "mary", "password": password})
    return client


def is_signed_in(client: Client) -> bool:
    return client.get(reverse("own-password")).status_code == 200


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
def test_refused_change_names_the_field_and_changes_nothing() -> None:
    client = signed_in()
    for change, field in (
        ({"old_password": "wrong"}, "old_password"),
        ({"new_password2": "another one entirely"}, "new_password2"),
        ({"new_password1": "mary", "new_password2": "mary"}, "new_password2"),
        ({"old_password": ""}, "old_password"),
    ):
        answer = client.post(reverse("own-password"), {**CHANGE, **change})
        assert answer.status_code == 422
        assert set(answer.context["form"].errors) == {field}
    assert is_signed_in(signed_in(OLD))


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
    """Wrong ones are counted with failed sign-ins."""
    window = signed_in()
    tried = [
        window.post(reverse(page), {**others, field: f"guess {i}"}).status_code
        for i in range(settings.AXES_FAILURE_LIMIT)
    ]
    assert set(tried[:-1]) == {422}
    assert tried[-1] in {403, 429}
    # The right one is refused alike, here and at the sign-in.
    assert window.post(reverse(page), {**others, field: OLD}).status_code == tried[-1]
    assert not is_signed_in(signed_in())
    assert is_signed_in(window)
