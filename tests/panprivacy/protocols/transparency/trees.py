"""Trees in memory, and what RFC 6962 says of them word for word."""

import hashlib
from collections.abc import Sequence

from panprivacy.protocols.transparency.merkle import Nodes, leaf_hash, node_hash

ENTRIES = [
    b"",
    b"\x00",
    b"\x10",
    b"\x20\x21",
    b"\x30\x31",
    b"\x40\x41\x42\x43",
    b"\x50\x51\x52\x53\x54\x55\x56\x57",
    b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
]
"""Of the tree that Certificate Transparency's implementations are tested with."""


def split(size: int) -> int:
    """The largest power of two below `size`."""
    power = 1
    while power * 2 < size:
        power *= 2
    return power


def slow_root(entries: Sequence[bytes]) -> bytes:
    """MTH of section 2.1."""
    if not entries:
        return hashlib.sha256(b"").digest()
    if len(entries) == 1:
        return leaf_hash(entries[0])
    middle = split(len(entries))
    return node_hash(slow_root(entries[:middle]), slow_root(entries[middle:]))


def slow_path(index: int, entries: Sequence[bytes]) -> list[bytes]:
    """PATH of section 2.1.1."""
    if len(entries) == 1:
        return []
    middle = split(len(entries))
    if index < middle:
        return [*slow_path(index, entries[:middle]), slow_root(entries[middle:])]
    return [*slow_path(index - middle, entries[middle:]), slow_root(entries[:middle])]


def slow_proof(old: int, entries: Sequence[bytes], is_known: bool = True) -> list[bytes]:
    """SUBPROOF of section 2.1.2."""
    if old == len(entries):
        return [] if is_known else [slow_root(entries)]
    middle = split(len(entries))
    if old <= middle:
        return [*slow_proof(old, entries[:middle], is_known), slow_root(entries[middle:])]
    return [*slow_proof(old - middle, entries[middle:], False), slow_root(entries[:middle])]


def nodes_in_memory(entries: Sequence[bytes]) -> Nodes:
    """Complete subtrees of a list, each computed once."""
    levels = [[leaf_hash(entry) for entry in entries]]
    while len(levels[-1]) > 1:
        below = levels[-1]
        levels.append([node_hash(*below[place : place + 2]) for place in range(0, len(below) - 1, 2)])
    return lambda level, index: levels[level][index]
