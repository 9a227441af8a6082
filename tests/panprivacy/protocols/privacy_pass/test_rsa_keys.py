import random

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from panprivacy.protocols.privacy_pass import rsa_keys
from panprivacy.protocols.privacy_pass.rsa_keys import InvalidKeyError, PrivateKey, PublicKey
from tests.panprivacy.protocols.privacy_pass.keys import seeded_key
from tests.panprivacy.protocols.privacy_pass.rfc9578 import PUBLIC_KEY, TOKEN


def test_key_of_rfc_9578_is_read_written_and_named_as_there() -> None:
    key = PublicKey.decode(PUBLIC_KEY)
    assert key.encoded == PUBLIC_KEY
    assert key.key_id == TOKEN[66:98]


@pytest.mark.parametrize("bits", [1024, 1026, 2048])
def test_generate_gives_primes_of_half_the_bits_that_the_library_accepts(bits: int) -> None:
    key = seeded_key(1, bits)
    assert key.public.n.bit_length() == bits
    assert {key.p.bit_length(), key.q.bit_length()} == {bits // 2}
    d = pow(key.e, -1, (key.p - 1) * (key.q - 1))
    numbers = rsa.RSAPrivateNumbers(
        key.p, key.q, d, d % (key.p - 1), d % (key.q - 1), pow(key.q, -1, key.p),
        rsa.RSAPublicNumbers(key.e, key.public.n),
    )  # fmt: skip
    assert numbers.private_key().key_size == bits  # OpenSSL checks that the numbers fit together
    assert PublicKey.decode(key.public.encoded) == key.public


def test_power_is_what_the_private_exponent_gives() -> None:
    key = seeded_key()
    d = pow(key.e, -1, (key.p - 1) * (key.q - 1))
    for base in (0, 1, 2, key.p, key.q, key.public.n - 1, random.Random(2).randrange(key.public.n)):
        assert key.power(base) == pow(base, d, key.public.n)


@pytest.mark.parametrize("bits", [0, 1022, 1025, 8194])
def test_generate_refuses_lengths_outside_of_the_range(bits: int) -> None:
    with pytest.raises(ValueError, match="1024 to 8192"):
        rsa_keys.generate(random.Random(0), bits)


def test_repr_shows_no_secret() -> None:
    key = seeded_key()
    assert str(key.p) not in repr(key)
    assert str(key.q) not in repr(key)


def _rsa_encryption() -> bytes:
    return seeded_key().public.verifier.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.parametrize(
    "encoded",
    [
        *(b"", PUBLIC_KEY[:-1], PUBLIC_KEY + b"\0", b"\0" + PUBLIC_KEY),
        PUBLIC_KEY.replace(bytes.fromhex("0203010001"), bytes.fromhex("0203010002")),  # an even exponent
        PUBLIC_KEY.replace(bytes.fromhex("a203020130"), bytes.fromhex("a203020120")),  # a salt of 32 bytes
        bytes(300),
        _rsa_encryption(),
    ],
    ids=["empty", "cut", "longer", "shifted", "even exponent", "salt of 32", "zeros", "rsaEncryption"],
)
def test_decode_of_anything_but_an_encoding_is_refused(encoded: bytes) -> None:
    with pytest.raises(InvalidKeyError):
        PublicKey.decode(encoded)


def test_decode_of_an_encoding_with_any_byte_changed_is_no_such_key() -> None:
    key = PublicKey.decode(PUBLIC_KEY)
    for position in range(len(PUBLIC_KEY)):
        changed = bytearray(PUBLIC_KEY)
        changed[position] ^= 1
        try:
            other = PublicKey.decode(bytes(changed))
        except InvalidKeyError:
            continue
        assert other != key
        assert other.encoded == changed


def test_private_key_of_equal_composite_or_unfitting_numbers_is_refused() -> None:
    key = seeded_key()
    for p, q, e in ((key.p, key.p, key.e), (key.p * 3, key.q, key.e), (key.p, 1, key.e), (key.p, key.q, 2)):
        with pytest.raises(InvalidKeyError):
            PrivateKey(p, q, e)
