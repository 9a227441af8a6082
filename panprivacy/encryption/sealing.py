"""Secrets at rest: AES-256-GCM under a key-encryption key.

Format, version 1: `b"PPSK"`, one byte 1, 12 bytes of nonce, ciphertext, 16 bytes of tag.
The header and the caller's associated data are authenticated. Nonces are random: one
key-encryption key serves at most 2^32 seals (NIST SP 800-38D, section 8.3).
"""

import random
from collections.abc import Callable

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
_NONCE_BYTES = 12
_TAG_BYTES = 16
_MAGIC = b"PPSK"
_HEADER = _MAGIC + bytes([1])


class SealFormatError(ValueError):
    """Bytes that are no seal, or of a version that this code does not know."""


class SealBrokenError(ValueError):
    """The seal does not open: altered, another key-encryption key, or another owner's secret."""


def _cipher(key_encryption_key: bytes) -> AESGCM:
    if len(key_encryption_key) != KEY_BYTES:
        raise ValueError(f"a key-encryption key has {KEY_BYTES} bytes, not {len(key_encryption_key)}")
    return AESGCM(key_encryption_key)


def seal(
    secret: bytes, key_encryption_key: bytes, associated_data: bytes, random_source: random.Random
) -> bytes:
    """Encrypt `secret` for storage.

    Args:
        secret: e.g. `PrivateKey.to_bytes()`.
        key_encryption_key: 32 uniform bytes.
        associated_data: names the owner (scheme, recipe, role); the seal opens only with the
            same, so that sealed keys cannot be swapped in the database. Not stored.
        random_source: `secrets.SystemRandom()`; a repeated nonce breaks the encryption.
    """
    return seal_by(_cipher(key_encryption_key).encrypt, secret, associated_data, random_source)


def seal_by(
    encrypt: Callable[[bytes, bytes, bytes], bytes],
    secret: bytes,
    associated_data: bytes,
    random_source: random.Random,
) -> bytes:
    """The same under a key that only another machine has.

    Args:
        encrypt: AES-256-GCM there: nonce, secret and associated data → ciphertext with its tag.
        secret, associated_data, random_source: as in `seal`.
    """
    nonce = random_source.randbytes(_NONCE_BYTES)
    return _HEADER + nonce + encrypt(nonce, secret, _HEADER + associated_data)


def unseal(sealed: bytes, key_encryption_key: bytes, associated_data: bytes) -> bytes:
    """Inverse of `seal`.

    Raises:
        SealFormatError: not a seal of a known version.
        SealBrokenError: altered, or `key_encryption_key` or `associated_data` differ.
    """
    try:
        return unseal_by(_cipher(key_encryption_key).decrypt, sealed, associated_data)
    except InvalidTag as error:
        raise SealBrokenError(
            "the sealed secret was altered, or belongs to another key-encryption key or owner"
        ) from error


def unseal_by(
    decrypt: Callable[[bytes, bytes, bytes], bytes], sealed: bytes, associated_data: bytes
) -> bytes:
    """Inverse of `seal_by`.

    Args:
        decrypt: nonce, ciphertext with its tag and associated data → secret. What it raises is passed on.

    Raises:
        SealFormatError: not a seal of a known version.
    """
    if not sealed.startswith(_MAGIC) or len(sealed) < len(_HEADER) + _NONCE_BYTES + _TAG_BYTES:
        raise SealFormatError("these bytes are not a sealed secret")
    if not sealed.startswith(_HEADER):
        raise SealFormatError(f"seal version {sealed[len(_MAGIC)]} is unknown; this code knows version 1")
    nonce_end = len(_HEADER) + _NONCE_BYTES
    nonce, ciphertext = sealed[len(_HEADER) : nonce_end], sealed[nonce_end:]
    return decrypt(nonce, ciphertext, _HEADER + associated_data)
