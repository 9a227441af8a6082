"""The stored tree is RFC 6962's over the log's entries, whatever dies meanwhile, and every change shows."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from log.audit.actions import ACCESS_DENIED
from log.audit.guards import ENTRIES
from log.audit.models import Entry, Head
from log.audit.operations import entry_append
from log.audit.registry import Action, action_declare
from log.audit.selectors import BrokenLogError
from log.public_log import own_keys, tree_growth
from log.public_log.guards import GUARDS
from log.public_log.models import Leaf, SignedCheckpoint, Tree
from log.public_log.selectors import latest_checkpoint, proof_of
from log.public_log.tree_growth import integrate
from log.public_log.verification import log_verify
from panprivacy.formats import base64_text
from panprivacy.protocols.transparency import checkpoint as checkpoints
from panprivacy.protocols.transparency import merkle, tiles
from panprivacy.protocols.transparency.signed_note import ED25519, VerifierKey
from panprivacy.protocols.transparency.tiles import Tile, decode_bundle
from recipes.actions import RECIPE_CLOSED
from storage.key_halves import public_half
from tests.collections.log.public_log.scene import append, contents, policy
from tests.concurrency import KilledError
from tests.panprivacy.protocols.transparency.trees import slow_root

pytestmark = pytest.mark.django_db


def append_many(count: int) -> None:
    """As `entry_append` does it, without as many locks."""
    first = Head.objects.get().index + 1
    entry = append()
    made = [
        Entry(
            index=first + number,
            at=entry.at,
            action=entry.action,
            subject="many",
            entry_hash=f"{first + number:064x}",
        )
        for number in range(1, count)
    ]
    Entry.objects.bulk_create(made)
    for number in range(first + 1, first + count):
        Head.objects.update(index=number)


def opened() -> checkpoints.Checkpoint:
    found = latest_checkpoint()
    assert found is not None
    return policy().accepted(found.note.encode()).checkpoint


def test_the_signed_root_is_that_of_the_definition_over_all_leaves() -> None:
    assert integrate() == 0
    assert (opened().size, opened().root) == (0, merkle.EMPTY_ROOT)
    sizes = []
    for count in (1, 2, 253, 1, 5):
        append_many(count)
        sizes.append(integrate())
        assert (opened().size, opened().root) == (sizes[-1], slow_root(contents()))
    assert sizes == [1, 3, 256, 257, 262]
    assert integrate() == 262
    assert SignedCheckpoint.objects.count() == len(sizes) + 1


def test_a_long_log_becomes_a_tree_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_growth, "ENTRIES_AT_ONCE", 100)
    append_many(530)
    assert integrate() == 530
    assert opened().root == slow_root(contents())


def test_every_entry_can_be_proved_offline_and_nothing_else() -> None:
    append_many(300)
    integrate()
    for position in (0, 1, 255, 256, 299):
        proof = proof_of(position)
        assert proof is not None
        entry = Leaf.objects.get(position=position).content.encode()
        assert proof.verify(entry, policy()).checkpoint.size == 300
        with pytest.raises(merkle.ProofError):
            proof.verify(entry + b" ", policy())
    assert proof_of(300) is None
    assert proof_of(-1) is None


@pytest.mark.parametrize(
    ("action", "details"), [(ACCESS_DENIED, {"why": "secret"}), (RECIPE_CLOSED, {"closes_at": "x" * 70_000})]
)
def test_leaf_of_a_private_or_too_long_entry_is_a_hash(action: Action, details: dict[str, str]) -> None:
    entry = append("mary", action=action, **details)
    integrate()
    assert json.loads(Leaf.objects.get().content) == {"commitment": entry.entry_hash}


def test_a_leaf_of_a_public_action_has_its_shown_details_and_no_actor(django_user_model: type) -> None:
    ana = django_user_model.objects.create_user("ana")  # type: ignore[attr-defined]  # whatever the model is
    entry = entry_append(
        action=RECIPE_CLOSED,
        subject="recipe",
        actor=ana,
        details={"closes_at": "later", "approved_by": "bob"},
    )
    integrate()
    found = json.loads(Leaf.objects.order_by("-position")[0].content)
    assert found == {
        "action": "recipe_closed",
        "at": entry.at.isoformat(),
        "commitment": entry.entry_hash,
        "details": {"closes_at": "later"},
        "subject": "recipe",
    }


def test_an_action_that_is_not_public_shows_no_details() -> None:
    with pytest.raises(ValueError, match="not public"):
        action_declare("never_declared", "Never", public=False, shown=("name",))


KEYS = [bytes([number]) * 32 for number in range(1, 4)]


def test_a_change_of_the_signing_key_is_entered_once(settings: Any) -> None:
    origin = integrate_with(settings, KEYS[0])
    append()
    for key in (KEYS[0], KEYS[1], KEYS[1], KEYS[2], KEYS[0], KEYS[1]):
        assert integrate_with(settings, key) == origin
    # Two changes; who comes back with a key that the log names fills no log.
    changes = [json.loads(leaf.content) for leaf in Leaf.objects.all()[1:]]
    public = [base64_text.encode(public_half(key)) for key in KEYS]
    assert [(one["action"], one["subject"], one["details"]) for one in changes] == [
        ("signing_key_changed", origin, {"before": public[0], "key": public[1]}),
        ("signing_key_changed", origin, {"before": public[1], "key": public[2]}),
    ]
    newest = latest_checkpoint()
    assert newest is not None
    assert newest.size == 3
    checkpoints.opened(newest.note.encode(), [VerifierKey(origin, ED25519, public_half(KEYS[2]))])
    for key in KEYS:
        settings.SIGNING_KEY = key
        assert log_verify() == 3


def test_signature_by_an_unnamed_key_does_not_hold(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    integrate_with(settings, KEYS[0])
    settings.SIGNING_KEY = KEYS[1]
    monkeypatch.setattr(own_keys, "_entered", list)
    with pytest.raises(BrokenLogError, match="no key that is known has signed"):
        log_verify()


def integrate_with(settings: Any, key: bytes) -> str:
    settings.SIGNING_KEY = key
    integrate()
    return Tree.objects.get().origin


def test_a_process_that_dies_anywhere_leaves_a_tree_that_goes_on() -> None:
    """Each dies before, between or after its writes, or does not."""
    processes, draw = 60, random.Random(17)
    writes = {"left": 0}

    def cut(*_: object) -> None:
        writes["left"] -= 1
        if writes["left"] < 0:
            raise KilledError

    def counted(execute: Callable[..., object], sql: str, *rest: object) -> object:
        if not sql.startswith("SELECT"):
            cut()
        return execute(sql, *rest)

    roots: dict[int, bytes] = {}
    died = 0
    for _ in range(processes):
        for _ in range(draw.choice((1, 2))):
            append()
        writes["left"] = draw.randrange(14)
        try:
            with transaction.atomic(), connection.execute_wrapper(counted):
                integrate()
        except KilledError:
            died += 1
        for signed in SignedCheckpoint.objects.filter(size__gt=max(roots, default=-1)):
            roots[signed.size] = checkpoints.Checkpoint.parse(signed.note.split("\n\n")[0] + "\n").root
    assert processes / 4 < died < processes * 3 / 4
    assert integrate() == Head.objects.get().index
    assert opened().root == slow_root(contents())
    # No state that was ever signed is contradicted by what came later.
    leaves = contents()
    assert all(roots[size] == slow_root(leaves[:size]) for size in draw.sample(sorted(roots), 10))


@pytest.fixture
def without_guards() -> None:
    """The owner of the database can change it."""
    for guard in (*GUARDS, ENTRIES):
        for statement in guard.remove_statements(connection.vendor):
            connection.cursor().execute(statement)


@pytest.mark.usefixtures("without_guards")
@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("UPDATE audit_entry SET subject = 'x' WHERE \"index\" = 3", "entry 3 does not match its hash"),
        ('DELETE FROM audit_entry WHERE "index" = 3', "entry 3 is missing"),
        ('DELETE FROM audit_entry WHERE "index" = 5', "should end with entry 5, not 4"),
        (
            "UPDATE public_log_leaf SET content = '{}' WHERE position = 1",
            "leaf of entry 2 is of another entry",
        ),
        ("DELETE FROM public_log_leaf WHERE position = 1", "entry 2 is missing"),
        ("UPDATE public_log_signedcheckpoint SET note = replace(note, '5', '4')", "does not hold"),
        ("DELETE FROM public_log_signedcheckpoint WHERE size = 5", "checkpoint of 5 entries is missing"),
    ],
)
def test_whatever_is_changed_in_the_database_is_named(change: str, found: str) -> None:
    for _ in range(5):
        append()
    assert log_verify() == 5
    connection.cursor().execute(change)
    with pytest.raises(BrokenLogError, match=found):
        log_verify()


@pytest.mark.usefixtures("without_guards")
def test_stored_hashes_that_were_changed_are_noticed() -> None:
    for _ in range(tiles.WIDTH):
        append()
    assert log_verify() == tiles.WIDTH
    for change in ("UPDATE public_log_tile SET hashes = substr(hashes, 2)", "DELETE FROM public_log_tile"):
        connection.cursor().execute(change)
        with pytest.raises(BrokenLogError, match=r"tile/1/000\.p/1 does not match"):
            log_verify()


def test_a_stranger_checks_the_whole_log_from_what_is_served(client: Client) -> None:
    append_many(300)
    assert client.post("/log/checkpoint").status_code == 405
    note = client.get("/log/checkpoint")
    assert note["Content-Type"] == "text/plain; charset=utf-8"
    checkpoint = policy().accepted(note.content).checkpoint

    def read(tile: Tile) -> bytes:
        response = client.get(f"/log/{tile.path}")
        assert response.status_code == 200
        assert "immutable" in response["Cache-Control"]
        return response.content

    found = [
        entry
        for tile in tiles.tiles_of(checkpoint.size)
        if tile.level == 0
        for entry in decode_bundle(client.get(f"/log/{tiles.entries_path(tile.index, tile.width)}").content)
    ]
    assert len(found) == checkpoint.size == 300
    assert merkle.root(tiles.nodes_of(read, 300), 300) == checkpoint.root == slow_root(found)


def test_what_the_tree_has_not_is_a_404(client: Client) -> None:
    append_many(5)
    integrate()
    for address in (
        *("tile/0/000", "tile/0/000.p/6", "tile/0/000.p/0", "tile/0/000.p/256", "tile/0/001.p/1"),
        *("tile/1/000.p/1", "tile/8/000.p/1", "tile/99/000", "tile/0/x000/000.p/5", "tile/0/0.p/5"),
        *("tile/entries/000.p/6", "tile/entries/x999/x999/x999/x999/x999/x999/999", "nothing"),
    ):
        assert client.get(f"/log/{address}").status_code == 404, address


def test_a_tile_has_one_address(client: Client) -> None:
    """Caches keep each of them for good."""
    append_many(256)
    integrate()
    for address in ("tile/0/000", "tile/entries/000", "tile/1/000.p/1"):
        assert client.get(f"/log/{address}").status_code == 200
        assert client.post(f"/log/{address}").status_code == 405
        assert client.head(f"/log/{address}").status_code == 200
        for other in (f"{address}.p/256", f"{address}/", f"{address}%0a", address.replace("000", "x000/000")):
            assert client.get(f"/log/{other}").status_code == 404, other
