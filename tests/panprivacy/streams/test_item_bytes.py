"""Items as bytes: the UTF-8 of the text as it is, of limited length."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panprivacy.streams.item_bytes import MAX_ITEM_BYTES, ItemError, encode_items


@settings(max_examples=40)
@given(st.lists(st.text(max_size=20), max_size=8))
def test_encode_items_joins_the_utf8_of_each(items):
    encoded = encode_items(items)
    assert encoded.joined == "".join(items).encode()
    assert encoded.lengths.tolist() == [len(item.encode()) for item in items]


def test_encode_items_leaves_text_unnormalized():
    assert encode_items(["é", "e\u0301"]).lengths.tolist() == [2, 3]


@pytest.mark.parametrize("item", ["a" * MAX_ITEM_BYTES, "é" * (MAX_ITEM_BYTES // 2)])
def test_encode_items_of_the_greatest_length_is_taken_and_one_byte_more_refused(item):
    assert encode_items([item]).lengths.tolist() == [MAX_ITEM_BYTES]
    with pytest.raises(ItemError, match="at most 1,000 bytes in UTF-8, not 1,001") as caught:
        encode_items(["b", "c", item + "a"])
    assert caught.value.index == 2


@pytest.mark.parametrize("items", [["a", "b\ud800"], ["ä", "\udfffb"]])
def test_encode_items_with_a_surrogate_names_the_item_and_does_not_repeat_it(items):
    with pytest.raises(ItemError, match=r"^item 1: must be text that UTF-8 can encode") as caught:
        encode_items(items)
    assert caught.value.index == 1
    assert "b" not in caught.value.message.replace("be", "")


def test_encode_items_of_something_else_than_text_is_refused():
    with pytest.raises(TypeError):
        encode_items(["a", 1])
