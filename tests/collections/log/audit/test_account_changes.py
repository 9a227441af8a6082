"""Every change of accounts, groups and permissions has its entry, and none without the other."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import ProtectedError
from django.db.transaction import TransactionManagementError
from django.test import Client

from log.audit import accounts
from log.audit.models import Entry
from recipes.operations import recipe_draft_save
from tests.factories import recipe_members
from tests.scenes import PASSWORD, account

pytestmark = pytest.mark.django_db

ADD_USER = "auth.add_user"
"""A permission that no group has from the start."""


@pytest.fixture
def mary() -> User:
    return account("mary")


@pytest.fixture
def group() -> Group:
    return Group.objects.create(name="Readers")


@pytest.fixture
def permission() -> Permission:
    return Permission.objects.get(codename="add_user")


Changed = tuple[str, str, dict[str, Any]]
"""Action, subject and details of an entry."""


def permission_changed(subject: str, **details: Any) -> Changed:
    return ("permission_changed", subject, details)


def account_changed(subject: str, **details: Any) -> Changed:
    return ("account_changed", subject, details)


def told(change: Callable[[], object]) -> list[Changed]:
    """The entries that a change leaves."""
    last = Entry.objects.order_by("index").last()
    change()
    entries = Entry.objects.filter(index__gt=last.index if last else 0).order_by("index")
    return [(entry.action, entry.subject, entry.details) for entry in entries]


def test_membership_is_logged_from_either_side(mary: User, group: Group) -> None:
    joined = [permission_changed("mary", change="joined", groups=["Readers"])]
    left = [permission_changed("mary", change="left", groups=["Readers"])]
    assert told(lambda: mary.groups.add(group)) == joined
    assert told(lambda: group.user_set.remove(mary)) == left
    assert told(lambda: mary.groups.set([group])) == joined
    assert told(lambda: mary.groups.clear()) == left
    assert told(lambda: group.user_set.add(mary)) == joined
    assert told(lambda: group.user_set.clear()) == left


@pytest.mark.parametrize("holder", ["mary", "group"])
def test_permission_is_logged_by_name(holder: str, mary: User, group: Group, permission: Permission) -> None:
    subject, held, holders, one = {
        "mary": ("mary", mary.user_permissions, permission.user_set, mary),
        "group": ("group Readers", group.permissions, permission.group_set, group),
    }[holder]
    given = [permission_changed(subject, change="given", permissions=[ADD_USER])]
    taken = [permission_changed(subject, change="taken", permissions=[ADD_USER])]
    assert told(lambda: held.add(permission)) == given
    assert told(lambda: holders.remove(one)) == taken
    assert told(lambda: holders.add(one)) == given
    assert told(lambda: held.clear()) == taken
    assert told(lambda: held.set([permission])) == given
    assert told(lambda: holders.clear()) == taken


def test_giving_twice_and_taking_nothing_no_change(mary: User, group: Group, permission: Permission) -> None:
    assert told(lambda: mary.user_permissions.remove(permission)) == []
    assert told(lambda: mary.groups.clear()) == []
    mary.user_permissions.add(permission)
    mary.groups.add(group)
    assert told(lambda: mary.user_permissions.add(permission)) == []
    assert told(lambda: permission.user_set.add(mary)) == []
    assert told(lambda: mary.groups.add(group)) == []


def test_deleted_group_logs_members_and_rights(mary: User, group: Group, permission: Permission) -> None:
    group.permissions.add(permission)
    group.user_set.add(mary, account("anne"))
    assert told(lambda: Group.objects.filter(pk=group.pk).delete()) == [
        permission_changed("anne", change="left", groups=["Readers"]),
        permission_changed("mary", change="left", groups=["Readers"]),
        permission_changed("group Readers", change="group deleted", permissions=[ADD_USER]),
    ]


def test_deleted_account_logs_what_it_held(mary: User, group: Group, permission: Permission) -> None:
    mary.is_superuser = True
    mary.save()
    mary.groups.add(group)
    mary.user_permissions.add(permission)
    flags = {"is_active": True, "is_staff": False, "is_superuser": True}
    assert told(lambda: mary.delete()) == [
        account_changed("mary", change="deleted", flags=flags, groups=["Readers"], permissions=[ADD_USER])
    ]


def test_creating_an_account_is_logged_with_its_flags() -> None:
    def create() -> None:
        call_command("createsuperuser", "--no-input", username="root", email="root@example.org", verbosity=0)

    flags = {"is_active": True, "is_staff": True, "is_superuser": True}
    assert told(create) == [account_changed("root", change="created", flags=flags)]


def test_flags_are_logged_once_with_old_and_new_value(mary: User) -> None:
    def promote() -> None:
        mary.is_staff, mary.is_active = True, False
        mary.save()
        mary.save()

    def save_one_field() -> None:
        mary.is_active = mary.is_superuser = True
        mary.save(update_fields=["is_active"])

    flags = {"is_staff": [False, True], "is_active": [True, False]}
    assert told(promote) == [permission_changed("mary", change="flags", flags=flags)]
    one = {"is_active": [False, True]}
    assert told(save_one_field) == [permission_changed("mary", change="flags", flags=one)]


def test_new_names_are_logged_with_the_old_ones(mary: User, group: Group) -> None:
    def rename() -> None:
        mary.username, group.name = "maria", "Writers"
        mary.save()
        group.save()

    assert told(rename) == [
        account_changed("maria", change="renamed", **{"from": "mary", "to": "maria"}),
        permission_changed("group Writers", change="group renamed", **{"from": "Readers", "to": "Writers"}),
    ]


def test_password_change_is_logged_without_anything_of_the_password(mary: User) -> None:
    def change() -> None:
        mary.set_password("another secret entirely")
        mary.save()

    def disable() -> None:
        mary.set_unusable_password()
        mary.save(update_fields=["password"])

    assert told(change) == [account_changed("mary", change="password")]
    assert told(disable) == [account_changed("mary", change="password")]


def test_sign_in_that_renews_an_old_hash_is_no_password_change(mary: User, client: Client) -> None:
    User.objects.filter(pk=mary.pk).update(
        password=make_password(PASSWORD, salt="0" * 22, hasher="pbkdf2_sha1")
    )
    credentials = {"username": "mary", "password": PASSWORD}
    assert told(lambda: client.post("/sign-in/", credentials)) == [("signed_in", "mary", {})]
    mary.refresh_from_db()
    assert mary.password.startswith("pbkdf2_sha256$")


def test_administrator_of_a_new_password_or_account_is_named(mary: User, client: Client) -> None:
    client.force_login(account("root", is_staff=True, is_superuser=True))
    password = {"password1": "forty new words", "password2": "forty new words"}

    def act() -> None:
        client.post(f"/admin/auth/user/{mary.pk}/password/", {**password, "usable_password": "true"})
        client.post("/admin/auth/user/add/", {**password, "username": "anne", "usable_password": "true"})

    flags = {"is_active": True, "is_staff": False, "is_superuser": False}
    assert told(act) == [
        account_changed("mary", change="password"),
        account_changed("anne", change="created", flags=flags),
    ]
    assert {entry.actor for entry in Entry.objects.order_by("-index")[:2]} == {"root"}


def changes_of(mary: User, group: Group, permission: Permission) -> list[Callable[[], object]]:
    """One change of each type; the tests above say what each does."""

    def promote() -> None:
        User(pk=mary.pk, username="mary", password=mary.password, is_superuser=True).save()

    return [
        promote,
        lambda: User.objects.create_superuser("root"),
        lambda: mary.groups.add(group),
        lambda: mary.user_permissions.add(permission),
        lambda: group.permissions.add(permission),
        lambda: User.objects.get(pk=mary.pk).delete(),
        lambda: Group.objects.get(pk=group.pk).delete(),
        lambda: Group(pk=group.pk, name="Writers").save(),
    ]


def state() -> list[Any]:
    """What the changes act on."""
    return [
        list(User.objects.order_by("pk").values_list("username", "is_superuser")),
        list(Group.objects.order_by("pk").values_list("name", flat=True)),
        *(sorted(through.objects.values_list()) for through in accounts.HOLDINGS),
    ]


# A real transaction per change, as in production: within a test's own, autocommit would not show.
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("position", range(8))
def test_change_whose_entry_fails_is_not_made(
    position: int, monkeypatch: pytest.MonkeyPatch, mary: User, group: Group, permission: Permission
) -> None:
    change, before = changes_of(mary, group, permission)[position], state()

    def fail(**_: object) -> None:
        raise OSError("the log cannot be written")

    try:
        with monkeypatch.context() as broken:
            broken.setattr(accounts, "entry_append", fail)
            with pytest.raises(OSError, match="cannot be written"):
                change()
        assert state() == before
        assert len(told(change)) == 1
        assert state() != before
    finally:
        # Groups are kept between tests.
        Group.objects.filter(pk=group.pk).delete()


def test_rolled_back_change_has_no_entry(mary: User, group: Group, permission: Permission) -> None:
    def change_and_fail(change: Callable[[], object]) -> None:
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            change()
            assert Entry.objects.exists()
            raise ZeroDivisionError

    for change in changes_of(mary, group, permission):
        assert told(partial(change_and_fail, change)) == []


@pytest.mark.django_db(transaction=True)
def test_save_that_fails_leaves_its_entry_only_outside_of_a_transaction(mary: User) -> None:
    """The log can then say more than what happened, never less."""
    taken = account("tom")

    def rename() -> None:
        taken.username = mary.username
        with pytest.raises(IntegrityError):
            taken.save()

    def rename_in_a_transaction() -> None:
        with pytest.raises(TransactionManagementError), transaction.atomic():
            rename()
            raise TransactionManagementError

    def save_what_is_gone() -> None:
        User.objects.filter(pk=taken.pk).delete()
        with pytest.raises(DatabaseError):
            taken.save(update_fields=["username"])

    assert told(rename_in_a_transaction) == []
    attempted = account_changed("mary", change="renamed", **{"from": "tom", "to": "mary"})
    assert told(rename) == [attempted]
    assert User.objects.get(pk=taken.pk).username == "tom"
    assert [details["change"] for _, _, details in told(save_what_is_gone)] == ["deleted"]


def test_refused_deletion_of_an_account_leaves_no_entry(mary: User) -> None:
    recipe_draft_save(members=recipe_members(), actor=mary)

    def delete() -> None:
        with pytest.raises(ProtectedError):
            mary.delete()

    assert told(delete) == []
