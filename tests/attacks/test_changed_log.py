"""The owner of the database changes what was published: an entry, a leaf, a recipe, a result.

`log verify` names what was changed. If the database was changed consistently, with entry, leaf and hashes,
the signatures still show it, and a client that saw an older checkpoint refuses the log.
"""

import json
from collections.abc import Callable
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test import Client

from log.audit.guards import ENTRIES, HEAD
from log.audit.models import Entry, Head
from log.audit.operations import hash_of
from log.public_log import tree_growth
from log.public_log.guards import GUARDS
from log.public_log.leaves import leaf_content
from log.public_log.models import Leaf, SignedCheckpoint, Tree
from log.public_log.selectors import proof_of
from log.public_log.tree_growth import integrate
from panprivacy.protocols.transparency import tiles
from panprivacy.protocols.transparency.checkpoint import Checkpoint
from panprivacy.protocols.transparency.merkle import (
    ProofError,
    consistency_proof,
    leaf_hash,
    verify_consistency,
)
from panprivacy.protocols.transparency.tiles import Tile, TileError
from panprivacy.statistics.events.histogram import Histogram
from recipes.guards import GUARDS as OF_RECIPES
from recipes.models import Recipe
from results import excerpt
from results.excerpt import release_excerpt
from results.guards import GUARDS as OF_RELEASES
from results.models import Release
from series.guards import GUARDS as OF_SERIES
from series.operations import series_publish
from series.rounds import input_publish
from storage.columns import stored
from tests.collections.log.public_log.scene import append, grow, policy
from tests.factories import recipe_members
from tests.scenes import finished_recipe

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner() -> None:
    """The database's owner, whom no trigger stops."""
    for guard in (*GUARDS, ENTRIES, HEAD, *OF_RECIPES, *OF_RELEASES, *OF_SERIES):
        for statement in guard.remove_statements(connection.vendor):
            connection.cursor().execute(statement)


def verify_fails(found: str) -> None:
    with pytest.raises(CommandError, match=found), transaction.atomic():
        call_command("log", "verify", stdout=StringIO())


def served_tile(tile: Tile) -> bytes:
    response = Client().get(f"/log/{tile.path}")
    return response.content if response.status_code == 200 else b""


def shown() -> Checkpoint:
    return policy().accepted(Client().get("/log/checkpoint").content).checkpoint


def client_accepts(before: Checkpoint) -> None:
    """As a device does that saw `before`: ProofError or TileError where the log does not continue it."""
    now = shown()
    proof = consistency_proof(tiles.nodes_of(served_tile, now.size), before.size, now.size)
    verify_consistency(old=before.size, new=now.size, old_root=before.root, new_root=now.root, proof=proof)


def remove(index: int) -> None:
    """An entry is gone, and all after it moved up by one."""
    kept = list(Entry.objects.filter(index__gt=index).order_by("index"))
    Entry.objects.filter(index__gte=index).delete()
    for entry in kept:
        entry.index -= 1
        entry.entry_hash = hash_of(entry)
        entry.save(force_insert=True)
    Head.objects.update(index=Entry.objects.count())


def swap(index: int) -> None:
    """An entry and the one after it have changed places."""
    pair = list(Entry.objects.filter(index__in=(index, index + 1)).order_by("index"))
    Entry.objects.filter(index__in=(index, index + 1)).delete()
    for entry, place in zip(pair, (index + 1, index), strict=True):
        entry.index = place
        entry.entry_hash = hash_of(entry)
        entry.save(force_insert=True)


def back_date(index: int) -> None:
    """An entry happened 365 days earlier."""
    entry = Entry.objects.get(index=index)
    entry.at -= timedelta(days=365)
    entry.entry_hash = hash_of(entry)
    Entry.objects.filter(index=index).update(at=entry.at, entry_hash=entry.entry_hash)


def with_leaves() -> None:
    """Leaves as the changed entries would have them: more of the lie is consistent."""
    Leaf.objects.all().delete()
    Leaf.objects.bulk_create(
        Leaf(position=entry.index - 1, content=leaf_content(entry)) for entry in Entry.objects.all()
    )


CHANGES = [remove, swap, back_date]


@pytest.mark.usefixtures("owner")
@pytest.mark.parametrize("with_the_leaves", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_moved_or_back_dated_entry_is_noticed(change: Callable[[int], None], with_the_leaves: bool) -> None:
    grow(6)
    before, proof, content = shown(), proof_of(4), Leaf.objects.get(position=4).content.encode()
    assert proof is not None
    client_accepts(before)
    change(3)
    if with_the_leaves:
        with_leaves()
    verify_fails("missing|of another entry|of another log|should end")
    if with_the_leaves:
        # A log that goes on from there signs what an older client refuses.
        Tree.objects.update(size=Head.objects.get().index)
        grow(2)
        assert shown().size > before.size
        with pytest.raises((ProofError, TileError)):
            client_accepts(before)
    # An older proof stays true, for good.
    assert proof.verify(content, policy()).checkpoint == before


@pytest.mark.usefixtures("owner")
def test_a_leaf_that_is_changed_alone_is_noticed() -> None:
    grow(3)
    before = shown()
    leaf = Leaf.objects.get(position=1)
    Leaf.objects.filter(position=1).update(
        content=json.dumps({**json.loads(leaf.content), "action": "other"})
    )
    verify_fails("the leaf of entry 2 says something else than the entry")
    served = Client().get("/log/tile/0/000.p/3").content
    assert served[32:64] != leaf_hash(leaf.content.encode())
    proof = proof_of(0)
    assert proof is not None
    with pytest.raises(ProofError):
        proof.verify(Leaf.objects.get(position=0).content.encode(), policy())
    append()
    with pytest.raises(ProofError):
        client_accepts(before)


def test_a_leaf_that_lied_when_it_was_signed_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its commitment, the tiles and the checkpoint fit: only the entry says something else."""

    def lied(entry: Entry) -> str:
        return json.dumps({**json.loads(leaf_content(entry)), "details": {"released": 1_000}})

    monkeypatch.setattr(tree_growth, "leaf_content", lied)
    append(released=1)
    integrate()
    verify_fails("the leaf of entry 1 says something else than the entry")


@pytest.mark.usefixtures("owner")
def test_a_checkpoint_that_is_rolled_back_is_noticed() -> None:
    """As after a restore of this one table: an older state is shown as the newest."""
    grow()
    grow()
    before = shown()
    SignedCheckpoint.objects.filter(size=before.size).delete()
    assert shown().size < before.size
    with pytest.raises((ProofError, ValueError)):
        client_accepts(before)
    verify_fails("checkpoint of 2 entries is missing")


@pytest.fixture
def released() -> Release:
    recipe = finished_recipe([[1]] * 6)
    integrate()
    call_command("log", "verify", stdout=StringIO())
    return Release.objects.get(recipe=recipe)


def with_excerpt(release: Release, **columns: object) -> None:
    """Columns, and what pages show of them."""
    for name, value in columns.items():
        setattr(release, name, value)
    release.excerpt = release_excerpt(release)
    release.save()


RESULT_CHANGES: list[tuple[Callable[[Release], object], str]] = [
    (lambda one: with_excerpt(one, values=[9.0]), "estimate in the result"),
    (lambda one: Release.objects.update(reports=7), "reports in the result"),
    (lambda one: Release.objects.update(excerpt={**one.excerpt, "values": [9.0]}), "what pages show"),
    (lambda one: Release.objects.update(guarantees=[]), "guarantees in the result"),
    (
        lambda one: with_excerpt(one, intervals=[{**each, "low": [0.0]} for each in one.intervals]),
        "interval in the result",
    ),
]


@pytest.mark.usefixtures("owner")
@pytest.mark.parametrize(("change", "found"), RESULT_CHANGES)
def test_a_result_that_is_changed_after_its_release_is_noticed(
    released: Release, change: Callable[[Release], object], found: str
) -> None:
    change(released)
    verify_fails(found)


def test_an_excerpt_of_estimates_is_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a vector: a negative coordinate is shown before a smaller one above zero."""
    monkeypatch.setattr(excerpt, "MOST_SHOWN", 2)
    monkeypatch.setattr(Histogram, "coordinates", True)
    made = finished_recipe([[1, 0, 0]] * 5 + [[0, 0, 1]], statistic="histogram", k=2, coin="bucket")
    release = Release.objects.get(recipe=made)
    assert release.excerpt is not None
    assert release.excerpt["positions"] != excerpt.largest_positions(stored(release.values), 2)
    call_command("log", "verify", stdout=StringIO())


@pytest.mark.usefixtures("owner")
@pytest.mark.parametrize(
    ("statement", "found"),
    [
        (
            "UPDATE releases_signedresult SET document = replace(document, '\"reports\":6', '\"reports\":7')",
            "is not the one that its entry names",
        ),
        ("UPDATE releases_signedresult SET signature = substr(signature, 2)", "signature of the result"),
        ("DELETE FROM releases_signedresult", "signed result of .* is missing"),
        ("DELETE FROM releases_signedresult; DELETE FROM releases_release", "the result of .* is missing"),
        (
            "UPDATE recipes_recipe SET document = replace(document, '\"name\"', '\"nome\"')",
            "document of recipe",
        ),
        ("UPDATE recipes_recipe SET signature = substr(signature, 2)", "signature of recipe"),
    ],
)
def test_a_document_that_is_changed_or_gone_is_noticed(released: Release, statement: str, found: str) -> None:
    with connection.cursor() as cursor:
        for part in statement.split("; "):
            cursor.execute(part)
    verify_fails(found)


@pytest.mark.usefixtures("owner")
@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE series_roundsdocument SET rounds = 9", "not as they were signed"),
        ("UPDATE series_roundsdocument SET document = replace(document, ':60', ':61')", "does not hold"),
        ("UPDATE series_publicinput SET signature = substr(signature, 2)", "does not hold"),
        ("UPDATE series_publicinput SET number = 2", "to another round"),
    ],
)
def test_a_document_of_rounds_that_is_changed_is_noticed(statement: str, found: str) -> None:
    members = recipe_members(
        steps=1, step_seconds=1, cohort_size=20, rounds=2, round_seconds=60, public_input=True
    )
    series = series_publish(members=members, actor=None)
    input_publish(series=series, number=1, content={"a": 1}, actor=None)
    integrate()
    call_command("log", "verify", stdout=StringIO())
    connection.cursor().execute(statement)
    verify_fails(found)


@pytest.mark.usefixtures("owner")
def test_a_recipe_that_was_never_published_is_noticed(released: Release) -> None:
    """Copied from elsewhere, with a signature that holds."""
    other = Recipe.objects.get(pk=released.recipe_id)
    entry = Entry.objects.get(action="recipe_published", subject=other.identifier)
    Entry.objects.filter(index__gte=entry.index).delete()
    Head.objects.update(index=entry.index - 1)
    Leaf.objects.all().delete()
    SignedCheckpoint.objects.all().delete()
    Tree.objects.all().delete()
    verify_fails(f"recipe {other.identifier} has no entry")
