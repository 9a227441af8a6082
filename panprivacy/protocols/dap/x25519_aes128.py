"""Opening ciphertexts of one suite of HPKE directly from the definition (RFC 9180, base mode, one shot).

For DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and AES-128-GCM alone. Opening is most of what verifying a report
costs, and a library for all suites takes 1.6 times as long; the tests hold this against one.
"""

import hmac
from functools import lru_cache

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEM_ID, KDF_ID, AEAD_ID = 0x0020, 0x0001, 0x0001
"""RFC 9180, sections 7.1 to 7.3."""

_KEM = b"KEM" + KEM_ID.to_bytes(2, "big")
_HPKE = b"HPKE" + b"".join(number.to_bytes(2, "big") for number in (KEM_ID, KDF_ID, AEAD_ID))
_VERSION = b"HPKE-v1"
_BASE_MODE = b"\0"
_SECRET_BYTES, _KEY_BYTES, _NONCE_BYTES = 32, 16, 12


class X25519Aes128Key:
    """A private key that opens what is sealed to it; loaded once, because loading takes as long as opening.

    Args:
        private_key: 32 bytes.
    """

    def __init__(self, private_key: bytes) -> None:
        self._key = X25519PrivateKey.from_private_bytes(private_key)
        self._public = self._key.public_key().public_bytes_raw()

    def open(self, enc: bytes, ciphertext: bytes, info: bytes, aad: bytes) -> bytes:
        """`OpenBase` of RFC 9180, section 6.1.

        Args:
            enc: the sender's ephemeral public key, 32 bytes.
            ciphertext: with its tag, at the end.

        Raises:
            ValueError: `enc` is no public key, or one of small order.
            InvalidTag: it does not open.
        """
        # Decap (section 4.1).
        shared = self._key.exchange(X25519PublicKey.from_public_bytes(enc))
        pseudorandom = _extract(b"", _KEM, b"eae_prk", shared)
        secret = _expand(pseudorandom, _KEM, b"shared_secret", enc + self._public, _SECRET_BYTES)
        # KeySchedule (section 5.1), for one message, which needs only the first nonce.
        secret = _extract(secret, _HPKE, b"secret", b"")
        context = _context(info)
        key = _expand(secret, _HPKE, b"key", context, _KEY_BYTES)
        nonce = _expand(secret, _HPKE, b"base_nonce", context, _NONCE_BYTES)
        return AESGCM(key).decrypt(nonce, ciphertext, aad)


@lru_cache(maxsize=16)
def _context(info: bytes) -> bytes:
    """`key_schedule_context` of RFC 9180, section 5.1."""
    return _BASE_MODE + _extract(b"", _HPKE, b"psk_id_hash", b"") + _extract(b"", _HPKE, b"info_hash", info)


def _extract(salt: bytes, suite: bytes, label: bytes, material: bytes) -> bytes:
    """`LabeledExtract` of RFC 9180, section 4."""
    return hmac.digest(salt, _VERSION + suite + label + material, "sha256")


def _expand(key: bytes, suite: bytes, label: bytes, info: bytes, length: int) -> bytes:
    """`LabeledExpand` of RFC 9180, section 4, for at most 32 bytes: one block of HKDF (RFC 5869)."""
    labeled = length.to_bytes(2, "big") + _VERSION + suite + label + info
    return hmac.digest(key, labeled + b"\1", "sha256")[:length]
