"""The tree grows: every entry of the audit log gets its leaf, and the new state is signed.

Entries are numbered without gaps, and none is visible until all that precede it are. So a leaf's place is its
entry's, and a process that dies leaves the tree as it was or as it should be.
"""

from collections.abc import Sequence

from django.conf import settings
from django.db import transaction

from log.audit.models import Entry, Head
from log.public_log.leaves import leaf_content
from log.public_log.lost_states import lost_state
from log.public_log.models import Leaf, SignedCheckpoint, Tile, Tree
from log.public_log.own_keys import key_enter, key_is_new, own_key, own_keys
from log.public_log.stored_tree import nodes, tile_content
from panprivacy.protocols.transparency import checkpoint as checkpoints
from panprivacy.protocols.transparency import signed_note, tiles
from panprivacy.protocols.transparency.checkpoint import Checkpoint
from panprivacy.protocols.transparency.merkle import HASH_BYTES, leaf_hash, root
from panprivacy.protocols.transparency.signed_note import Note
from panprivacy.protocols.transparency.tiles import HEIGHT, WIDTH, subtree_hash
from storage.signing_key import signing_key

ENTRIES_AT_ONCE = 1_000


def integrate() -> int:
    """Give every entry its leaf; the size of the tree. Safe to run at any time, even twice.

    If entries were lost, nothing is done (`lost_states`).

    Raises OperationalError if the database is busy: nothing was changed, or the tree grew by whole steps.
    """
    while not _is_complete():
        _integrate_some()
    tree = Tree.objects.first()
    return 0 if tree is None else tree.size


def _is_complete() -> bool:
    """Checks before locking: usually there is nothing new."""
    tree = Tree.objects.first()
    if tree is None:
        return False
    return (tree.size >= Head.objects.get().index and not key_is_new(tree)) or lost_state() is not None


@transaction.atomic
def _integrate_some() -> None:
    tree = Tree.objects.select_for_update().first()
    if tree is None:
        # An empty log is signed, too. A process that begins at the same moment waits, and then finds the row.
        begun = {"origin": settings.LOG_ORIGIN, "key": own_key()}
        tree, is_new = Tree.objects.get_or_create(pk=1, defaults=begun)
        if is_new:
            _sign(tree)
            return
        tree = Tree.objects.select_for_update().get()
    if lost_state() is not None:
        return
    if key_is_new(tree):
        key_enter(tree)
    entries = list(Entry.objects.filter(index__gt=tree.size).order_by("index")[:ENTRIES_AT_ONCE])
    if not entries:
        return
    leaves = [Leaf(position=entry.index - 1, content=leaf_content(entry)) for entry in entries]
    Leaf.objects.bulk_create(leaves)
    hashes_append([leaf_hash(leaf.content.encode()) for leaf in leaves], tree.size)
    tree.size, tree.key = tree.size + len(leaves), own_key()
    tree.save(update_fields=["size", "key"])
    _sign(tree)


def hashes_append(hashes: Sequence[bytes], size: int) -> None:
    """Store the hashes of tiles that become full when these leaves come behind the `size` that are there.

    Args:
        hashes: of leaves that are stored; their own are not kept (`stored_tree`).
    """
    level = 0
    while hashes:
        place, full = size >> HEIGHT * level, []
        while hashes:
            index, within = divmod(place, WIDTH)
            part, hashes = hashes[: WIDTH - within], hashes[WIDTH - within :]
            added, place = b"".join(part), place + len(part)
            if level:
                _tile_extend(level, index, within, added)
            if place % WIDTH == 0:
                before = tile_content(tiles.Tile(level, index, within)) if within else b""
                full.append(subtree_hash(before + added))
        level, hashes = level + 1, full


def _tile_extend(level: int, index: int, within: int, added: bytes) -> None:
    if not within:
        Tile.objects.create(level=level, index=index, hashes=added)
        return
    tile = Tile.objects.get(level=level, index=index)
    tile.hashes = bytes(tile.hashes)[: within * HASH_BYTES] + added
    tile.save(update_fields=["hashes"])


def _sign(tree: Tree) -> None:
    checkpoint = Checkpoint(tree.origin, tree.size, root(nodes(tree.size), tree.size))
    signature = signed_note.sign(checkpoint.text, tree.origin, signing_key())
    note = Note(checkpoint.text, (signature,)).encode()
    # What cannot be read back is not stored: otherwise the log could not be verified any more.
    checkpoints.opened(note, own_keys(tree.origin))
    SignedCheckpoint.objects.create(size=tree.size, note=note.decode())
