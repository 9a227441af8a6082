"""HPKE (RFC 9180): base mode, one message for each encapsulation, with HKDF-SHA256.

The key schedule is written from the definition. There are two KEMs: DHKEM(X25519, HKDF-SHA256), and X-Wing,
which is ML-KEM-768 with X25519 (draft-connolly-cfrg-xwing-kem-10; KEM 0x647a of draft-ietf-hpke-pq). What is
sealed with X-Wing stays secret unless both halves are broken, so recorded messages outlive X25519.
"""

import hashlib
import hmac
import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

HKDF_SHA256 = 0x0001
AES_128_GCM, AES_256_GCM, CHACHA20_POLY1305 = 0x0001, 0x0002, 0x0003
"""RFC 9180, sections 7.2 and 7.3."""

PRIVATE_KEY_BYTES = 32
"""Of either KEM: the private key of X-Wing is the seed of both halves."""

NONCE_BYTES, TAG_BYTES = 12, 16

_MLKEM_PUBLIC_BYTES, _MLKEM_CIPHERTEXT_BYTES = 1_184, 1_088
_XWING_LABEL = b"\\.//^\\"
_VERSION = b"HPKE-v1"
_BASE_MODE = b"\0"
_SECRET_BYTES = 32


class HpkeError(ValueError):
    """Sealing or opening did not work."""


class HpkeSealError(HpkeError):
    """Nothing can be sealed: unknown algorithms, or a public key that is none."""


class HpkeOpenError(HpkeError):
    """The ciphertext does not open: altered, for another recipient, or bound to something else."""


@dataclass(frozen=True)
class Cipher:
    """An AEAD.

    Attributes:
        key_bytes: of its keys.
        load: a key, ready to encrypt and decrypt.
    """

    key_bytes: int
    load: Callable[[bytes], AESGCM | ChaCha20Poly1305]


CIPHERS = {
    AES_128_GCM: Cipher(16, AESGCM),
    AES_256_GCM: Cipher(32, AESGCM),
    CHACHA20_POLY1305: Cipher(32, ChaCha20Poly1305),
}


class KemName(StrEnum):
    """The KEMs, as recipes name them."""

    X_WING = "x-wing"
    X25519 = "x25519"


class KemPrivateKey(ABC):
    """A private key, loaded."""

    @property
    @abstractmethod
    def public_key(self) -> bytes:
        """Its public half."""

    @abstractmethod
    def decapsulate(self, enc: bytes) -> bytes:
        """The shared secret, 32 bytes; ValueError if `enc` is no encapsulated key."""


class Kem(ABC):
    """A key encapsulation mechanism; its private keys have 32 bytes.

    Attributes:
        number: in the registry of HPKE.
        enc_bytes: of an encapsulated key.
        public_key_bytes: of a public key.
    """

    number: int
    enc_bytes: int
    public_key_bytes: int

    @abstractmethod
    def encapsulate(self, public_key: bytes, random_source: random.Random) -> tuple[bytes, bytes]:
        """A shared secret (32 bytes) and its encapsulation; ValueError if `public_key` is none."""

    @abstractmethod
    def load(self, private_key: bytes) -> KemPrivateKey:
        """A private key; ValueError if it has not 32 bytes."""


class _X25519PrivateKey(KemPrivateKey):
    def __init__(self, private_key: bytes) -> None:
        self._key = X25519PrivateKey.from_private_bytes(private_key)
        self._public = self._key.public_key().public_bytes_raw()

    @property
    def public_key(self) -> bytes:
        return self._public

    def decapsulate(self, enc: bytes) -> bytes:
        return _dh_secret(self._key.exchange(X25519PublicKey.from_public_bytes(enc)), enc, self._public)


class X25519Kem(Kem):
    """DHKEM(X25519, HKDF-SHA256) of RFC 9180, section 4.1."""

    number = 0x0020
    enc_bytes = public_key_bytes = 32
    SUITE = b"KEM\x00\x20"

    def encapsulate(self, public_key: bytes, random_source: random.Random) -> tuple[bytes, bytes]:
        return self.encapsulate_with(public_key, self.derived(random_source.randbytes(PRIVATE_KEY_BYTES)))

    @staticmethod
    def encapsulate_with(public_key: bytes, ephemeral: bytes) -> tuple[bytes, bytes]:
        """`Encap` with the sender's draw, a private key."""
        key = X25519PrivateKey.from_private_bytes(ephemeral)
        enc = key.public_key().public_bytes_raw()
        shared = key.exchange(X25519PublicKey.from_public_bytes(public_key))
        return _dh_secret(shared, enc, public_key), enc

    @classmethod
    def derived(cls, material: bytes) -> bytes:
        """`DeriveKeyPair` (section 7.1.3): the private key from at least 32 bytes of entropy."""
        pseudorandom = _extract(b"", cls.SUITE, b"dkp_prk", material)
        return _expand(pseudorandom, cls.SUITE, b"sk", b"", PRIVATE_KEY_BYTES)

    def load(self, private_key: bytes) -> KemPrivateKey:
        return _X25519PrivateKey(private_key)


def _dh_secret(shared: bytes, enc: bytes, public_key: bytes) -> bytes:
    """`ExtractAndExpand` of RFC 9180, section 4.1."""
    pseudorandom = _extract(b"", X25519Kem.SUITE, b"eae_prk", shared)
    return _expand(pseudorandom, X25519Kem.SUITE, b"shared_secret", enc + public_key, _SECRET_BYTES)


class _XWingPrivateKey(KemPrivateKey):
    def __init__(self, private_key: bytes) -> None:
        if len(private_key) != PRIVATE_KEY_BYTES:
            raise ValueError(f"must have {PRIVATE_KEY_BYTES} bytes, not {len(private_key)}")
        # expandDecapsulationKey (section 5.2): the seed of ML-KEM (64 bytes), and the key of X25519.
        expanded = hashlib.shake_256(private_key).digest(96)
        self._mlkem = MLKEM768PrivateKey.from_seed_bytes(expanded[:64])
        self._x25519 = X25519PrivateKey.from_private_bytes(expanded[64:])
        self._x25519_public = self._x25519.public_key().public_bytes_raw()

    @property
    def public_key(self) -> bytes:
        return self._mlkem.public_key().public_bytes_raw() + self._x25519_public

    def decapsulate(self, enc: bytes) -> bytes:
        """`Decapsulate` (section 5.5)."""
        # An altered half of ML-KEM gives another secret, not an error: then the AEAD refuses.
        mlkem_secret = self._mlkem.decapsulate(enc[:_MLKEM_CIPHERTEXT_BYTES])
        x25519_enc = enc[_MLKEM_CIPHERTEXT_BYTES:]
        shared = self._x25519.exchange(X25519PublicKey.from_public_bytes(x25519_enc))
        return _combined(mlkem_secret, shared, x25519_enc, self._x25519_public)


class XWingKem(Kem):
    """X-Wing. Its half of ML-KEM draws from the generator of OpenSSL: no interface takes these bytes."""

    number = 0x647A
    enc_bytes = _MLKEM_CIPHERTEXT_BYTES + 32
    public_key_bytes = _MLKEM_PUBLIC_BYTES + 32

    def encapsulate(self, public_key: bytes, random_source: random.Random) -> tuple[bytes, bytes]:
        """`Encapsulate` (section 5.4)."""
        theirs = public_key[_MLKEM_PUBLIC_BYTES:]
        mlkem_secret, mlkem_enc = _mlkem_public(public_key[:_MLKEM_PUBLIC_BYTES]).encapsulate()
        ephemeral = X25519PrivateKey.from_private_bytes(random_source.randbytes(32))
        x25519_enc = ephemeral.public_key().public_bytes_raw()
        shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(theirs))
        return _combined(mlkem_secret, shared, x25519_enc, theirs), mlkem_enc + x25519_enc

    def load(self, private_key: bytes) -> KemPrivateKey:
        return _XWingPrivateKey(private_key)


@lru_cache(maxsize=16)
def _mlkem_public(encoded: bytes) -> MLKEM768PublicKey:
    # Loading takes about as long as encapsulating, and a sender has few recipients.
    return MLKEM768PublicKey.from_public_bytes(encoded)


def _combined(mlkem_secret: bytes, x25519_secret: bytes, x25519_enc: bytes, x25519_public: bytes) -> bytes:
    """`Combiner` (section 5.3). ML-KEM binds its ciphertext itself."""
    joined = mlkem_secret + x25519_secret + x25519_enc + x25519_public + _XWING_LABEL
    return hashlib.sha3_256(joined).digest()


KEMS: dict[KemName, Kem] = {KemName.X_WING: XWingKem(), KemName.X25519: X25519Kem()}
"""The safer one first: in this order servers offer their keys."""

_NAMES = {kem.number: name for name, kem in KEMS.items()}
_BY_NUMBER = {kem.number: kem for kem in KEMS.values()}


@dataclass(frozen=True)
class Suite:
    """Algorithms by their numbers in the registries of HPKE."""

    kem_id: int
    kdf_id: int
    aead_id: int

    @property
    def is_known(self) -> bool:
        """Whether this library has them."""
        return self.kem_id in _BY_NUMBER and self.kdf_id == HKDF_SHA256 and self.aead_id in CIPHERS

    @property
    def kem(self) -> Kem:
        """HpkeSealError if one of the algorithms is not known here."""
        if not self.is_known:
            raise HpkeSealError(f"unknown HPKE algorithms {self.kem_id}, {self.kdf_id}, {self.aead_id}")
        return _BY_NUMBER[self.kem_id]

    @property
    def kem_name(self) -> KemName:
        """As recipes name the KEM; HpkeSealError as `kem`."""
        return _NAMES[self.kem.number]

    @cached_property
    def encoded(self) -> bytes:
        """`suite_id` of RFC 9180, section 5.1."""
        return b"HPKE" + b"".join(
            number.to_bytes(2, "big") for number in (self.kem_id, self.kdf_id, self.aead_id)
        )


@dataclass(frozen=True)
class Exporter:
    """Secrets for other uses, of one encapsulation. Secret."""

    suite: bytes
    secret: bytes
    context: bytes

    def export(self, label: bytes, length: int) -> bytes:
        """`Context.Export` (section 5.3): a secret of at most 32 bytes."""
        exporter_secret = _expand(self.secret, self.suite, b"exp", self.context, _SECRET_BYTES)
        return _expand(exporter_secret, self.suite, b"sec", label, length)


def _key_schedule(
    suite: Suite, shared_secret: bytes, info: bytes
) -> tuple[AESGCM | ChaCha20Poly1305, bytes, Exporter]:
    """`KeySchedule` (section 5.1): the AEAD with its key, the nonce of the one message, and the exporter."""
    suite_id = suite.encoded
    context = _schedule_context(suite_id, info)
    secret = _extract(shared_secret, suite_id, b"secret", b"")
    cipher = CIPHERS[suite.aead_id]
    key = _expand(secret, suite_id, b"key", context, cipher.key_bytes)
    nonce = _expand(secret, suite_id, b"base_nonce", context, NONCE_BYTES)
    return cipher.load(key), nonce, Exporter(suite_id, secret, context)


def seal(
    suite: Suite,
    public_key: bytes,
    info: bytes,
    aad: bytes,
    plaintext: bytes,
    random_source: random.Random,
) -> tuple[bytes, bytes, Exporter]:
    """Encrypt one message (`SealBase`, section 6.1).

    Args:
        public_key: of the recipient.
        info: the purpose of the message.
        aad: the data that it is bound to.
        random_source: `secrets.SystemRandom()`; X25519's ephemeral key comes from it. ML-KEM draws its own.

    Returns:
        The encapsulated key, the ciphertext with its tag at the end, and what exports secrets.

    Raises:
        HpkeSealError: unknown algorithms, or no valid public key.
    """
    try:
        encapsulated = suite.kem.encapsulate(public_key, random_source)
    except HpkeSealError:
        raise
    except ValueError as error:
        raise HpkeSealError("the public key is no valid key of this KEM") from error
    return seal_with(suite, *encapsulated, info, aad, plaintext)


def seal_with(
    suite: Suite, shared_secret: bytes, enc: bytes, info: bytes, aad: bytes, plaintext: bytes
) -> tuple[bytes, bytes, Exporter]:
    """`seal` with what was drawn. One shared secret seals one message."""
    cipher, nonce, exporter = _key_schedule(suite, shared_secret, info)
    return enc, cipher.encrypt(nonce, plaintext, aad), exporter


class PrivateKey:
    """A private key that opens what is sealed to it; loaded once, because loading takes as long as opening.

    Args:
        private_key: 32 bytes.

    Raises:
        HpkeOpenError: unknown algorithms, or no private key.
    """

    def __init__(self, suite: Suite, private_key: bytes) -> None:
        self._suite = suite
        try:
            self._key = suite.kem.load(private_key)
        except ValueError as error:
            raise HpkeOpenError(f"the private key cannot be used: {error}") from error

    @property
    def public_key(self) -> bytes:
        """Its public half."""
        return self._key.public_key

    def open(self, enc: bytes, ciphertext: bytes, info: bytes, aad: bytes) -> tuple[bytes, Exporter]:
        """The plaintext, and what exports secrets (`OpenBase`, section 6.1); HpkeOpenError if it does not
        open."""
        try:
            cipher, nonce, exporter = _key_schedule(self._suite, self._key.decapsulate(enc), info)
            return cipher.decrypt(nonce, ciphertext, aad), exporter
        except (InvalidTag, ValueError) as error:
            raise HpkeOpenError("the ciphertext does not open") from error


def public_key_of(kem: Kem, private_key: bytes) -> bytes:
    """The public half of a private key (32 bytes); ValueError if it is none."""
    return kem.load(private_key).public_key


@lru_cache(maxsize=64)
def _schedule_context(suite: bytes, info: bytes) -> bytes:
    """`key_schedule_context` of RFC 9180, section 5.1."""
    return _BASE_MODE + _extract(b"", suite, b"psk_id_hash", b"") + _extract(b"", suite, b"info_hash", info)


def _extract(salt: bytes, suite: bytes, label: bytes, material: bytes) -> bytes:
    """`LabeledExtract` of RFC 9180, section 4."""
    return hmac.digest(salt, _VERSION + suite + label + material, "sha256")


def _expand(key: bytes, suite: bytes, label: bytes, info: bytes, length: int) -> bytes:
    """`LabeledExpand` of RFC 9180, section 4, for at most 32 bytes: one block of HKDF (RFC 5869)."""
    if not 0 <= length <= hashlib.sha256().digest_size:
        raise ValueError(f"must be at most 32 bytes, not {length}")
    labeled = length.to_bytes(2, "big") + _VERSION + suite + label + info
    return hmac.digest(key, labeled + b"\1", "sha256")[:length]
