"""Trees and proofs against RFC 6962's recursive definitions, and everything that must not pass."""

from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panprivacy.protocols.transparency.merkle import (
    EMPTY_ROOT,
    ProofError,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    root,
    verify_consistency,
    verify_inclusion,
)
from tests.panprivacy.protocols.transparency.trees import (
    ENTRIES,
    nodes_in_memory,
    slow_path,
    slow_proof,
    slow_root,
)

SIZES = range(1, 34)
NUMBERS = [str(number).encode() for number in range(SIZES[-1])]


def test_roots_of_the_known_tree_are_the_published_ones() -> None:
    nodes = nodes_in_memory(ENTRIES)
    assert root(nodes, 0).hex()[:8] == "e3b0c442"
    assert root(nodes, 1).hex()[:8] == "6e340b9c"
    assert root(nodes, 8).hex() == "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"


@pytest.mark.parametrize("size", SIZES)
def test_every_proof_is_the_one_that_the_definition_gives_and_holds(size: int) -> None:
    entries = NUMBERS[:size]
    nodes, found = nodes_in_memory(entries), slow_root(entries)
    assert root(nodes, size) == found
    for index, entry in enumerate(entries):
        path = inclusion_proof(nodes, index, size)
        assert path == slow_path(index, entries)
        verify_inclusion(leaf=leaf_hash(entry), index=index, size=size, proof=path, root_hash=found)
    for old in range(1, size + 1):
        proof = consistency_proof(nodes, old, size)
        assert proof == slow_proof(old, entries)
        verify_consistency(old=old, new=size, old_root=slow_root(entries[:old]), new_root=found, proof=proof)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 13])
def test_an_inclusion_proof_holds_for_its_own_place_only(size: int) -> None:
    nodes, found = nodes_in_memory(NUMBERS[:size]), slow_root(NUMBERS[:size])
    for index in range(size):
        path = inclusion_proof(nodes, index, size)
        for other_size in range(size + 3):
            for other in range(other_size):
                if (other, other_size) != (index, size):
                    with pytest.raises(ProofError):
                        verify_inclusion(
                            leaf=leaf_hash(NUMBERS[index]),
                            index=other,
                            size=other_size,
                            proof=path,
                            root_hash=slow_root(NUMBERS[:other_size]),
                        )
        assert root(nodes, size) == found


@given(old=st.integers(1, 33), grown=st.integers(1, 33), place=st.integers(0, 10), bit=st.integers(0, 255))
def test_a_consistency_proof_with_one_bit_changed_fails(old: int, grown: int, place: int, bit: int) -> None:
    new = min(old + grown, len(NUMBERS))
    if old == new:
        return
    proof = consistency_proof(nodes_in_memory(NUMBERS[:new]), old, new)
    roots = {"old_root": slow_root(NUMBERS[:old]), "new_root": slow_root(NUMBERS[:new])}
    changed = bytearray(proof[place % len(proof)])
    changed[bit // 8] ^= 1 << bit % 8
    proof[place % len(proof)] = bytes(changed)
    with pytest.raises(ProofError):
        verify_consistency(old=old, new=new, proof=proof, **roots)


@pytest.mark.parametrize("old", range(1, 13))
def test_a_consistency_proof_that_is_longer_or_shorter_fails(old: int) -> None:
    nodes = nodes_in_memory(NUMBERS[:13])
    proof = consistency_proof(nodes, old, 13)
    roots = {"old_root": slow_root(NUMBERS[:old]), "new_root": slow_root(NUMBERS[:13])}
    for wrong in (proof[:-1], proof[1:], [*proof, proof[-1]], [proof[0], *proof], []):
        with pytest.raises(ProofError):
            verify_consistency(old=old, new=13, proof=wrong, **roots)


FIRST, SECOND = slow_root([b"a"]), slow_root([b"b"])


@pytest.mark.parametrize(
    ("old", "new", "old_root", "new_root", "proof", "refusal"),
    [
        (1, 1, FIRST, FIRST, [], None),
        (1, 1, FIRST, SECOND, [], "two trees of one size differ"),
        (0, 1, EMPTY_ROOT, FIRST, [], None),
        (0, 2, EMPTY_ROOT, EMPTY_ROOT, [EMPTY_ROOT], "must be empty"),
        (2, 1, EMPTY_ROOT, EMPTY_ROOT, [], "cannot continue"),
        (-1, 1, EMPTY_ROOT, EMPTY_ROOT, [], "cannot continue"),
    ],
)
def test_trees_without_a_proof_are_one_or_begin_or_contradict(old, new, old_root, new_root, proof, refusal):
    expected = nullcontext() if refusal is None else pytest.raises(ProofError, match=refusal)
    with expected:
        verify_consistency(old=old, new=new, old_root=old_root, new_root=new_root, proof=proof)


@pytest.mark.parametrize("proof", [[b"short"], [b""], [EMPTY_ROOT] * 66])
def test_hashes_of_another_length_and_endless_proofs_fail(proof: list[bytes]) -> None:
    with pytest.raises(ProofError):
        verify_inclusion(leaf=EMPTY_ROOT, index=0, size=2**63 - 1, proof=proof, root_hash=EMPTY_ROOT)


@pytest.mark.parametrize("index", [-1, 3])
def test_a_proof_of_no_entry_cannot_be_made(index: int) -> None:
    with pytest.raises(ValueError, match="index must be 0 to 2"):
        inclusion_proof(nodes_in_memory(NUMBERS[:3]), index, 3)
    with pytest.raises(ProofError, match="outside"):
        verify_inclusion(leaf=EMPTY_ROOT, index=index, size=3, proof=[], root_hash=EMPTY_ROOT)
