"""The parameters of our VDAF, encoded."""

import pytest

from panprivacy.encryption import SCHEMES
from panprivacy.formats.errors import FieldError
from panprivacy.protocols.encrypted_shares.configuration import IDENTIFIER, PanPrivateCountVec
from tests.refusals import field_refused


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("length", [1, 11, 2**32 - 1])
def test_decode_of_an_encoding_returns_the_parameters(scheme, length):
    configuration = PanPrivateCountVec(scheme, length)
    assert PanPrivateCountVec.decode(configuration.encode()) == configuration


def test_identifier_is_for_private_use_and_encode_a_byte_and_an_integer():
    assert IDENTIFIER == 0xFFFF1001
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
    with field_refused(field):
        PanPrivateCountVec.decode(encoded)


@pytest.mark.parametrize(("scheme", "length"), [("rot13", 1), ("paillier-2048", 2**32)])
def test_parameters_out_of_range_raise(scheme, length):
    with pytest.raises(FieldError):
        PanPrivateCountVec(scheme, length)
