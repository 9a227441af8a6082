from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.utils import timezone

from audit.actions import ACCESS_DENIED, SIGN_IN_FAILED
from audit.guards import ENTRIES
from audit.models import Entry
from audit.operations import entry_append, hash_of
from audit.registry import Action
from audit.selectors import BrokenChainError, chain_verify, entries_of_recipe, entries_search, log_verify
from audit.sign_in import UNKNOWN_ACCOUNT
from recipes.actions import RECIPE_CLOSED

pytestmark = pytest.mark.django_db


def append(subject: str = "s", action: Action = ACCESS_DENIED, **details: Any) -> Entry:
    return entry_append(action=action, subject=subject, actor=None, details=details)


def oldest_first() -> list[Entry]:
    return list(Entry.objects.order_by("index"))


def test_append_chains_each_entry_to_the_one_before() -> None:
    first, second = append("a"), append("b", why="because")
    assert (first.index, second.index) == (1, 2)
    assert second.previous_hash == first.entry_hash == hash_of(first)
    log_verify()


@pytest.mark.parametrize("statement", ["UPDATE audit_entry SET subject = 'x'", "DELETE FROM audit_entry"])
def test_database_refuses_to_change_or_delete_an_entry(statement: str) -> None:
    append()
    with (
        pytest.raises(DatabaseError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


def test_database_refuses_to_truncate_the_log() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no TRUNCATE; its DELETE is tested above")
    with (
        pytest.raises(DatabaseError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("TRUNCATE audit_entry")


def test_verify_names_the_entry_that_was_changed_or_removed() -> None:
    for subject in "abc":
        append(subject)
    entries = oldest_first()
    for kept, broken in ((entries[1:], 2), ([entries[0], entries[2]], 3)):
        with pytest.raises(BrokenChainError, match=f"entry {broken} does not follow"):
            chain_verify(kept)
    entries[1].details = {"changed": True}
    with pytest.raises(BrokenChainError, match="entry 2 does not match"):
        chain_verify(entries)


def test_verify_notices_a_log_that_was_cut_off_at_its_end() -> None:
    for subject in "ab":
        append(subject)
    for statement in ENTRIES.remove_statements(connection.vendor):
        connection.cursor().execute(statement)
    Entry.objects.filter(subject="b").delete()
    with pytest.raises(BrokenChainError, match="should end with entry 2, not 1"):
        log_verify()


def test_search_finds_by_index_hash_text_and_filters() -> None:
    first, second = append("alpha"), append("beta", action=SIGN_IN_FAILED)
    assert list(entries_search(text=str(first.index))) == [first]
    assert list(entries_search(text=second.entry_hash[:12])) == [second]
    assert list(entries_search(text="ALPH")) == [first]
    digits = next(e for e in (append(f"s{n}") for n in range(10_000)) if e.entry_hash[:8].isdigit())
    assert list(entries_search(text=digits.entry_hash[:8])) == [digits]
    assert list(entries_search(action="sign_in_failed")) == [second]


def test_public_log_of_a_recipe_leaves_out_what_is_not_public() -> None:
    append("recipe", action=ACCESS_DENIED)
    public = append("recipe", action=RECIPE_CLOSED)
    assert list(entries_of_recipe("recipe")) == [public]


def test_failed_sign_in_is_logged_without_what_was_typed() -> None:
    User.objects.create_user("mary", password="correct horse")
    entries_before = Entry.objects.count()
    client = Client()
    for username in ("mary", "my-secret-password"):
        client.post("/sign-in/", {"username": username, "password": "wrong"})
    entries = list(Entry.objects.filter(action="sign_in_failed").order_by("index"))
    assert [entry.subject for entry in entries] == ["mary", UNKNOWN_ACCOUNT]
    assert Entry.objects.count() == entries_before + 2
    assert "secret-password" not in str([(e.subject, e.actor, e.details) for e in entries])


def test_flood_of_failed_sign_ins_locks_and_stops_filling_the_log(settings: Any) -> None:
    User.objects.create_user("mary", password="correct horse")
    client = Client()
    for _ in range(settings.AXES_FAILURE_LIMIT + 10):
        client.post("/sign-in/", {"username": "mary", "password": "wrong"})
    entries = Entry.objects.filter(subject="mary")
    assert entries.filter(action="sign_in_locked").count() == 1
    assert entries.filter(action="sign_in_failed").count() <= settings.AXES_FAILURE_LIMIT


def failures(subject: str) -> int:
    return Entry.objects.filter(action="sign_in_failed", subject=subject).count()


def test_flood_of_names_without_an_account_is_recorded_like_one_account(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = settings.AXES_FAILURE_LIMIT

    def flood() -> None:
        for number in range(most + 5):
            Client().post("/sign-in/", {"username": f"nobody {number}", "password": "wrong"})

    flood()
    assert failures(UNKNOWN_ACCOUNT) == most
    later = timezone.now() + timedelta(hours=settings.AXES_COOLOFF_TIME)
    monkeypatch.setattr(timezone, "now", lambda: later)
    flood()
    assert failures(UNKNOWN_ACCOUNT) == 2 * most


def test_flood_at_one_account_from_many_addresses_is_recorded_like_one_from_one(settings: Any) -> None:
    User.objects.create_user("mary", password="correct horse")
    User.objects.create_user("anne", password="correct horse")
    for number in range(3 * settings.AXES_FAILURE_LIMIT):
        client = Client(REMOTE_ADDR=f"192.0.2.{number // 2}")
        client.post("/sign-in/", {"username": "mary", "password": "wrong"})
    Client().post("/sign-in/", {"username": "anne", "password": "wrong"})
    assert (failures("mary"), failures("anne")) == (settings.AXES_FAILURE_LIMIT, 1)


def test_somebody_who_signs_in_between_failures_does_not_fill_the_log(settings: Any) -> None:
    User.objects.create_user("mary", password="correct horse")
    for number in range(3 * settings.AXES_FAILURE_LIMIT):
        password = "wrong" if number % 3 else "correct horse"
        Client().post("/sign-in/", {"username": "mary", "password": password})
    assert failures("mary") == settings.AXES_FAILURE_LIMIT


def test_groups_are_made_by_the_migrations_with_the_right_permissions() -> None:
    def names(group: str) -> set[str]:
        return set(Group.objects.get(name=group).permissions.values_list("codename", flat=True))

    assert "publish_recipe" in names("Analysts")
    assert names("Auditors") == {"view_recipe", "view_release", "view_entry"}
