from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import DatabaseError, connection, transaction
from django.db.models import JSONField
from django.test import Client
from django.utils import timezone

from audit import sign_in
from audit.actions import ACCESS_DENIED, SIGN_IN_FAILED
from audit.models import Entry, Head
from audit.operations import entry_append, hash_of
from audit.registry import Action
from audit.selectors import entries_of_recipe, entries_search
from audit.sign_in import UNKNOWN_ACCOUNT
from recipes.actions import RECIPE_CLOSED

pytestmark = pytest.mark.django_db


def append(subject: str = "s", action: Action = ACCESS_DENIED, **details: Any) -> Entry:
    return entry_append(action=action, subject=subject, actor=None, details=details)


def test_entries_are_numbered_without_gaps_and_hashed() -> None:
    first, second = append("a"), append("b", why="because")
    assert (first.index, second.index) == (1, 2)
    assert [entry.entry_hash for entry in (first, second)] == [hash_of(first), hash_of(second)]
    assert first.entry_hash != second.entry_hash


def test_entry_that_the_database_gives_back_otherwise_is_not_appended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    append("a")
    monkeypatch.setattr(JSONField, "from_db_value", lambda *_: {"why": "another"})
    with pytest.raises(ValueError, match="not read as they were written"):
        append("b", why="because")
    assert list(Entry.objects.values_list("subject", flat=True)) == ["a"]
    assert Head.objects.get().index == 1


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


def test_flood_of_failures_is_recorded_up_to_a_number_within_the_time_of_a_lock(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sign_in, "MOST", 5)
    User.objects.create_user("mary", password="correct horse")

    def flood() -> None:
        for number in range(8):
            client = Client(REMOTE_ADDR=f"192.0.2.{number}")
            client.post(
                "/sign-in/", {"username": "mary" if number % 2 else f"n{number}", "password": "wrong"}
            )
        # Who signs in in between takes nothing back.
        Client().post("/sign-in/", {"username": "mary", "password": "correct horse"})

    flood()
    assert (failures("mary"), failures(UNKNOWN_ACCOUNT)) == (2, 3)
    later = timezone.now() + timedelta(hours=settings.AXES_COOLOFF_TIME)
    monkeypatch.setattr(timezone, "now", lambda: later)
    flood()
    assert (failures("mary"), failures(UNKNOWN_ACCOUNT)) == (4, 6)


def test_growth_of_the_log_does_not_tell_which_names_have_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before: names without one shared eight entries. With these used up, the checkpoint grew by one only
    where there was an account, so anybody could find them out."""
    monkeypatch.setattr(sign_in, "MOST", 12)
    User.objects.create_user("mary@example.org", password="correct horse")

    def grown(username: str) -> int:
        before = Entry.objects.count()
        # Each from its own address: nothing is refused unread.
        for number in range(2):
            client = Client(REMOTE_ADDR=f"192.0.2.{number}")
            client.post("/sign-in/", {"username": username, "password": "wrong"})
        return Entry.objects.count() - before

    for wasted in range(5):
        assert grown(f"nobody {wasted}") == 2
    assert grown("mary@example.org") == 2
    assert (grown("mary@example.org"), grown("anne@example.org")) == (0, 0)


def test_groups_are_made_by_the_migrations_with_the_right_permissions() -> None:
    def names(group: str) -> set[str]:
        return set(Group.objects.get(name=group).permissions.values_list("codename", flat=True))

    assert "publish_recipe" in names("Analysts")
    assert names("Auditors") == {"view_recipe", "view_release", "view_entry"}
