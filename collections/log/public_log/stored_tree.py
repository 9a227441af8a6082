"""The tree as the database holds it: leaves, and the hashes above them."""

from log.public_log.models import Leaf, Tile
from panprivacy.protocols.transparency import tiles
from panprivacy.protocols.transparency.merkle import HASH_BYTES, Nodes, leaf_hash
from panprivacy.protocols.transparency.tiles import WIDTH


def nodes(size: int) -> Nodes:
    """The nodes of the stored tree, as of `size` leaves; each tile is read at most once."""
    return tiles.nodes_of(tile_content, size)


def tile_content(tile: tiles.Tile) -> bytes:
    """The hashes of a tile, `tile.width` of them; fewer, or none, if the tree has no more.

    Those of leaves are computed: to store them, too, would take 32 bytes for each, and could contradict it.
    """
    if tile.level == 0:
        return b"".join(leaf_hash(content) for content in leaf_contents(tile.index * WIDTH, tile.width))
    found = Tile.objects.filter(level=tile.level, index=tile.index).values_list("hashes", flat=True).first()
    return b"" if found is None else bytes(found)[: tile.width * HASH_BYTES]


def leaf_contents(first: int, number: int) -> list[bytes]:
    """Leaves from position `first` on; fewer than `number` if the tree has fewer."""
    rows = Leaf.objects.filter(position__gte=first, position__lt=first + number).order_by("position")
    return [content.encode() for content in rows.values_list("content", flat=True)]
