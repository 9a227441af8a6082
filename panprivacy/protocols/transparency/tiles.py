"""How a tree is stored and served: tiles of 256 hashes, which never change once full (C2SP, tlog-tiles).

Tile (level, index) holds nodes (8·level, 256·index) to (8·level, 256·index + 255) of the tree. The last tile
of a level may be partial: it holds the first `width` of them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from panprivacy.protocols.transparency.merkle import HASH_BYTES, Nodes

HEIGHT = 8
WIDTH = 1 << HEIGHT
MOST_LEVELS = 8
"""Of a tree of fewer than 2^63 entries."""

LONGEST_ENTRY = 2**16 - 1
"""Bytes of an entry."""

_NUMBER = re.compile(r"(?:x[0-9]{3}/){0,6}[0-9]{3}")
_MOST_DIGITS = 21
_PAIR = 2 * HASH_BYTES


class TileError(ValueError):
    """A tile's address or content that is not what it must be."""


@dataclass(frozen=True, order=True)
class Tile:
    """Which hashes a tile has.

    Attributes:
        level: 0 for the hashes of entries; one of its nodes covers 256^level entries.
        index: from 0.
        width: 1 to 256 hashes.
    """

    level: int
    index: int
    width: int = WIDTH

    def __post_init__(self) -> None:
        if not (0 <= self.level < MOST_LEVELS and self.index >= 0 and 1 <= self.width <= WIDTH):
            raise TileError(f"there is no such tile: {self.level}, {self.index}, {self.width}")

    @property
    def path(self) -> str:
        """Its address below the log's: `tile/0/x001/234.p/5`."""
        return f"tile/{self.level}/{index_path(self.index)}{width_suffix(self.width)}"


def entries_path(index: int, width: int = WIDTH) -> str:
    """Address of a bundle of entries below the log's: `tile/entries/x001/234.p/5`."""
    return f"tile/entries/{index_path(index)}{width_suffix(width)}"


def index_path(index: int) -> str:
    """A number in groups of three digits, all but the last behind an x: 1234067 is `x001/x234/067`."""
    digits = str(index)
    digits = digits.rjust(-(-len(digits) // 3) * 3, "0")
    groups = [digits[start : start + 3] for start in range(0, len(digits), 3)]
    return "/".join([*(f"x{group}" for group in groups[:-1]), groups[-1]])


def parse_index_path(path: str) -> int:
    """Inverse of `index_path`; TileError for any other spelling."""
    if len(path) <= _MOST_DIGITS * 2 and _NUMBER.fullmatch(path):
        index = int(path.replace("x", "").replace("/", ""))
        if index_path(index) == path:
            return index
    raise TileError("a tile's number must be in groups of three digits: x001/x234/067")


def width_suffix(width: int) -> str:
    """What follows a partial tile's address; nothing for a full one."""
    return "" if width == WIDTH else f".p/{width}"


def tiles_of(size: int) -> Iterator[Tile]:
    """Every tile of a tree, level by level; the last of a level may be partial."""
    return new_tiles(0, size)


def new_tiles(old: int, new: int) -> Iterator[Tile]:
    """The tiles that a tree of `new` entries has, and one of `old` has not or has with fewer hashes."""
    for level in range(MOST_LEVELS):
        before, now = old >> HEIGHT * level, new >> HEIGHT * level
        if not now:
            return
        if before != now:
            for index in range(before >> HEIGHT, -(-now >> HEIGHT)):
                yield Tile(level, index, min(WIDTH, now - (index << HEIGHT)))


def nodes_of(read: Callable[[Tile], bytes], size: int) -> Nodes:
    """The nodes of a stored tree of `size` entries, each tile read at most once.

    Args:
        read: content of a tile: `32·width` bytes.

    The function that is returned raises TileError for a node that the tree has not, or a tile of another
    length.
    """

    @lru_cache(maxsize=64)
    def tile(level: int, index: int) -> bytes:
        width = min(WIDTH, (size >> HEIGHT * level) - (index << HEIGHT))
        wanted = Tile(level, index, width)
        content = read(wanted)
        if len(content) != width * HASH_BYTES:
            raise TileError(f"{wanted.path} must have {width * HASH_BYTES} bytes, not {len(content)}")
        return content

    def node(level: int, index: int) -> bytes:
        above, within = divmod(level, HEIGHT)
        first = index << within
        content = tile(above, first >> HEIGHT)
        place = first % WIDTH
        if place + (1 << within) > len(content) // HASH_BYTES:
            raise TileError(f"a tree of {size} entries has no node {index} at level {level}")
        return subtree_hash(content[place * HASH_BYTES : (place + (1 << within)) * HASH_BYTES])

    return node


def tile_content(nodes: Nodes, tile: Tile) -> bytes:
    """The hashes of a tile, one after another."""
    level, first = HEIGHT * tile.level, tile.index << HEIGHT
    return b"".join(nodes(level, first + place) for place in range(tile.width))


def subtree_hash(hashes: bytes) -> bytes:
    """Root over 2^n hashes of one level, which stand one after another."""
    while len(hashes) > HASH_BYTES:
        # As `node_hash`: two that are side by side need not be taken apart.
        hashes = b"".join(
            sha256(b"\1" + hashes[place : place + _PAIR]).digest() for place in range(0, len(hashes), _PAIR)
        )
    return hashes


def encode_bundle(entries: Sequence[bytes]) -> bytes:
    """Entries, each behind its length in two bytes. Raises TileError for one that is too long."""
    if any(len(entry) > LONGEST_ENTRY for entry in entries):
        raise TileError(f"an entry must have at most {LONGEST_ENTRY} bytes")
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)


def decode_bundle(content: bytes) -> list[bytes]:
    """Inverse of `encode_bundle`; TileError if it is cut short."""
    entries, position = [], 0
    while position < len(content):
        end = position + 2 + int.from_bytes(content[position : position + 2], "big")
        if position + 2 > len(content) or end > len(content):
            raise TileError("the bundle of entries is cut short")
        entries.append(content[position + 2 : end])
        position = end
    return entries
