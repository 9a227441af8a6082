"""A database from before there was a tree: its chain becomes the first leaves, in order, with its hashes."""

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import rfc8785
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.test import Client

from audit.actions import ACCESS_DENIED
from audit.models import Entry
from audit.operations import entry_append
from panprivacy.transparency import checkpoint as checkpoints
from panprivacy.transparency.signed_note import ED25519, VerifierKey
from panprivacy.transparency.tiles import decode_bundle
from public_log.integrating import integrate
from public_log.models import Leaf, Tile
from public_log.verification import log_verify
from storage.signing_key import verification_key
from tests.panprivacy.transparency.trees import slow_root

# `tests/test_installation_before.py` looks at the same of a database of b0f47a4.
pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True)]

BEFORE = ("audit", "0009_declared_actions")
ENTRIES = 300
"""More than a tile has."""


def migrate_all() -> None:
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


@pytest.fixture
def before() -> Iterator[Any]:
    """The apps of an installation that has no tree yet."""
    MigrationExecutor(connection).migrate([BEFORE, ("public_log", None)])
    yield MigrationExecutor(connection).loader.project_state([BEFORE]).apps
    migrate_all()


def chain() -> list[dict[str, Any]]:
    """Rows of a chain, hashed apart from the product as it did then."""
    rows: list[dict[str, Any]] = []
    for index in range(1, ENTRIES + 1):
        at = datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(minutes=index)
        members = {
            "index": index,
            "at": at.isoformat(),
            "actor": "ana" if index % 3 else "",
            "action": "recipe_closed" if index % 2 else "signed_in",
            "subject": f"s{index}",
            "details": {},
            "salt": f"{index:032x}",
            "previous_hash": rows[-1]["entry_hash"] if rows else "0" * 64,
        }
        rows.append({**members, "at": at, "entry_hash": hashlib.sha256(rfc8785.dumps(members)).hexdigest()})
    return rows


def test_an_old_chain_becomes_the_first_leaves_in_order_with_its_hashes(before: Any) -> None:
    rows = chain()
    entry = before.get_model("audit", "Entry")
    entry.objects.bulk_create(entry(**row) for row in rows)
    for row in rows:
        before.get_model("audit", "Head").objects.update(index=row["index"], entry_hash=row["entry_hash"])

    migrate_all()
    assert integrate() == ENTRIES
    contents = [leaf.content.encode() for leaf in Leaf.objects.order_by("position")]
    assert [json.loads(leaf)["commitment"] for leaf in contents] == [row["entry_hash"] for row in rows]
    kept = list(Entry.objects.order_by("index").values_list("previous_hash", flat=True))
    assert kept == [row["previous_hash"] for row in rows]
    # Of what is public, everybody sees what happened, and of nothing who did it.
    assert decode_bundle(Client().get("/log/tile/entries/000").content) == contents[:256]
    assert {json.loads(leaf).get("action") for leaf in contents} == {None, "recipe_closed"}
    assert b"ana" not in b"".join(contents)

    entry_append(action=ACCESS_DENIED, subject="s", actor=None, details={})
    assert log_verify() == ENTRIES + 1
    assert not Tile.objects.filter(level=0).exists()
    note = Client().get("/log/checkpoint").content
    key = VerifierKey(note.split(b"\n")[0].decode(), ED25519, verification_key().public_bytes_raw())
    contents.append(Leaf.objects.get(position=ENTRIES).content.encode())
    assert checkpoints.opened(note, [key])[0].root == slow_root(contents)

    # What the migrations installed refuses what it should.
    for change in (
        "UPDATE public_log_leaf SET content = 'x'",
        "DELETE FROM public_log_signedcheckpoint",
        "UPDATE public_log_tree SET size = size - 1",
        "UPDATE public_log_tree SET origin = 'x', size = size + 1",
        "UPDATE audit_entry SET previous_hash = ''",
        "DELETE FROM audit_entry",
    ):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(change)
