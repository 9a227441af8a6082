import random

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS
from cryptography.hazmat.primitives.hashes import SHA384

from panprivacy.privacy_pass import blind_rsa
from panprivacy.privacy_pass.blind_rsa import (
    VARIANTS,
    Blinded,
    BlindSignatureError,
    InvalidSignatureError,
    SigningError,
    Variant,
)
from panprivacy.privacy_pass.rsa_keys import PrivateKey
from tests.panprivacy.privacy_pass.keys import seeded_key

SOURCE = random.Random(474)


def signed(variant: Variant, key: PrivateKey, message: bytes) -> tuple[bytes, Blinded, bytes]:
    """A prepared message, its blinding and its signature."""
    prepared = blind_rsa.prepare(variant, message, SOURCE)
    blinded = blind_rsa.blind(variant, key.public, prepared, SOURCE)
    answer = blind_rsa.blind_sign(key, blinded.message, SOURCE)
    return prepared, blinded, blind_rsa.finalize(variant, key.public, prepared, answer, blinded.inverse)


@pytest.mark.parametrize("bits", [1024, 1026, 2048])
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_signature_is_one_that_the_library_verifies_also_where_the_encoding_is_a_byte_shorter(
    variant: Variant, bits: int
) -> None:
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
    first = blind_rsa.blind(blind_rsa.ZERO_DETERMINISTIC, key.public, b"message", SOURCE)
    second = blind_rsa.blind(blind_rsa.ZERO_DETERMINISTIC, key.public, b"message", SOURCE)
    assert first.message != second.message
    assert blind_rsa.blind_sign(key, first.message, SOURCE) != blind_rsa.blind_sign(
        key, second.message, SOURCE
    )


def test_every_signature_fits_every_blinded_message_so_the_signer_learns_nothing() -> None:
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


def test_blind_sign_answers_the_same_message_alike() -> None:
    key = seeded_key()
    blinded = blind_rsa.blind(blind_rsa.DETERMINISTIC, key.public, b"message", SOURCE)
    answers = {blind_rsa.blind_sign(key, blinded.message, SOURCE) for _ in range(3)}
    assert len(answers) == 1


def test_blind_sign_keeps_a_signature_that_does_not_verify(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in one half would give the factors of n away (Boneh, DeMillo and Lipton 1997)."""
    key = seeded_key(3, 1024)
    p, q, d_p, d_q, inverse = key._halves
    monkeypatch.setitem(key.__dict__, "_halves", (p, q, d_p ^ 2, d_q, inverse))
    with pytest.raises(SigningError):
        blind_rsa.blind_sign(key, (5).to_bytes(128, "big"), SOURCE)


@pytest.mark.parametrize("length", [0, 255, 257])
def test_blind_sign_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(BlindSignatureError, match="256 bytes"):
        blind_rsa.blind_sign(seeded_key(), bytes(length), SOURCE)


def test_numbers_that_are_not_below_the_modulus_are_refused() -> None:
    key = seeded_key()
    for number in (key.public.n, 2**2048 - 1):
        value = number.to_bytes(256, "big")
        with pytest.raises(BlindSignatureError, match="below the modulus"):
            blind_rsa.blind_sign(key, value, SOURCE)
        with pytest.raises(BlindSignatureError, match="below the modulus"):
            blind_rsa.finalize(blind_rsa.DETERMINISTIC, key.public, b"message", value, 1)


def test_finalize_refuses_answers_of_another_key_to_another_message_and_changed_ones() -> None:
    key, other = seeded_key(), seeded_key(1)
    variant = blind_rsa.DETERMINISTIC
    blinded = blind_rsa.blind(variant, key.public, b"message", SOURCE)
    answer = blind_rsa.blind_sign(key, blinded.message, SOURCE)
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


def test_verify_refuses_a_signature_of_the_other_salt_length() -> None:
    key = seeded_key()
    prepared, _, signature = signed(blind_rsa.ZERO_DETERMINISTIC, key, b"message")
    with pytest.raises(InvalidSignatureError):
        blind_rsa.verify(blind_rsa.DETERMINISTIC, key.public, prepared, signature)


def test_blind_with_a_factor_that_divides_the_modulus_or_is_out_of_range_is_refused() -> None:
    key = seeded_key(1, 1024)
    for factor in (0, key.public.n, key.p, key.q):
        with pytest.raises(BlindSignatureError, match="factor"):
            blind_rsa.blind_with(key.public, b"message", b"", factor)


def test_encode_into_too_few_bits_is_refused() -> None:
    with pytest.raises(BlindSignatureError, match="too short"):
        blind_rsa.encode(b"message", bytes(48), 8 * 97)
    assert len(blind_rsa.encode(b"message", bytes(48), 8 * 98)) == 98
