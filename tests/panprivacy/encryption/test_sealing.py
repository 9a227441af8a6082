"""Private keys at rest."""

import random
import secrets

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from panprivacy.encryption.sealing import (
    KEY_BYTES,
    SealBrokenError,
    SealFormatError,
    seal,
    seal_by,
    unseal,
    unseal_by,
)

KEK = bytes(range(KEY_BYTES))
OWNER = b"recipe 7, elgamal-secp256k1"
SECRET = b"thirty-two bytes of secret......"


def sealed() -> bytes:
    return seal(SECRET, KEK, OWNER, random.Random(1))


def test_unseal_with_the_same_key_and_owner_returns_the_secret():
    assert unseal(seal(SECRET, KEK, OWNER, secrets.SystemRandom()), KEK, OWNER) == SECRET


def test_seal_with_a_fixed_nonce_has_the_documented_layout():
    # From an independent AES-256-GCM: cryptography's low-level Cipher interface.
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    box = sealed()
    nonce, tag = box[5:17], box[-16:]
    decryptor = Cipher(algorithms.AES(KEK), modes.GCM(nonce, tag)).decryptor()
    decryptor.authenticate_additional_data(b"PPSK\x01" + OWNER)
    assert box[:5] == b"PPSK\x01"
    assert nonce == random.Random(1).randbytes(12)
    assert decryptor.update(box[17:-16]) + decryptor.finalize() == SECRET


@pytest.mark.parametrize(("key", "owner"), [(bytes(KEY_BYTES), OWNER), (KEK, b"recipe 8, elgamal-secp256k1")])
def test_unseal_with_another_key_or_for_another_owner_raises(key, owner):
    with pytest.raises(SealBrokenError):
        unseal(sealed(), key, owner)


def test_unseal_after_any_flipped_byte_raises():
    box = sealed()
    for position in range(len(box)):
        altered = bytearray(box)
        altered[position] ^= 1
        with pytest.raises((SealBrokenError, SealFormatError)):
            unseal(bytes(altered), KEK, OWNER)


@pytest.mark.parametrize("wrong", [b"", b"PPSK", b"PPSK\x01" + bytes(27), SECRET])
def test_unseal_of_something_else_raises(wrong):
    with pytest.raises(SealFormatError, match="not a sealed secret"):
        unseal(wrong, KEK, OWNER)


def test_unseal_of_an_unknown_version_names_it():
    with pytest.raises(SealFormatError, match="version 2"):
        unseal(b"PPSK\x02" + sealed()[5:], KEK, OWNER)


@pytest.mark.parametrize("length", [0, 16, 31, 33])
def test_seal_and_unseal_with_a_key_of_wrong_length_raise(length):
    with pytest.raises(ValueError, match="32 bytes"):
        seal(SECRET, bytes(length), OWNER, random.Random(3))
    with pytest.raises(ValueError, match="32 bytes"):
        unseal(sealed(), bytes(length), OWNER)


def test_key_that_another_machine_has_seals_the_same_bytes():
    elsewhere = AESGCM(KEK)
    box = seal_by(elsewhere.encrypt, SECRET, OWNER, random.Random(1))
    assert box == sealed()
    assert unseal_by(elsewhere.decrypt, box, OWNER) == SECRET


def test_error_of_another_machine_is_passed_on():
    with pytest.raises(InvalidTag):
        unseal_by(AESGCM(KEK).decrypt, sealed(), b"another")
    with pytest.raises(SealFormatError):
        unseal_by(AESGCM(KEK).decrypt, SECRET, OWNER)
