"""Bytes as text: what is written, and every way to misspell it."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panprivacy.formats.base64_text import Base64Error, decode, decode_url, encode, encode_url, encoded_length


@pytest.mark.parametrize(
    ("value", "text"),
    # RFC 4648, section 10.
    [
        (b"", ""),
        (b"f", "Zg=="),
        (b"fo", "Zm8="),
        (b"foo", "Zm9v"),
        (b"foob", "Zm9vYg=="),
        (b"fooba", "Zm9vYmE="),
        (b"foobar", "Zm9vYmFy"),
    ],
)
def test_encode_of_the_vectors_of_the_rfc_gives_their_texts(value, text):
    assert encode(value) == text
    assert encode_url(value) == text.rstrip("=")


def test_alphabets_differ_in_the_last_two_characters():
    assert (encode(b"\xfb\xff"), encode_url(b"\xfb\xff")) == ("+/8=", "-_8")


@given(value=st.binary(max_size=70))
def test_decode_of_an_encoding_returns_the_bytes(value):
    assert decode(encode(value)) == decode(encode(value), len(value)) == value
    assert decode_url(encode_url(value)) == decode_url(encode_url(value), len(value)) == value
    assert len(encode(value)) == encoded_length(len(value))


NOT_TEXT = [None, 3, b"Zm9v", ["Zm9v"]]
MALFORMED = [
    "Z",  # no whole byte
    "Zg===",  # too much padding
    "=",
    "Zm9v\n",
    " Zm9v",
    "Zm 9v",
    "Zm9v!",
    "Zg==Zg==",  # two texts
    "Zm9é",
    "Zm9v\x00",
]


@pytest.mark.parametrize("text", [*NOT_TEXT, *MALFORMED, "Zg", "Zg=", "Zm8", "-_8="])
def test_decode_of_anything_else_says_what_it_must_be(text):
    with pytest.raises(Base64Error, match=r"^must be base64$"):
        decode(text)
    with pytest.raises(Base64Error, match=r"^must be 1 bytes in base64$"):
        decode(text, 1)


def test_decode_ignores_bits_that_no_byte_uses():
    assert decode("Zh==") == decode("Zg==") == b"f"


@pytest.mark.parametrize("text", [*NOT_TEXT, *MALFORMED, "Zg==", "Zm8=", "+/8", "Zh", "Zm9"])
def test_decode_url_of_anything_but_the_one_spelling_says_what_it_must_be(text):
    with pytest.raises(Base64Error, match=r"^must be base64url without padding$"):
        decode_url(text)


@given(text=st.text(alphabet=st.sampled_from("AQgwZ-_+/= \n"), max_size=9))
def test_decode_url_takes_no_two_texts_for_the_same_bytes(text):
    try:
        value = decode_url(text)
    except Base64Error:
        return
    assert encode_url(value) == text


@given(text=st.text(alphabet=st.sampled_from("AQgwZ-_+/= \n"), max_size=9))
def test_decode_takes_what_the_standard_library_takes_and_nothing_else(text):
    """Stored documents and peers hold what was accepted so far."""
    try:
        expected = base64.b64decode(text, validate=True)
    except ValueError:
        with pytest.raises(Base64Error):
            decode(text)
    else:
        assert decode(text) == expected


@pytest.mark.parametrize("length", [31, 33])
def test_decode_of_another_length_says_which_it_must_be(length):
    with pytest.raises(Base64Error, match=r"^must be 32 bytes in base64$"):
        decode(encode(bytes(length)), 32)
    with pytest.raises(Base64Error, match=r"^must be 32 bytes in base64url without padding$"):
        decode_url(encode_url(bytes(length)), 32)
