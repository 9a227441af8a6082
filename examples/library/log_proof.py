"""A public log proves that an entry is in it, and that it only grew (RFC 6962)."""

from panprivacy.protocols.transparency import merkle

entries = [f"entry {number}".encode() for number in range(7)]


def node(level: int, index: int) -> bytes:
    """The hash over 2^level entries; a real log stores these."""
    if level == 0:
        return merkle.leaf_hash(entries[index])
    return merkle.node_hash(node(level - 1, 2 * index), node(level - 1, 2 * index + 1))


root = merkle.root(node, 7)
merkle.verify_inclusion(
    leaf=merkle.leaf_hash(b"entry 4"),
    index=4,
    size=7,
    proof=merkle.inclusion_proof(node, 4, 7),
    root_hash=root,
)
merkle.verify_consistency(
    old=3, old_root=merkle.root(node, 3), new=7, new_root=root, proof=merkle.consistency_proof(node, 3, 7)
)
print("entry 4 is in the tree of 7 entries, which begins with that of 3")
