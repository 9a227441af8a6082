"""The log while others work on it: two integrators, slow and wrong witnesses, caches that lie.

Nothing of this holds up publishing, forks the log, or makes a client accept what is not in it.
"""

import hashlib
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import OperationalError, close_old_connections, connection
from django.test import Client
from django.utils import timezone

from log.audit.models import Head
from log.public_log import cosignatures
from log.public_log.cosignatures import witnesses_ask
from log.public_log.models import AskedWitness, Cosignature, Leaf, SignedCheckpoint
from log.public_log.selectors import latest_checkpoint
from log.public_log.tree_growth import integrate
from log.public_log.verification import log_verify
from panprivacy.protocols.transparency import tiles
from panprivacy.protocols.transparency.checkpoint import Checkpoint
from panprivacy.protocols.transparency.cosignature import cosign
from panprivacy.protocols.transparency.merkle import (
    Nodes,
    ProofError,
    inclusion_proof,
    leaf_hash,
    root,
    verify_inclusion,
)
from panprivacy.protocols.transparency.policy import Policy, QuorumError
from panprivacy.protocols.transparency.signed_note import COSIGNATURE, Note, VerifierKey
from panprivacy.protocols.transparency.tiles import Tile, TileError
from panprivacy.protocols.transparency.witnessing import AddCheckpoint
from tests.collections.log.public_log.scene import append, contents, grow, witnessed_policy
from tests.panprivacy.protocols.transparency.trees import slow_root
from tests.patience import PATIENCE

KEY = Ed25519PrivateKey.from_private_bytes(bytes([11] * 32))
NAME = "witness.example"


@pytest.fixture
def policy(settings: Any) -> Policy:
    key = VerifierKey(NAME, COSIGNATURE, KEY.public_key().public_bytes_raw())
    settings.LOG_POLICY = witnessed_policy(settings.LOG_ORIGIN, key)
    return settings.LOG_POLICY


@pytest.mark.django_db(transaction=True)
def test_integrators_at_once_make_one_log() -> None:
    """Four that integrate while entries come. SQLite may make them try again; nothing else may happen."""
    failed: list[BaseException] = []
    stop = threading.Event()

    def work(step: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            try:
                while not stop.is_set():
                    try:
                        step()
                    except OperationalError:  # busy: the next tick does it
                        continue
            except BaseException as error:
                failed.append(error)
            finally:
                close_old_connections()
                connection.close()

        return run

    integrators = [threading.Thread(target=work(integrate)) for _ in range(4)]
    for thread in integrators:
        thread.start()
    try:
        for _ in range(40):
            append()
    finally:
        stop.set()
        for thread in integrators:
            thread.join(PATIENCE)
    assert not failed
    assert integrate() == Head.objects.get().index == 40
    assert log_verify() == 40
    leaves = contents()
    for signed in SignedCheckpoint.objects.all():
        text = Note.decode(signed.note.encode()).text
        assert Checkpoint.parse(text).root == slow_root(leaves[: signed.size])


@pytest.mark.django_db(transaction=True)
def test_nothing_waits_for_a_witness_that_is_slow(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one is asked, no transaction is open, and the log goes on."""
    grow()
    grown = []

    def slow(*_: object, seconds: float, **__: object) -> tuple[int, dict[str, str], bytes]:
        assert seconds <= cosignatures.SECONDS
        assert not connection.in_atomic_block
        append()
        grown.append(integrate())
        assert Client().get("/log/checkpoint").status_code == 200
        raise TimeoutError("the witness did not answer in time")

    monkeypatch.setattr(cosignatures, "https_transport", slow)
    assert witnesses_ask(now=timezone.now()) == 0
    assert grown == [2]
    assert AskedWitness.objects.get().last_error == "the witness did not answer in time"


@pytest.mark.django_db
@pytest.mark.parametrize(
    "signs",
    [
        lambda asked: replace(asked, root=hashlib.sha256(b"other").digest()),
        lambda asked: replace(asked, size=asked.size + 1),
        lambda asked: replace(asked, origin="other.example"),
    ],
    ids=["root", "size", "log"],
)
def test_a_witness_that_signs_something_else_vouches_for_nothing(
    policy: Policy, monkeypatch: pytest.MonkeyPatch, signs: Callable[[Checkpoint], Checkpoint]
) -> None:
    grow(3)

    def wrong(_method: str, _url: str, _headers: object, body: bytes, **_: object) -> tuple[int, Any, bytes]:
        asked = Checkpoint.parse(Note.decode(AddCheckpoint.decode(body).note).text)
        return 200, {}, cosign(signs(asked), NAME, KEY, time=1_800_000_000).line.encode()

    monkeypatch.setattr(cosignatures, "https_transport", wrong)
    assert witnesses_ask(now=timezone.now()) == 0
    assert not Cosignature.objects.exists()
    assert "witness.example" in AskedWitness.objects.get().last_error
    with pytest.raises(QuorumError):
        policy.accepted(Client().get("/log/checkpoint").content)


class Cache:
    """Between client and site. It keeps what it may, by the address."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def get(self, path: str) -> bytes:
        if path not in self.kept:
            response = Client().get(f"/log/{path}")
            if "immutable" not in response.get("Cache-Control", ""):
                return response.content if response.status_code == 200 else b""
            self.kept[path] = response.content
        return self.kept[path]

    def nodes(self, size: int) -> Nodes:
        return tiles.nodes_of(lambda tile: self.get(tile.path), size)

    def root_at(self, size: int) -> bytes:
        return root(self.nodes(size), size)

    def proof_of(self, index: int, size: int) -> list[bytes]:
        return inclusion_proof(self.nodes(size), index, size)


@pytest.mark.django_db
def test_partial_tiles_that_a_cache_keeps_stay_true_as_the_tree_grows() -> None:
    cache, roots = Cache(), dict[int, bytes]()
    for more in (5, 250, 1, 44):
        grow(more)
        size = Head.objects.get().index
        roots[size] = cache.root_at(size)
        # Asked too early: a full tile that is not there yet must not be kept as missing.
        for tile in (Tile(0, size // 256), Tile(1, 0)):
            if size % 256:
                assert cache.get(tile.path) == b""
    leaves = contents()
    assert {size: slow_root(leaves[:size]) for size in roots} == roots
    # Older states can be had again, from what is kept and from the site.
    for reader in (cache, Cache()):
        assert {size: reader.root_at(size) for size in roots} == roots
    newest = latest_checkpoint()
    assert newest is not None
    assert Checkpoint.parse(Note.decode(newest.note.encode()).text).root == roots[300]


@pytest.mark.django_db
def test_a_cache_that_answers_with_a_partial_tile_is_noticed() -> None:
    cache = Cache()
    grow(300)
    partial = Client().get("/log/tile/0/000.p/200").content
    cache.kept["tile/0/000"] = partial
    with pytest.raises(TileError, match="must have 8192 bytes"):
        cache.proof_of(3, 300)
    # Filled up, it is as long as it must be, and proves nothing.
    cache.kept["tile/0/000"] = partial + bytes(56 * 32)
    leaf, expected = leaf_hash(Leaf.objects.get(position=3).content.encode()), Cache().root_at(300)
    with pytest.raises(ProofError):
        verify_inclusion(leaf=leaf, index=3, size=300, proof=cache.proof_of(3, 300), root_hash=expected)
    honest = Cache().proof_of(3, 300)
    verify_inclusion(leaf=leaf, index=3, size=300, proof=honest, root_hash=expected)
