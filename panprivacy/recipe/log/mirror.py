"""Checking a whole log from its files, written by `manage.py log export` or fetched by a mirror."""

from collections.abc import Callable, Iterator

from panprivacy.protocols.transparency.checkpoint import Checkpoint
from panprivacy.protocols.transparency.conclusions import Conclusions
from panprivacy.protocols.transparency.findings import CheckError, Findings
from panprivacy.protocols.transparency.merkle import HASH_BYTES, leaf_hash, root
from panprivacy.protocols.transparency.policy import Policy
from panprivacy.protocols.transparency.signed_note import Note
from panprivacy.protocols.transparency.tiles import (
    HEIGHT,
    WIDTH,
    Tile,
    TileError,
    decode_bundle,
    entries_path,
    nodes_of,
    subtree_hash,
    tiles_of,
)
from panprivacy.recipe.log.checks import check_checkpoint

Read = Callable[[str], bytes]
"""Content of a file by its path below the log's: `checkpoint`, `tile/0/000.p/5`."""


def check_mirror(read: Read, policy: Policy | None, *, latest: int | None = None) -> Findings:
    """Check every entry and every hash of a log against its checkpoint, and that no result is replaced.

    Args:
        policy: None to leave open who signed it.
        latest: as in `checking.check`.

    Raises:
        CheckError: the first thing that does not hold.
    """
    note = read("checkpoint")
    found = check_checkpoint(note, policy, latest=latest)
    checkpoint = Checkpoint.parse(Note.decode(note).text)
    try:
        _require_tiles(read, checkpoint.size)
        top = root(nodes_of(lambda tile: read(tile.path), checkpoint.size), checkpoint.size)
    except TileError as error:
        raise CheckError(str(error)) from error
    if top != checkpoint.root:
        raise CheckError("the hash over all entries is not the root of the checkpoint")
    every = f"All {checkpoint.size:,} entries are there, and they give exactly this tree."
    return found + Findings((every, "No recipe has two results among them."), ())


def _require_tiles(read: Read, size: int) -> None:
    """CheckError at the first tile whose hashes are not those of what lies below it, or a second result."""
    level, below, full, conclusions = 0, b"", bytearray(), Conclusions()
    for tile in tiles_of(size):
        if tile.level != level:
            level, below, full = tile.level, bytes(full), bytearray()
        hashes = b"".join(_leaf_hashes(read, tile, conclusions)) if level == 0 else _part(below, tile)
        if read(tile.path) != hashes:
            raise CheckError(f"{tile.path} does not have the hashes of what lies below it")
        if tile.width == WIDTH:
            full += subtree_hash(hashes)


def _leaf_hashes(read: Read, tile: Tile, conclusions: Conclusions) -> Iterator[bytes]:
    path = entries_path(tile.index, tile.width)
    entries = decode_bundle(read(path))
    if len(entries) != tile.width:
        raise CheckError(f"{path} must have {tile.width} entries, not {len(entries)}")
    for entry in entries:
        conclusions.add_leaf(entry)
    return map(leaf_hash, entries)


def _part(hashes: bytes, tile: Tile) -> bytes:
    first = (tile.index << HEIGHT) * HASH_BYTES
    return hashes[first : first + tile.width * HASH_BYTES]
