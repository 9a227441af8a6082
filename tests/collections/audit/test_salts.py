"""A hash that everybody sees confirms no guess at what only some may see."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from audit.models import Entry, Head
from audit.operations import entry_append
from audit.selectors import BEFORE_THE_FIRST, BrokenLogError, entry_verify
from public_log.verification import log_verify
from recipes.actions import RECIPE_CLOSED

pytestmark = pytest.mark.django_db

BEFORE = ("audit", "0007_shuffled_batches")


def append() -> Entry:
    return entry_append(action=RECIPE_CLOSED, subject="recipe", actor=None, details={})


def append_and_undo() -> Entry:
    with transaction.atomic():
        entry = append()
        transaction.set_rollback(True)
    return entry


def values_of(entry: Entry) -> dict[str, object]:
    return {field.name: getattr(entry, field.name) for field in Entry._meta.concrete_fields}


def entry_from_before() -> Entry:
    """As it was written before there were salts; the hash was computed apart from the product."""
    return Entry(
        index=1,
        at=datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC),
        actor="ana",
        action="recipe_closed",
        subject="recipe",
        details={"closes_at": "2026-02-01T12:00:00Z"},
        previous_hash=BEFORE_THE_FIRST,
        entry_hash="26b858b83719ac383b7b54ef21dfacfb9caaba8b1d299e32e59ff277b3750b7b",
    )


@pytest.fixture
def older_and_newer() -> list[Entry]:
    """The whole log: an entry from before there were salts, and two from after."""
    entry_from_before().save(force_insert=True)
    Head.objects.update(index=1)
    append()
    append()
    return list(Entry.objects.order_by("index"))


def test_entries_that_are_equal_but_for_their_salts_have_different_hashes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("audit.operations.timezone.now", lambda: datetime(2026, 1, 31, 12, tzinfo=UTC))
    one, other = values_of(append_and_undo()), values_of(append_and_undo())
    assert {name for name in one if one[name] != other[name]} == {"salt", "entry_hash"}


def test_each_entry_has_a_salt_of_128_bits_of_its_own() -> None:
    salts = {append().salt for _ in range(20)}
    assert len(salts) == 20
    assert all(re.fullmatch("[0-9a-f]{32}", salt) for salt in salts)


def test_log_of_entries_from_before_and_after_there_were_salts_verifies(older_and_newer: list[Entry]) -> None:
    assert [bool(entry.salt) for entry in older_and_newer] == [False, True, True]
    log_verify()


@pytest.mark.parametrize(("index", "salt"), [(1, "0" * 32), (2, "0" * 32), (2, "")])
def test_verify_names_the_entry_whose_salt_was_added_changed_or_taken(
    older_and_newer: list[Entry], index: int, salt: str
) -> None:
    entry = older_and_newer[index - 1]
    entry_verify(entry, "")
    entry.salt = salt
    with pytest.raises(BrokenLogError, match=f"entry {index} does not match"):
        entry_verify(entry, "")


def test_verify_names_an_entry_of_the_chain_that_follows_another_one(older_and_newer: list[Entry]) -> None:
    with pytest.raises(BrokenLogError, match="entry 1 does not follow"):
        entry_verify(older_and_newer[0], "f" * 64)


@pytest.fixture
def migrated_in_the_end() -> Iterator[None]:
    yield
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("migrated_in_the_end")
def test_migrations_keep_entries_and_their_guard_and_the_log_goes_on() -> None:
    MigrationExecutor(connection).migrate([BEFORE])
    values = values_of(entry_from_before())
    del values["salt"]
    apps_before = MigrationExecutor(connection).loader.project_state(BEFORE).apps
    apps_before.get_model("audit", "Entry").objects.create(**values)
    apps_before.get_model("audit", "Head").objects.update(index=1, entry_hash=values["entry_hash"])
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())
    assert list(Entry.objects.values()) == [{**values, "salt": ""}]
    append()
    log_verify()
    for statement in ("UPDATE audit_entry SET salt = 'x'", "DELETE FROM audit_entry"):
        with (
            pytest.raises(DatabaseError, match="append-only"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)
