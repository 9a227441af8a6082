import random

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS
from cryptography.hazmat.primitives.hashes import SHA384

from panprivacy.protocols.privacy_pass import blind_rsa
from panprivacy.protocols.privacy_pass.blind_rsa import (
    VARIANTS,
    BlindedMessage,
    BlindSignatureError,
    InvalidSignatureError,
    SigningError,
    Variant,
)
from panprivacy.protocols.privacy_pass.rsa_keys import PrivateKey
from tests.panprivacy.protocols.privacy_pass.keys import seeded_key

SOURCE = random.Random(474)


def blinded_by(variant: Variant, key: PrivateKey, prepared: bytes) -> BlindedMessage:
    salt = SOURCE.randbytes(variant.salt_bytes)
    return blind_rsa.blind_with(key.public, prepared, salt, SOURCE.randrange(1, key.public.n))


def signed(variant: Variant, key: PrivateKey, message: bytes) -> tuple[bytes, BlindedMessage, bytes]:
    """A prepared message, its blinding and its signature."""
    prepared = SOURCE.randbytes(variant.prefix_bytes) + message
    blinded = blinded_by(variant, key, prepared)
    answer = blind_rsa.blind_sign(key, blinded.message, SOURCE)
    return prepared, blinded, blind_rsa.finalize(variant, key.public, prepared, answer, blinded.inverse)


@pytest.mark.parametrize("bits", [1024, 1026, 2048])
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_signature_is_one_that_the_library_verifies(variant: Variant, bits: int) -> None:
    key = seeded_key(1, bits)
    prepared, _, signature = signed(variant, key, b"message")
    padding = PSS(MGF1(SHA384()), variant.salt_bytes)
    key.public.verifier.verify(signature, prepared, padding, SHA384())
    assert len(prepared) == variant.prefix_bytes + len(b"message")


def test_encoding_is_what_the_library_signs() -> None:
    """The other way around: our encoding of its salt is the number below its signature."""
    key, message = seeded_key(), b"message"
    _, _, signature = signed(blind_rsa.ZERO_DETERMINISTIC, key, message)
    number = pow(int.from_bytes(signature, "big"), key.e, key.public.n)
    assert number == int.from_bytes(blind_rsa.encode(message, b"", key.public.n.bit_length() - 1), "big")


def test_blinded_messages_and_answers_of_one_message_differ_each_time() -> None:
    key = seeded_key()
    first = blinded_by(blind_rsa.ZERO_DETERMINISTIC, key, b"message")
    second = blinded_by(blind_rsa.ZERO_DETERMINISTIC, key, b"message")
    assert first.message != second.message
    assert blind_rsa.blind_sign(key, first.message, SOURCE) != blind_rsa.blind_sign(
        key, second.message, SOURCE
    )


def test_every_signature_fits_every_blinded_message() -> None:
    """For each pair there is one factor: (blinded / encoded)^d. So what the signer saw excludes no token."""
    key = seeded_key(1, 1024)
    variant = blind_rsa.ZERO_DETERMINISTIC
    views = [signed(variant, key, message) for message in (b"one", b"another")]
    for _, blinded, _ in views:
        for prepared, _, signature in views:
            encoded = pow(int.from_bytes(signature, "big"), key.e, key.public.n)
            quotient = int.from_bytes(blinded.message, "big") * pow(encoded, -1, key.public.n) % key.public.n
            assert (
                blind_rsa.blind_with(key.public, prepared, b"", key.power(quotient)).message
                == blinded.message
            )


def test_blind_sign_keeps_a_signature_that_does_not_verify(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in one half would give the factors of n away (Boneh, DeMillo and Lipton 1997)."""
    key = seeded_key(3, 1024)
    p, q, d_p, d_q, inverse = key._halves
    monkeypatch.setitem(key.__dict__, "_halves", (p, q, d_p ^ 2, d_q, inverse))
    with pytest.raises(SigningError):
        blind_rsa.blind_sign(key, (5).to_bytes(128, "big"), SOURCE)


def test_numbers_that_are_not_below_the_modulus_are_refused() -> None:
    key = seeded_key()
    for length in (0, 255, 257):
        with pytest.raises(BlindSignatureError, match="256 bytes"):
            blind_rsa.blind_sign(key, bytes(length), SOURCE)
    for number in (key.public.n, 2**2048 - 1):
        value = number.to_bytes(256, "big")
        with pytest.raises(BlindSignatureError, match="below the modulus"):
            blind_rsa.blind_sign(key, value, SOURCE)
        with pytest.raises(BlindSignatureError, match="below the modulus"):
            blind_rsa.finalize(blind_rsa.DETERMINISTIC, key.public, b"message", value, 1)


def test_finalize_refuses_answers_of_another_key_or_to_another_message() -> None:
    key, other = seeded_key(), seeded_key(1)
    variant = blind_rsa.DETERMINISTIC
    blinded = blinded_by(variant, key, b"message")
    answer = blind_rsa.blind_sign(key, blinded.message, SOURCE)
    assert blind_rsa.blind_sign(key, blinded.message, SOURCE) == answer
    changed = bytes([answer[0], answer[1] ^ 1]) + answer[2:]
    foreign = blind_rsa.blind_sign(key, (7).to_bytes(256, "big"), SOURCE)
    by_other = other.power(5).to_bytes(256, "big")
    for value in (changed, foreign, bytes(256), by_other):
        with pytest.raises(BlindSignatureError):
            blind_rsa.finalize(variant, key.public, b"message", value, blinded.inverse)
    with pytest.raises(InvalidSignatureError):
        blind_rsa.finalize(variant, key.public, b"other message", answer, blinded.inverse)
    with pytest.raises(InvalidSignatureError):
        blind_rsa.finalize(variant, key.public, b"message", answer, blinded.inverse + 1)
    signature = blind_rsa.finalize(variant, key.public, b"message", answer, blinded.inverse)
    with pytest.raises(InvalidSignatureError):
        blind_rsa.verify(blind_rsa.ZERO_DETERMINISTIC, key.public, b"message", signature)


def test_blind_with_an_impossible_factor_is_refused() -> None:
    key = seeded_key(1, 1024)
    for factor in (0, key.public.n, key.p, key.q):
        with pytest.raises(BlindSignatureError, match="factor"):
            blind_rsa.blind_with(key.public, b"message", b"", factor)


def test_encode_into_too_few_bits_is_refused() -> None:
    with pytest.raises(BlindSignatureError, match="too short"):
        blind_rsa.encode(b"message", bytes(48), 8 * 97)
    assert len(blind_rsa.encode(b"message", bytes(48), 8 * 98)) == 98
