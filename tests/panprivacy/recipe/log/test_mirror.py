"""A whole log is checked from its files: every entry, every hash, and who signed it."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.protocols.transparency import signed_note
from panprivacy.protocols.transparency.checkpoint import Checkpoint
from panprivacy.protocols.transparency.merkle import root
from panprivacy.protocols.transparency.signed_note import ED25519, Note, VerifierKey
from panprivacy.protocols.transparency.tiles import encode_bundle, entries_path, tile_content, tiles_of
from panprivacy.recipe.log.__main__ import main
from tests.panprivacy.protocols.transparency.trees import nodes_in_memory

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
LOG = VerifierKey("log.example", ED25519, KEY.public_key().public_bytes_raw())
SIZE = 700
"""Two full tiles, a partial one, and a tile above them."""


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    return written(tmp_path, [b"entry %d" % number for number in range(SIZE)])


def written(tmp_path: Path, entries: Sequence[bytes]) -> Path:
    """The directory of a log with these entries; its policy lies beside it."""
    size = len(entries)
    nodes = nodes_in_memory(entries)
    checkpoint = Checkpoint(LOG.name, size, root(nodes, size))
    note = Note(checkpoint.text, (signed_note.sign(checkpoint.text, LOG.name, KEY),))
    files = {"checkpoint": note.encode()}
    for tile in tiles_of(size):
        files[tile.path] = tile_content(nodes, tile)
        if tile.level == 0:
            first = tile.index * 256
            bundle = encode_bundle(entries[first : first + tile.width])
            files[entries_path(tile.index, tile.width)] = bundle
    for name, content in files.items():
        path = tmp_path / "log" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (tmp_path / "policy").write_text(f"log {LOG.text}\nquorum none\n")
    return tmp_path / "log"


def test_a_mirror_that_is_whole_holds(mirror: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = ["--policy", str(mirror.parent / "policy")]
    assert main(["verify", str(mirror), *policy]) == 3
    message = capsys.readouterr().out
    assert "All 700 entries are there, and they give exactly this tree." in message
    assert "OPEN    No witness vouches for it" in message
    assert main(["verify", str(mirror)]) == 3
    assert main(["verify", str(mirror / "checkpoint"), *policy]) == 3
    assert "The log signed it." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "before", "after", "message"),
    [
        ("tile/entries/001", b"entry 300", b"entry 301", "tile/0/001 does not have the hashes"),
        ("tile/0/002.p/188", b"", b"\0", "tile/0/002.p/188 does not have the hashes"),
        ("tile/1/000.p/2", b"", b"\0", "tile/1/000.p/2 does not have the hashes"),
        ("tile/entries/002.p/188", b"\0\x09entry 699", b"", "must have 188 entries, not 187"),
        ("tile/entries/000", b"\0\x07entry 0", b"\xff\xffentry 0", "cut short"),
        ("checkpoint", b"\n700\n", b"\n699\n", "the signature of log.example does not hold"),
    ],
)
def test_what_was_changed_in_a_mirror_is_found(mirror, capsys, name, before, after, message):
    path = mirror / name
    content = path.read_bytes()
    assert before in content
    path.write_bytes(content.replace(before, after, 1) if before else after + content[1:])
    assert main(["verify", str(mirror), "--policy", str(mirror.parent / "policy")]) == 1
    assert message in capsys.readouterr().out


def concluded(action: str, result: str | None, recipe: str = "one") -> bytes:
    details = {} if result is None else {"result": result}
    return json.dumps({"action": action, "subject": recipe, "details": details}).encode()


@pytest.mark.parametrize(
    ("first", "second", "fails"),
    [
        (("result_released", "a"), ("result_released", "a"), True),
        (("result_released", "a"), ("result_released", None), True),
        (("result_withheld", "a"), ("result_released", "b"), True),
        (("result_released", None), ("result_released", "b"), True),
        (("result_released", "a"), ("result_released", "b", "another recipe"), False),
        (("result_released", "a"), ("recipe_closed", "b"), False),
    ],
)
def test_a_log_in_which_a_result_is_replaced_does_not_hold(tmp_path, capsys, first, second, fails):
    log = written(
        tmp_path, [concluded(*first), b"[]", concluded(*second), b'{"action": ["result_released"]}']
    )
    assert main(["verify", str(log)]) == (1 if fails else 3)
    assert ("the log has two results of the recipe one" in capsys.readouterr().out) == fails


def test_a_file_that_is_missing_is_named(mirror: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (mirror / "tile/0/001").unlink()
    assert main(["verify", str(mirror)]) == 2
    assert f"{mirror}/tile/0/001: No such file" in capsys.readouterr().out
