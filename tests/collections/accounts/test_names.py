"""Accounts that look alike: whoever made `аdmin`, with a Cyrillic а, was taken for somebody else."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.names import LikeNoOther, OfOneScript, looks_like
from accounts.operations import account_create
from panprivacy.errors import FieldError
from tests.scenes import account

PASSWORD = "a long one that nobody guesses"
MIXED = ("аdmin", "adminа", "pаypal", "gοοgle", "Σum", "anna三", "ⲥat", "aʼb", "user٣", "βeta", "анна_x")
WHOLE = (
    "admin",
    "André",
    "Łucja",
    "анна",
    "Анна-2",
    "ελένη",
    "三田さん",
    "ラーメン屋",
    "김철수金",
    "علی۱",
    "משה",
    "anna@x.org",
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(client: Client) -> Client:
    client.force_login(account("root", is_staff=True, is_superuser=True))
    return client


@pytest.mark.parametrize("name", MIXED)
def test_name_of_two_scripts_is_refused_and_both_are_named(name: str) -> None:
    with pytest.raises(ValidationError, match=r"must be of one script: it mixes \w[\w ]+ and \w"):
        OfOneScript()(name)


@pytest.mark.parametrize("name", WHOLE)
def test_name_of_one_script_is_taken_with_digits_and_signs(name: str) -> None:
    assert account_create(username=name, password=PASSWORD, groups=[]).get_username() == name


@pytest.mark.parametrize("name", ["сосо", "COCO", "СОСО", "ϲoco", "cоcо"])
def test_name_that_looks_like_one_that_is_taken_is_refused(name: str) -> None:
    account("coco")
    with pytest.raises(FieldError, match="username"):
        account_create(username=name, password=PASSWORD, groups=[])
    account_create(username="сосна", password=PASSWORD, groups=[])


def test_name_of_its_own_looks_like_no_other() -> None:
    account("coco")
    LikeNoOther(User, "username")("coco")
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
    form = root.get(f"/admin/auth/user/{mary.pk}/change/").context["adminform"].form
    unchanged = {name: value for name, value in form.initial.items() if value not in (None, False)}
    dates = {"date_joined_0": "2027-01-01", "date_joined_1": "00:00:00"}
    for name, errors in (("mаry", {"username"}), ("rооt", {"username"}), ("mary", set()), ("maria", set())):
        answer = root.post(
            f"/admin/auth/user/{mary.pk}/change/", {**unchanged, **dates, "groups": [], "username": name}
        )
        found = set() if answer.status_code == 302 else set(answer.context["adminform"].form.errors)
        assert found == errors, name


def test_account_with_a_name_that_is_refused_today_can_be_switched_off(root: Client) -> None:
    account("admin2")
    alike = User.objects.create_user("аdmin2", password=PASSWORD)
    form = root.get(f"/admin/auth/user/{alike.pk}/change/").context["adminform"].form
    unchanged = {name: value for name, value in form.initial.items() if value not in (None, False)}
    unchanged.pop("is_active")
    assert root.post(f"/admin/auth/user/{alike.pk}/change/", {**unchanged, "groups": []}).status_code == 302
    alike.refresh_from_db()
    assert not alike.is_active


def test_form_of_a_group_names_the_field(root: Client) -> None:
    answer = root.post("/admin/auth/group/add/", {"name": "Аnalysts"})
    assert set(answer.context["adminform"].form.errors) == {"name"}
    assert root.post("/admin/auth/group/add/", {"name": "Readers of 2 sites"}).status_code == 302
    assert Group.objects.filter(name="Readers of 2 sites").exists()


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
