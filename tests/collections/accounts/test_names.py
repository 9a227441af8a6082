"""Accounts that look alike: `аdmin`, with a Cyrillic а, is taken for another account."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.names import LikeNoOther, OfOneScript, OnlyVisible, looks_like
from accounts.operations import account_create
from panprivacy.formats.errors import FieldError
from tests.scenes import account

PASSWORD = "a long one that nobody guesses"
MIXED = ("аdmin", "adminа", "pаypal", "gοοgle", "Σum", "anna三", "ⲥat", "aʼb", "user٣", "βeta", "анна_x")
WHOLE = (
    *("admin", "André", "Łucja", "анна", "Анна-2", "ελένη", "三田さん", "ラーメン屋", "김철수金", "علی۱"),
    *("משה", "anna@x.org"),
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(client: Client) -> Client:
    client.force_login(account("root", is_staff=True, is_superuser=True))
    return client


def answered(root: Client, user: User, **changes: Any) -> set[str] | None:
    """The fields with errors after this change in the form of an account; None if it was saved."""
    address = f"/admin/auth/user/{user.pk}/change/"
    form = root.get(address).context["adminform"].form
    unchanged = {name: value for name, value in form.initial.items() if value not in (None, False)}
    dates = {"date_joined_0": "2027-01-01", "date_joined_1": "00:00:00"}
    data = {**unchanged, **dates, "groups": [], **changes}
    answer = root.post(address, {name: value for name, value in data.items() if value is not None})
    return None if answer.status_code == 302 else set(answer.context["adminform"].form.errors)


def test_name_of_two_scripts_is_refused_and_both_are_named() -> None:
    for name in MIXED:
        with pytest.raises(ValidationError, match=r"must be of one script: it mixes \w[\w ]+ and \w"):
            OfOneScript()(name)


def test_name_of_one_script_is_taken_with_digits_and_signs() -> None:
    for name in WHOLE:
        assert account_create(username=name, password=PASSWORD, groups=[]).get_username() == name


def test_name_that_looks_like_one_that_is_taken_is_refused() -> None:
    account("coco")
    for name in ("сосо", "COCO", "СОСО", "ϲoco", "cоcо"):
        with pytest.raises(FieldError, match="username"):
            account_create(username=name, password=PASSWORD, groups=[])
    account_create(username="сосна", password=PASSWORD, groups=[])
    LikeNoOther(User, "username")("coco")


def test_looks_of_a_name() -> None:
    assert looks_like("Вор") == looks_like("вор") == looks_like("bop")
    assert looks_like("жук") != looks_like("xyk")
    assert looks_like("paul") & looks_like("pauI")
    assert not looks_like("paul") & looks_like("paus")


@pytest.mark.parametrize("name", ["аdmin", "Root"])
def test_form_that_makes_an_account_names_the_field(root: Client, name: str) -> None:
    answer = root.post(
        "/admin/auth/user/add/",
        {"username": name, "password1": PASSWORD, "password2": PASSWORD, "usable_password": "true"},
    )
    assert set(answer.context["adminform"].form.errors) == {"username"}
    assert not User.objects.filter(username=name).exists()


def test_form_that_renames_an_account_names_the_field(root: Client) -> None:
    mary = account("mary")
    for name, errors in (("mаry", {"username"}), ("rооt", {"username"}), ("mary", None), ("maria", None)):
        assert answered(root, mary, username=name) == errors, name


def test_account_and_group_take_another_case_of_their_own_name(root: Client) -> None:
    mary, readers = account("mary"), Group.objects.create(name="readers")
    assert answered(root, mary, username="Mary") is None
    assert User.objects.get(pk=mary.pk).get_username() == "Mary"
    assert root.post(f"/admin/auth/group/{readers.pk}/change/", {"name": "Readers"}).status_code == 302
    for name in ("readers", "Аnalysts"):
        answer = root.post("/admin/auth/group/add/", {"name": name})
        assert set(answer.context["adminform"].form.errors) == {"name"}
    assert root.post("/admin/auth/group/add/", {"name": "Readers of 2 sites"}).status_code == 302


INVISIBLE = (
    *("\u200b", "\u00ad", "\u202e", "\ufeff", "\u3164", "\ufe0f", "\U000e0101", "\u00a0"),
    *("\u2800", "\n"),
)


def test_name_with_a_character_that_is_not_seen_is_refused(root: Client) -> None:
    for character in INVISIBLE:
        with pytest.raises(ValidationError, match=f"U\\+{ord(character):04X} is none"):
            OnlyVisible()(f"Rea{character}ders")
        root.post("/admin/auth/group/add/", {"name": f"Rea{character}ders"})
        assert not Group.objects.filter(name__contains="Rea").exists()
        with pytest.raises(FieldError, match="username"):
            account_create(username=f"an{character}na", password=PASSWORD, groups=[])


def test_account_with_a_name_that_is_refused_today_can_be_switched_off(root: Client) -> None:
    account("admin2")
    alike = User.objects.create_user("аdmin2", password=PASSWORD)
    assert answered(root, alike, is_active=None) is None
    alike.refresh_from_db()
    assert not alike.is_active


def test_command_makes_no_such_administrator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", PASSWORD)
    options: dict[str, Any] = {"email": "a@example.org", "interactive": False, "verbosity": 0}
    with pytest.raises(CommandError, match="Cyrillic and Latin"):
        call_command("createsuperuser", username="аdmin", **options)
    call_command("createsuperuser", username="admin", **options)
    with pytest.raises(CommandError, match="looks like a name that is taken"):
        call_command("createsuperuser", username="ADMIN", **options)
    assert [user.get_username() for user in User.objects.all()] == ["admin"]


def test_account_of_a_program_is_named_as_its_sign_in_reads_it(client: Client) -> None:
    made = account_create(username="ｍary", password=PASSWORD, groups=[])
    assert made.get_username() == "mary"
    assert client.post("/sign-in/", {"username": "ｍary", "password": PASSWORD}).status_code == 302
