"""The parameters of our VDAF, encoded."""

import pytest

from panprivacy.encryption import SCHEMES
from panprivacy.errors import FieldError
from panprivacy.two_server.configuration import IDENTIFIER, PanPrivateCountVec


def test_identifier_lies_in_the_range_for_private_use():
    assert IDENTIFIER == 0xFFFF1001


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("length", [1, 11, 2**32 - 1])
def test_decode_of_an_encoding_returns_the_parameters(scheme, length):
    configuration = PanPrivateCountVec(scheme, length)
    assert PanPrivateCountVec.decode(configuration.encode()) == configuration


def test_encode_is_one_byte_and_a_big_endian_integer():
    assert PanPrivateCountVec("elgamal-secp256k1", 0x01020304).encode() == bytes([1, 1, 2, 3, 4])


@pytest.mark.parametrize(
    ("encoded", "field"),
    [
        (b"", "vdaf_config"),
        (bytes([1, 0, 0, 0]), "vdaf_config"),
        (bytes([1, 0, 0, 0, 1, 0]), "vdaf_config"),
        (bytes([0, 0, 0, 0, 1]), "scheme"),
        (bytes([4, 0, 0, 0, 1]), "scheme"),
        (bytes([1, 0, 0, 0, 0]), "length"),
    ],
)
def test_decode_of_anything_else_names_the_field(encoded, field):
    with pytest.raises(FieldError) as caught:
        PanPrivateCountVec.decode(encoded)
    assert caught.value.field == field


def test_parameters_out_of_range_raise():
    for scheme, length in (("rot13", 1), ("paillier-2048", 2**32)):
        with pytest.raises(FieldError):
            PanPrivateCountVec(scheme, length)
