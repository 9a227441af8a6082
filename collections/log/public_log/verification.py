"""Checking the whole log: entries against their hashes, leaves against entries, tiles and signatures against
leaves, and what other apps store against entries."""

import json
from collections.abc import Generator, Iterable
from contextlib import closing
from functools import cache
from typing import TypeVar, cast

from log.audit.models import Entry
from log.audit.selectors import BrokenLogError, entry_verify
from log.public_log.checks import log_checks
from log.public_log.leaves import leaf_tells_of
from log.public_log.models import Leaf, SignedCheckpoint, Tree
from log.public_log.own_keys import own_keys
from log.public_log.selectors import latest_checkpoint
from log.public_log.stored_tree import nodes, tile_content
from log.public_log.tree_growth import integrate
from panprivacy.protocols.transparency import checkpoint as checkpoints
from panprivacy.protocols.transparency.merkle import leaf_hash, root
from panprivacy.protocols.transparency.signed_note import NoteError
from panprivacy.protocols.transparency.tiles import HEIGHT, WIDTH, TileError, subtree_hash, tiles_of

Row = TypeVar("Row")


def log_verify() -> int:
    """Check everything; the number of entries.

    Raises:
        BrokenLogError: an entry, a leaf, a hash or a signature was changed, removed or inserted, or a recipe
            or a result is not the one that was entered.
    """
    # Entries that arrive meanwhile are beyond it.
    size = integrate()
    _tiles_verify(size, _leaf_hashes(size))
    _checkpoints_verify()
    for check in log_checks():
        check()
    return size


def _leaf_hashes(size: int) -> list[bytes]:
    """The hash of every leaf, each compared with its entry."""
    entries = Entry.objects.filter(index__lte=size).order_by("index")
    leaves = Leaf.objects.filter(position__lt=size).order_by("position")
    found = []
    with _read(entries) as entry_rows, _read(leaves) as leaf_rows:
        for position, (entry, leaf) in enumerate(zip(entry_rows, leaf_rows, strict=False)):
            if (entry.index, leaf.position) != (position + 1, position):
                raise BrokenLogError(f"entry {position + 1} is missing")
            entry_verify(entry)
            if json.loads(leaf.content).get("commitment") != entry.entry_hash:
                raise BrokenLogError(f"the leaf of entry {entry.index} is of another entry")
            if not leaf_tells_of(entry, leaf.content):
                raise BrokenLogError(f"the leaf of entry {entry.index} says something else than the entry")
            found.append(leaf_hash(leaf.content.encode()))
    if len(found) != size:
        raise BrokenLogError(f"the log should end with entry {size}, not {len(found)}")
    return found


def _tiles_verify(size: int, hashes: list[bytes]) -> None:
    """Every stored hash, recomputed from the leaves up. Those of leaves are not stored."""
    level = 0
    for tile in tiles_of(size):
        if tile.level == 0:
            continue
        if tile.level != level:
            level = tile.level
            full = len(hashes) // WIDTH
            hashes = [
                subtree_hash(b"".join(hashes[place * WIDTH : (place + 1) * WIDTH])) for place in range(full)
            ]
        first = tile.index << HEIGHT
        if tile_content(tile) != b"".join(hashes[first : first + tile.width]):
            raise BrokenLogError(f"{tile.path} does not match the leaves below it")


def _checkpoints_verify() -> None:
    """Every state that was signed, against the tree as it is; the whole of it is signed."""
    size = Tree.objects.get().size
    newest = latest_checkpoint()
    if newest is None or newest.size < size:
        raise BrokenLogError(f"the checkpoint of {size} entries is missing")
    read, keys = nodes(size), cache(own_keys)
    for signed in SignedCheckpoint.objects.order_by("size").iterator():
        try:
            # Under the name that the log had then.
            checkpoint, _ = checkpoints.opened(signed.note.encode(), keys(signed.note.partition("\n")[0]))
            holds = (checkpoint.size, checkpoint.root) == (signed.size, root(read, signed.size))
        except (NoteError, TileError) as error:
            raise BrokenLogError(f"the checkpoint of {signed.size} entries does not hold: {error}") from error
        if not holds:
            raise BrokenLogError(f"the checkpoint of {signed.size} entries is of another log")


def _read(rows: Iterable[Row]) -> "closing[Generator[Row, None, None]]":
    """Rows one after another. PostgreSQL reads through a cursor, which must not stay open if one is wrong."""
    return closing(cast("Generator[Row, None, None]", rows.iterator()))  # type: ignore[attr-defined]  # a queryset
