"""SipHash-2-4: the vectors of its authors, and many strings at once against the definition."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panprivacy.statistics.streams import siphash as module
from panprivacy.statistics.streams.item_bytes import ItemBytes
from panprivacy.statistics.streams.siphash import siphash_items
from tests.panprivacy.statistics.streams.siphash_by_definition import siphash

KEY = bytes(range(16))
VECTORS = {
    0: "310e0edd47db6f72",
    1: "fd67dc93c539f874",
    2: "5a4fa9d909806c0d",
    3: "2d7efbd796666785",
    4: "b7877127e09427cf",
    5: "8da699cd64557618",
    6: "cee3fe586e46c9cb",
    7: "37d1018bf50002ab",
    8: "6224939a79f5f593",
    15: "e545be4961ca29a1",
    63: "724506eb4c328a95",
}
"""Length n → hash of the bytes 0, 1, …, n − 1 under KEY, little-endian (vectors.h of the reference code)."""


def encode_items(items):
    """Also what no item may be: the algorithm has no such limits."""
    encoded = [item.encode() for item in items]
    return ItemBytes(b"".join(encoded), np.array([len(one) for one in encoded], dtype=np.int64))


def definition(key, items):
    return [siphash(key, item.encode()) for item in items]


@pytest.mark.parametrize("length", VECTORS)
def test_siphash_of_the_reference_vectors_is_theirs(length):
    expected = int.from_bytes(bytes.fromhex(VECTORS[length]), "little")
    assert siphash(KEY, bytes(range(length))) == expected
    (hashed,) = siphash_items(KEY, encode_items([bytes(range(length)).decode("ascii")]))
    assert hashed == expected


@settings(max_examples=40)
@given(st.binary(min_size=16, max_size=16), st.lists(st.text(max_size=40), max_size=8))
def test_siphash_of_many_items_is_that_of_each(key, items):
    assert siphash_items(key, encode_items(items)).tolist() == definition(key, items)


def test_siphash_of_more_items_than_a_block_is_that_of_each():
    source = random.Random(4)
    items = ["x" * source.randrange(40) + str(source.random()) for _ in range(module.BLOCK + 50)]
    hashed = siphash_items(KEY, encode_items(items))
    for part in (slice(0, 200), slice(-200, None)):
        assert hashed[part].tolist() == definition(KEY, items[part])


@pytest.mark.parametrize("length", [255, 256, 257, 999, 1000])
def test_siphash_of_a_long_item_among_short_ones_is_that_of_each(length):
    items = ["a", "b" * length, "", "é" * 9]
    assert siphash_items(KEY, encode_items(items)).tolist() == definition(KEY, items)


@pytest.mark.parametrize("length", [0, 15, 17])
def test_key_of_another_length_is_refused(length):
    with pytest.raises(ValueError, match="16 bytes"):
        siphash_items(bytes(length), encode_items(["a"]))
