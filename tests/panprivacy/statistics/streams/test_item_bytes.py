"""Items as bytes: the UTF-8 of the text as it is, of limited length."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panprivacy.statistics.streams.item_bytes import ITEM_LENGTH, ItemError, encode_items


@settings(max_examples=40)
@given(st.lists(st.text(min_size=1, max_size=20), max_size=8))
def test_encode_items_joins_the_utf8_of_each(items):
    encoded = encode_items(items)
    assert encoded.joined == "".join(items).encode()
    assert encoded.lengths.tolist() == [len(item.encode()) for item in items]


def test_encode_items_leaves_text_unnormalized():
    assert encode_items(["é", "e\u0301"]).lengths.tolist() == [2, 3]


@pytest.mark.parametrize("character", ["a", "é", "🛩"])
def test_encode_items_of_the_greatest_length_is_taken_and_one_more_refused(character):
    item = character * ITEM_LENGTH
    assert encode_items([item]).lengths.tolist() == [len(item.encode())]
    with pytest.raises(ItemError, match="a text of 1 to 200 characters") as caught:
        encode_items(["b", "c", item + "a"])
    assert caught.value.index == 2


def test_encode_items_with_an_empty_one_names_it():
    with pytest.raises(ItemError, match=r"^item 1: must be a text of 1 to 200 characters"):
        encode_items(["a", "", "b"])


@pytest.mark.parametrize("items", [["a", "b\ud800"], ["ä", "\udfffb"]])
def test_encode_items_with_a_surrogate_names_the_item_only(items):
    with pytest.raises(ItemError, match=r"^item 1: must be text that UTF-8 can encode") as caught:
        encode_items(items)
    assert caught.value.index == 1
    assert "b" not in caught.value.message.replace("be", "")


def test_encode_items_of_something_else_than_text_is_refused():
    with pytest.raises(TypeError):
        encode_items(["a", 1])
