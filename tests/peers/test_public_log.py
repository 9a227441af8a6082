"""Go's note and tlog, as Debian packages them, read our log: what we prove they accept, and nothing else."""

import base64
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.test import Client

from log.public_log.selectors import proof_of
from log.public_log.stored_tree import nodes
from panprivacy.protocols.transparency import checkpoint as checkpoints
from panprivacy.protocols.transparency import signed_note
from panprivacy.protocols.transparency.checkpoint import Checkpoint
from panprivacy.protocols.transparency.cosignature import cosign
from panprivacy.protocols.transparency.merkle import Nodes, consistency_proof, inclusion_proof, root
from panprivacy.protocols.transparency.signed_note import COSIGNATURE, ED25519, Note, NoteError, VerifierKey
from panprivacy.protocols.transparency.tiles import tile_content, tiles_of
from storage.signing_key import verification_key
from tests.collections.log.public_log.test_tree import append_many, contents
from tests.panprivacy.protocols.transparency.trees import nodes_in_memory
from tests.peers.conversations import Peer, PeerRefusedError, base64_of, talking

pytestmark = [pytest.mark.long, pytest.mark.processes]

GO_PATH = Path("/usr/share/gocode")
"""Where Debian puts sources of Go."""

KEY = Ed25519PrivateKey.from_private_bytes(bytes([17] * 32))
VKEY = VerifierKey("log.example/pan", ED25519, KEY.public_key().public_bytes_raw()).text

SIZES = [1, 2, 3, 255, 256, 257, 511, 65_535, 65_536, 65_793, 70_001]
"""At and beside the ends of tiles of the first three levels."""

ENTRIES = [number.to_bytes(4, "big") for number in range(max(SIZES))]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    if shutil.which("go") is None:
        pytest.skip("golang-go is not installed")
    if not (GO_PATH / "src/golang.org/x/mod/sumdb/tlog").is_dir():
        pytest.skip("golang-golang-x-mod-dev is not installed")
    folder = tmp_path_factory.mktemp("peer")
    source = Path(__file__).parent / "go_tlog" / "peer.go"
    subprocess.run(
        ["go", "build", "-o", folder / "peer", source],
        check=True,
        cwd=folder,
        # Of what is installed, without a network.
        env={
            **os.environ,
            "GO111MODULE": "off",
            "GOPATH": str(GO_PATH),
            "GOCACHE": str(folder / "cache"),
            "GOPROXY": "off",
            "GOFLAGS": "",
        },
    )
    with talking([folder / "peer"], folder) as peer:
        yield peer


@pytest.fixture(scope="module")
def tree() -> Nodes:
    return nodes_in_memory(ENTRIES)


def signed(checkpoint: Checkpoint) -> bytes:
    """With a witness's signature, of which they know nothing."""
    by_log = signed_note.sign(checkpoint.text, checkpoint.origin, KEY)
    by_witness = cosign(checkpoint, "witness.example", KEY, time=1_700_000_000)
    return Note(checkpoint.text, (by_witness, by_log)).encode()


def opened(theirs: Peer, note: bytes, key: str = VKEY) -> dict[str, Any]:
    return theirs("open", vkey=key, note=base64_of(note))


def flipped(value: bytes, place: int = 0) -> bytes:
    return value[:place] + bytes([value[place] ^ 1]) + value[place + 1 :]


def hashes(of: list[bytes]) -> list[str]:
    return [base64_of(found) for found in of]


@dataclass(frozen=True)
class Proofs:
    """That entry `index`, and the tree of `old` entries, are in a tree."""

    nodes: Nodes
    size: int
    index: int
    old: int
    entry: bytes

    def record(self, change: Callable[[list[bytes]], list[bytes]] = list, **other: Any) -> dict[str, Any]:
        return {
            "size": self.size,
            "root": base64_of(root(self.nodes, self.size)),
            "index": self.index,
            "entry": base64_of(self.entry),
            "recordProof": hashes(change(inclusion_proof(self.nodes, self.index, self.size))),
            **other,
        }

    def tree(self, change: Callable[[list[bytes]], list[bytes]] = list, **other: Any) -> dict[str, Any]:
        return {
            "size": self.size,
            "root": base64_of(root(self.nodes, self.size)),
            "old": self.old,
            "oldRoot": base64_of(root(self.nodes, self.old)),
            "treeProof": hashes(change(consistency_proof(self.nodes, self.old, self.size))),
            **other,
        }

    def tiles(self) -> dict[str, str]:
        return {tile.path: base64_of(tile_content(self.nodes, tile)) for tile in tiles_of(self.size)}


def proofs_of(tree: Nodes, size: int) -> Proofs:
    index = size * 2 // 3
    return Proofs(tree, size, index, max(1, size // 2), ENTRIES[index])


@pytest.mark.parametrize("size", SIZES)
def test_they_open_our_checkpoint_and_accept_our_proofs(theirs: Peer, tree: Nodes, size: int) -> None:
    proofs = proofs_of(tree, size)
    checkpoint = Checkpoint("log.example/pan", size, root(tree, size))
    expected = {"origin": checkpoint.origin, "size": size, "root": base64_of(checkpoint.root)}
    assert opened(theirs, signed(checkpoint)) == expected
    theirs("record", **proofs.record())
    theirs("tree", **proofs.tree())


@pytest.mark.parametrize("size", SIZES)
def test_they_read_our_tiles_and_prove_the_same_from_them(theirs: Peer, tree: Nodes, size: int) -> None:
    proofs = proofs_of(tree, size)
    asked = {"size": size, "root": base64_of(root(tree, size)), "index": proofs.index, "old": proofs.old}
    found = theirs("prove", **asked, tiles=proofs.tiles())
    assert (found["record"] or [], found["tree"] or []) == (
        proofs.record()["recordProof"],
        proofs.tree()["treeProof"],
    )


def refuse(theirs: Peer, operation: str, asked: dict[str, Any]) -> None:
    with pytest.raises(PeerRefusedError):
        theirs(operation, **asked)


def test_they_refuse_a_checkpoint_that_was_changed(theirs: Peer, tree: Nodes) -> None:
    note = signed(Checkpoint("log.example/pan", 70_001, root(tree, 70_001)))
    stranger = VerifierKey("log.example/pan", ED25519, KEY.public_key().public_bytes_raw()[::-1]).text
    for changed in (note.replace(b"70001", b"70000"), flipped(note), flipped(note, 30), b"log" + note):
        with pytest.raises(PeerRefusedError):
            opened(theirs, changed)
    with pytest.raises(PeerRefusedError):
        opened(theirs, note, stranger)
    with pytest.raises(PeerRefusedError):
        opened(theirs, note, VKEY.replace("pan", "pen"))


def test_they_refuse_proofs_that_were_changed(theirs: Peer, tree: Nodes) -> None:
    proofs = proofs_of(tree, 65_793)
    other = base64_of(bytes(32))
    changes: list[Callable[[list[bytes]], list[bytes]]] = [
        lambda path: [flipped(path[0]), *path[1:]],
        lambda path: [*path[:-1], flipped(path[-1], 31)],
        lambda path: path[1:],
        lambda path: [*path, bytes(32)],
        lambda path: path[::-1],
    ]
    for change in changes:
        refuse(theirs, "record", proofs.record(change))
        refuse(theirs, "tree", proofs.tree(change))
    for members in ({"root": other}, {"index": proofs.index + 1}, {"entry": base64_of(b"other")}):
        refuse(theirs, "record", proofs.record(**members))
    for members in ({"root": other}, {"oldRoot": other}, {"old": proofs.old + 1}):
        refuse(theirs, "tree", proofs.tree(**members))


def test_they_refuse_tiles_that_were_changed(theirs: Peer, tree: Nodes) -> None:
    proofs = proofs_of(tree, 65_793)
    asked = {"size": 65_793, "root": base64_of(root(tree, 65_793)), "index": proofs.index, "old": proofs.old}
    tiles = proofs.tiles()
    place = f"tile/0/{proofs.index >> 8:03}"
    for path in (place, "tile/1/000", "tile/2/000.p/1"):
        other = base64_of(bytes(len(tile_content(tree, next(t for t in tiles_of(65_793) if t.path == path)))))
        refuse(theirs, "prove", {**asked, "tiles": {**tiles, path: other}})


WITNESS = VerifierKey("witness.example", COSIGNATURE, KEY.public_key().public_bytes_raw()).text


def cosigned(theirs: Peer, note: bytes, witness: str = WITNESS) -> list[str]:
    """Names of those whose signatures they find to hold."""
    names: list[str] = theirs("cosigned", vkey=VKEY, witness=witness, note=base64_of(note))["signed"]
    return sorted(names)


def test_they_accept_the_signature_of_a_witness_and_refuse_others(theirs: Peer, tree: Nodes) -> None:
    checkpoint = Checkpoint("log.example/pan", 70_001, root(tree, 70_001))
    assert cosigned(theirs, signed(checkpoint)) == ["log.example/pan", "witness.example"]
    by_log = signed_note.sign(checkpoint.text, checkpoint.origin, KEY)
    witness = cosign(checkpoint, "witness.example", KEY, time=1_700_000_000)
    before = cosign(
        Checkpoint(checkpoint.origin, 70_000, root(tree, 70_000)), "witness.example", KEY, time=1_700_000_000
    )
    later = replace(witness, content=flipped(witness.content, 7))
    for wrong in (before, later, replace(witness, content=flipped(witness.content, 71))):
        with pytest.raises(PeerRefusedError):
            cosigned(theirs, Note(checkpoint.text, (by_log, wrong)).encode())
    # Of a witness that they do not know they say nothing.
    stranger = VerifierKey("stranger.example", COSIGNATURE, KEY.public_key().public_bytes_raw()).text
    assert cosigned(theirs, signed(checkpoint), stranger) == ["log.example/pan"]


def test_they_accept_our_proofs_between_all_these_sizes(theirs: Peer, tree: Nodes) -> None:
    for place, size in enumerate(SIZES):
        for old in SIZES[: place + 1]:
            theirs("tree", **Proofs(tree, size, 0, old, ENTRIES[0]).tree())
        for index in {0, size // 3, size - 1}:
            theirs("record", **Proofs(tree, size, index, size, ENTRIES[index]).record())


def test_we_open_what_they_signed_and_nothing_else(theirs: Peer, tree: Nodes) -> None:
    checkpoint = Checkpoint("log.elsewhere", 257, root(tree, 257))
    made = theirs("sign", text=checkpoint.text)
    key, note = VerifierKey.parse(made["vkey"]), base64.b64decode(made["note"])
    assert checkpoints.opened(note, [key])[0] == checkpoint
    with pytest.raises(NoteError):
        checkpoints.opened(note.replace(b"\n257\n", b"\n258\n"), [key])


@pytest.mark.django_db
def test_they_follow_what_the_site_serves(theirs: Peer, client: Client) -> None:
    append_many(300)
    old = opened(theirs, client.get("/log/checkpoint").content, site_key())
    append_many(400)
    new = opened(theirs, client.get("/log/checkpoint").content, site_key())
    assert (old["size"], new["size"]) == (300, 700)
    served = {tile.path: base64_of(client.get(f"/log/{tile.path}").content) for tile in tiles_of(700)}
    found = theirs("prove", size=700, root=new["root"], index=290, old=300, tiles=served)
    proof = proof_of(290)
    assert proof is not None
    assert found["record"] == hashes(list(proof.path))
    theirs("tree", size=700, root=new["root"], old=300, oldRoot=old["root"], treeProof=found["tree"])
    assert found["tree"] == hashes(consistency_proof(nodes(700), 300, 700))
    entry = {"entry": base64_of(contents()[290]), "recordProof": found["record"]}
    theirs("record", size=700, root=new["root"], index=290, **entry)


def site_key() -> str:
    return VerifierKey(settings.LOG_ORIGIN, ED25519, verification_key().public_bytes_raw()).text
