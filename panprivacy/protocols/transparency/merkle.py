"""Merkle trees over a list that only grows (RFC 6962, section 2.1; verification as in RFC 9162).

A tree of any size is made of *complete* subtrees: node (level, index) is the hash over the entries from
index·2^level on, 2^level of them. A store of those can compute every root and every proof.
"""

import hashlib
from collections.abc import Callable, Sequence

HASH_BYTES = 32
MOST_PROOF_HASHES = 63
"""Of a proof in a tree of fewer than 2^63 entries."""

EMPTY_ROOT = hashlib.sha256(b"").digest()
"""Of the tree without entries."""

Nodes = Callable[[int, int], bytes]
"""Node (level, index) of a complete subtree, 32 bytes."""


class ProofError(ValueError):
    """A proof that does not hold; the message has the reason."""


def leaf_hash(entry: bytes) -> bytes:
    """Hash of an entry: SHA-256(0x00 ‖ entry)."""
    return hashlib.sha256(b"\0" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash of two subtrees: SHA-256(0x01 ‖ left ‖ right)."""
    return hashlib.sha256(b"\1" + left + right).digest()


def root(nodes: Nodes, size: int) -> bytes:
    """Root of the tree over the first `size` entries; asks for about log2(size) nodes."""
    return _range_hash(nodes, 0, size) if size else EMPTY_ROOT


def inclusion_proof(nodes: Nodes, index: int, size: int) -> list[bytes]:
    """Path from entry `index` up to the root of the tree of `size` entries (RFC 6962, section 2.1.1).

    The leaf's sibling comes first, the root's child last.

    Raises:
        ValueError: there is no such entry.
    """
    if not 0 <= index < size:
        raise ValueError(f"index must be 0 to {size - 1}, not {index}")
    path, start, end = [], 0, size
    while end - start > 1:
        middle = start + _largest_power_below(end - start)
        if index < middle:
            path.append(_range_hash(nodes, middle, end))
            end = middle
        else:
            path.append(_range_hash(nodes, start, middle))
            start = middle
    return path[::-1]


def consistency_proof(nodes: Nodes, old: int, new: int) -> list[bytes]:
    """Proof that the tree of `new` entries begins with that of `old` (RFC 6962, section 2.1.2).

    Empty if `old` is 0 or `new`.

    Raises:
        ValueError: not 0 <= old <= new.
    """
    if not 0 <= old <= new:
        raise ValueError(f"old size must be 0 to {new}, not {old}")
    if old in (0, new):
        return []
    path, start, end, is_known = [], 0, new, True
    # While the old tree is not a whole subtree of the new one, follow the side that contains its end.
    while old != end:
        middle = start + _largest_power_below(end - start)
        if old <= middle:
            path.append(_range_hash(nodes, middle, end))
            end = middle
        else:
            path.append(_range_hash(nodes, start, middle))
            start, is_known = middle, False
    if not is_known:
        path.append(_range_hash(nodes, start, end))
    return path[::-1]


def verify_inclusion(*, leaf: bytes, index: int, size: int, proof: Sequence[bytes], root_hash: bytes) -> None:
    """Check that `leaf` (a hash) is entry `index` of the tree with this root (RFC 9162, section 2.1.3.2).

    Raises:
        ProofError: it is not, or the proof is of another length.
    """
    if not 0 <= index < size:
        raise ProofError(f"index {index} lies outside of a tree of {size} entries")
    _require_hashes(leaf, root_hash, *proof)
    place, last, found = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            raise ProofError("the proof is too long")
        if place & 1 or place == last:
            found = node_hash(sibling, found)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            found = node_hash(found, sibling)
        place, last = place >> 1, last >> 1
    if last:
        raise ProofError("the proof is too short")
    if found != root_hash:
        raise ProofError("the proof leads to another root")


def verify_consistency(
    *, old: int, new: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]
) -> None:
    """Check that the tree with `new_root` begins with that of `old_root` (RFC 9162, section 2.1.4.2).

    Every tree begins with the empty one, so `old_root` is ignored if `old` is 0.

    Raises:
        ProofError: it does not, or the proof is of another length.
    """
    if not 0 <= old <= new:
        raise ProofError(f"a tree of {new} entries cannot continue one of {old}")
    _require_hashes(new_root, *proof)
    if old in (0, new):
        if proof:
            raise ProofError("the proof must be empty")
        if old and old_root != new_root:
            raise ProofError("two trees of one size differ")
        return
    _require_hashes(old_root)
    # A whole subtree is known by its hash already: the proof leaves it out.
    hashes = list(proof) if old & (old - 1) else [old_root, *proof]
    if not hashes:
        raise ProofError("the proof is too short")
    place, last = old - 1, new - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    old_found = new_found = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            raise ProofError("the proof is too long")
        if place & 1 or place == last:
            old_found, new_found = node_hash(sibling, old_found), node_hash(sibling, new_found)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            new_found = node_hash(new_found, sibling)
        place, last = place >> 1, last >> 1
    if last:
        raise ProofError("the proof is too short")
    if old_found != old_root:
        raise ProofError("the proof leads to another old root")
    if new_found != new_root:
        raise ProofError("the proof leads to another new root")


def _range_hash(nodes: Nodes, start: int, end: int) -> bytes:
    """Hash over the entries from `start` to `end`, a range that RFC 6962 splits trees into."""
    size = end - start
    if size & (size - 1) == 0:
        level = size.bit_length() - 1
        return nodes(level, start >> level)
    middle = start + _largest_power_below(size)
    return node_hash(_range_hash(nodes, start, middle), _range_hash(nodes, middle, end))


def _largest_power_below(size: int) -> int:
    return 1 << ((size - 1).bit_length() - 1)


def _require_hashes(*hashes: bytes) -> None:
    if len(hashes) > MOST_PROOF_HASHES + 2:
        raise ProofError(f"a proof has at most {MOST_PROOF_HASHES} hashes")
    if any(len(found) != HASH_BYTES for found in hashes):
        raise ProofError(f"hashes must have {HASH_BYTES} bytes")
