"""Tiles: their addresses, which there are, and that a tree of tiles is the tree."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panprivacy.protocols.transparency.merkle import consistency_proof, inclusion_proof, root
from panprivacy.protocols.transparency.tiles import (
    LONGEST_ENTRY,
    WIDTH,
    Tile,
    TileError,
    decode_bundle,
    encode_bundle,
    entries_path,
    index_path,
    new_tiles,
    nodes_of,
    parse_index_path,
    tile_content,
    tiles_of,
)
from tests.panprivacy.protocols.transparency.trees import nodes_in_memory


def test_addresses_are_those_of_the_specification() -> None:
    assert index_path(1_234_067) == "x001/x234/067"
    assert Tile(0, 0).path == "tile/0/000"
    assert Tile(2, 1_234, 17).path == "tile/2/x001/234.p/17"
    assert entries_path(5, 1) == "tile/entries/005.p/1"


@given(st.integers(0, 2**63))
def test_a_number_of_a_tile_has_one_address(index: int) -> None:
    assert parse_index_path(index_path(index)) == index


@pytest.mark.parametrize(
    "path",
    ["", "1", "01", "0001", "x000/001", "x001", "001/002", "x1/234", "x001/x234", "-01", "٠٠١", "001\n"],
)
def test_other_addresses_are_refused(path: str) -> None:
    with pytest.raises(TileError):
        parse_index_path(path)


def test_a_tree_of_70000_entries_has_the_tiles_of_the_specification() -> None:
    tiles = list(tiles_of(70_000))
    assert [tile for tile in tiles if tile.width < WIDTH] == [
        Tile(0, 273, 112),
        Tile(1, 1, 17),
        Tile(2, 0, 1),
    ]
    assert sum(tile.level == 0 and tile.width == WIDTH for tile in tiles) == 273
    assert list(tiles_of(256)) == [Tile(0, 0), Tile(1, 0, 1)]
    assert list(tiles_of(0)) == []


@given(old=st.integers(0, 140_000), grown=st.integers(0, 70_000))
def test_what_a_grown_tree_has_more_is_exactly_its_new_tiles(old: int, grown: int) -> None:
    new = set(new_tiles(old, old + grown))
    assert new == set(tiles_of(old + grown)) - set(tiles_of(old))


def test_a_tree_of_tiles_has_the_roots_and_proofs_of_the_tree() -> None:
    size = 70_000
    nodes = nodes_in_memory([number.to_bytes(3, "big") for number in range(size)])
    draw = random.Random(1)
    for part in (1, 255, 256, 257, 65_536, 65_537, size):
        stored = {tile: tile_content(nodes, tile) for tile in tiles_of(part)}
        read = nodes_of(stored.__getitem__, part)
        assert root(read, part) == root(nodes, part)
        index, old = draw.randrange(part), draw.randrange(part + 1)
        assert inclusion_proof(read, index, part) == inclusion_proof(nodes, index, part)
        assert consistency_proof(read, old, part) == consistency_proof(nodes, old, part)


def test_a_tile_of_another_length_is_refused() -> None:
    with pytest.raises(TileError, match=r"tile/0/000\.p/2 must have 64 bytes, not 32"):
        nodes_of(lambda _: bytes(32), 2)(0, 0)


@pytest.mark.parametrize(("level", "index"), [(0, 3), (1, 1), (2, 0), (9, 0)])
def test_a_node_that_the_tree_has_not_is_refused(level: int, index: int) -> None:
    with pytest.raises(TileError):
        nodes_of(lambda tile: bytes(32 * tile.width), 3)(level, index)


@given(st.lists(st.binary(max_size=300), max_size=20))
def test_a_bundle_is_read_as_it_was_written(entries: list[bytes]) -> None:
    assert decode_bundle(encode_bundle(entries)) == entries


def test_a_bundle_that_is_cut_short_or_has_too_long_an_entry_is_refused() -> None:
    for cut in (b"\0", b"\0\1", b"\0\1a\0"):
        with pytest.raises(TileError, match="cut short"):
            decode_bundle(cut)
    assert decode_bundle(encode_bundle([bytes(LONGEST_ENTRY)])) == [bytes(LONGEST_ENTRY)]
    with pytest.raises(TileError):
        encode_bundle([bytes(LONGEST_ENTRY + 1)])
