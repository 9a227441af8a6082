"""Requests sealed to a gateway, and its answers (RFC 9458, section 4).

The client keeps a `ClientContext`, which opens the one answer; the gateway keeps a `ServerContext`, which
seals it. Every capsule has a key of its own, so two capsules of one request have nothing in common.
"""

import hmac
import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from pyhpke import AEADId, CipherSuite, ContextInterface, KDFId, KEMId, KEMKeyPair, PyHPKEError

from panprivacy.formats.tls_messages import UINT8, UINT16, FixedLength, InvalidMessageError, Message, Reader
from panprivacy.protocols.oblivious_http.keys import (
    AES_128_GCM,
    CHACHA20_POLY1305,
    KEM,
    OURS,
    PUBLIC_KEY_BYTES,
    Algorithms,
    KeyConfig,
)
from panprivacy.protocols.oblivious_http.padding import CLASSES

REQUEST_MEDIA_TYPE = "message/ohttp-req"
RESPONSE_MEDIA_TYPE = "message/ohttp-res"
KEY_PROBLEM = "https://iana.org/assignments/http-problem-types#ohttp-key"
"""Type of the problem document with which a gateway refuses a key that it does not have (section 5.3)."""

REQUEST_OVERHEAD = 7 + PUBLIC_KEY_BYTES + 16
"""Bytes of a capsule beyond the request in it: header, encapsulated key, tag."""

LARGEST_CAPSULE = CLASSES[-1] + REQUEST_OVERHEAD
"""Bytes of a capsule with a request of the longest class. Longer ones are refused unread."""

_LABEL_REQUEST, _LABEL_RESPONSE = b"message/bhttp request", b"message/bhttp response"
_SEED_BYTES = 32
_NONCE_BYTES = 12
_KEY_BYTES = {AES_128_GCM: 16, CHACHA20_POLY1305: 32}
_CIPHERS: dict[int, type[AESGCM] | type[ChaCha20Poly1305]] = {
    AES_128_GCM: AESGCM,
    CHACHA20_POLY1305: ChaCha20Poly1305,
}


class CapsuleError(ValueError):
    """A capsule that does not open."""


class UnknownKeyError(CapsuleError):
    """A capsule to a key that the gateway does not have: the client fetches the keys anew."""


@dataclass(frozen=True)
class _Header(Message):
    """The header in clear of a sealed request."""

    key_id: Annotated[int, UINT8]
    kem_id: Annotated[int, UINT16]
    kdf_id: Annotated[int, UINT16]
    aead_id: Annotated[int, UINT16]

    @property
    def info(self) -> bytes:
        """What the sealing is bound to (section 4.3, step 2)."""
        # "message/bhttp request" ‖ 0 ‖ hdr.
        return _LABEL_REQUEST + b"\0" + self.encode()


@dataclass(frozen=True)
class _Capsule(_Header):
    """A sealed request without its ciphertext, which goes to the end."""

    enc: Annotated[bytes, FixedLength(PUBLIC_KEY_BYTES)]


@dataclass(frozen=True)
class _Exchange:
    """The secret that only both ends share after a request is sealed.

    Attributes:
        aead_id: of the cipher.
        enc: the client's ephemeral public key.
        secret: exported from HPKE, of the length of the answer's nonce.
    """

    aead_id: int
    enc: bytes
    secret: bytes

    def cipher(self, response_nonce: bytes) -> tuple[AESGCM | ChaCha20Poly1305, bytes]:
        """The cipher that seals the answer, and its nonce (section 4.4, steps 3 to 5)."""
        # Step 3: prk = Extract(enc ‖ response_nonce, secret).
        key = hmac.digest(self.enc + response_nonce, self.secret, "sha256")
        # Steps 4 and 5: key and nonce, by Expand with the labels "key" and "nonce".
        aead_key = HKDFExpand(SHA256(), _KEY_BYTES[self.aead_id], b"key").derive(key)
        return _CIPHERS[self.aead_id](aead_key), HKDFExpand(SHA256(), _NONCE_BYTES, b"nonce").derive(key)

    @property
    def nonce_bytes(self) -> int:
        """Of the answer's nonce."""
        return len(self.secret)


@dataclass(frozen=True)
class ClientContext:
    """Opens the answer to one request. Secret."""

    exchange: _Exchange

    @property
    def secret(self) -> bytes:
        """What opens the answer later, in addition to the capsule (`resumed`): 16 or 32 bytes."""
        return self.exchange.secret

    def open(self, capsule: bytes) -> bytes:
        """The answer; CapsuleError if it was altered, cut, or is one to another request."""
        # Section 4.4, reversed: response_nonce and ct, the same key and nonce, then Open.
        nonce, sealed = capsule[: self.exchange.nonce_bytes], capsule[self.exchange.nonce_bytes :]
        cipher, aead_nonce = self.exchange.cipher(nonce)
        try:
            return cipher.decrypt(aead_nonce, sealed, b"")
        except InvalidTag:
            raise CapsuleError("the answer does not open") from None


@dataclass(frozen=True)
class ServerContext:
    """Seals the answer to one request. Secret."""

    exchange: _Exchange

    def seal(self, response: bytes, random_source: random.Random) -> bytes:
        """The answer's capsule.

        Args:
            random_source: `secrets.SystemRandom()`: two answers under one nonce would show both.
        """
        # Section 4.4, step 2: response_nonce.
        return self.seal_with(response, random_source.randbytes(self.exchange.nonce_bytes))

    def seal_with(self, response: bytes, nonce: bytes) -> bytes:
        """`seal` with the server's draw, at least the bytes of the cipher's key and nonce."""
        cipher, aead_nonce = self.exchange.cipher(nonce)
        # Steps 6 and 7: response_nonce ‖ ct.
        return nonce + cipher.encrypt(aead_nonce, response, b"")


def seal(config: KeyConfig, request: bytes, random_source: random.Random) -> tuple[bytes, ClientContext]:
    """A request's capsule, and what opens the answer.

    Args:
        config: of the gateway.
        request: binary HTTP, padded.
        random_source: `secrets.SystemRandom()`.

    Raises:
        InvalidMessageError: the configuration has no algorithms that are known here, or no valid key.
    """
    suite = _suite(config.chosen.aead_id)
    return seal_with(config, request, suite.kem.derive_key_pair(random_source.randbytes(_SEED_BYTES)))


def seal_with(config: KeyConfig, request: bytes, ephemeral: KEMKeyPair) -> tuple[bytes, ClientContext]:
    """`seal` with the client's draw."""
    algorithms = config.chosen
    # Section 4.3, steps 1 and 2: hdr, and info from it.
    header = _Header(config.key_id, config.kem_id, algorithms.kdf_id, algorithms.aead_id)
    suite = _suite(algorithms.aead_id)
    try:
        recipient = suite.kem.deserialize_public_key(config.public_key)
        # Steps 3 and 4: SetupBaseS(pkR, info), then Seal with empty associated data.
        enc, context = suite.create_sender_context(recipient, header.info, eks=ephemeral)
        sealed = context.seal(request, b"")
    except (PyHPKEError, ValueError) as error:
        raise config.refusal("public_key", "is no valid key") from error
    # Step 5: hdr ‖ enc ‖ ct.
    return header.encode() + enc + sealed, ClientContext(_exchange(algorithms.aead_id, enc, context))


def resumed(capsule: bytes, secret: bytes) -> ClientContext:
    """The context of a request that is already sealed, perhaps by a process that ended since.

    Args:
        capsule: as `seal` gave it.
        secret: of the context that `seal` gave (`ClientContext.secret`).

    Raises:
        CapsuleError: it is no capsule.
    """
    try:
        parts = _Capsule.read(Reader(capsule, 0, len(capsule)))
    except InvalidMessageError:
        raise CapsuleError("the capsule is cut short") from None
    return ClientContext(_Exchange(parts.aead_id, parts.enc, secret))


def open_(keys: Mapping[int, bytes], capsule: bytes) -> tuple[bytes, ServerContext]:
    """The request in a capsule, and what seals the answer.

    Args:
        keys: private keys (32 bytes each) by their numbers.

    Raises:
        UnknownKeyError: it is to another key, or of other algorithms.
        CapsuleError: it is no capsule, was altered, or is to another key of the same number.
    """
    # Section 4.3, decapsulation, step 1: parse, and find the private key; (a), (b) refuse other algorithms.
    reader = Reader(capsule, 0, len(capsule))
    try:
        parts = _Capsule.read(reader)
    except InvalidMessageError:
        raise CapsuleError("the capsule is cut short") from None
    algorithms = Algorithms(parts.kdf_id, parts.aead_id)
    # Asked for once: reading one may take longer than opening the capsule.
    private_key = keys.get(parts.key_id)
    if private_key is None or parts.kem_id != KEM or algorithms not in OURS:
        raise UnknownKeyError("the capsule is to a key that is not here")
    # Step 2: info from the header.
    header = _Header(parts.key_id, parts.kem_id, parts.kdf_id, parts.aead_id)
    suite = _suite(parts.aead_id)
    recipient = suite.kem.deserialize_private_key(private_key)
    try:
        # Steps 3 and 4: SetupBaseR(enc, skR, info), then Open with empty associated data.
        context = suite.create_recipient_context(parts.enc, recipient, header.info)
        request = context.open(reader.take(reader.remaining), b"")
    except (PyHPKEError, ValueError):
        raise CapsuleError("the capsule does not open") from None
    return request, ServerContext(_exchange(parts.aead_id, parts.enc, context))


def _exchange(aead_id: int, enc: bytes, context: ContextInterface) -> _Exchange:
    # Section 4.4, step 1: export max(Nn, Nk) bytes for "message/bhttp response".
    length = max(_KEY_BYTES[aead_id], _NONCE_BYTES)
    return _Exchange(aead_id, enc, context.export(_LABEL_RESPONSE, length))


@cache
def _suite(aead_id: int) -> CipherSuite:
    return CipherSuite.new(KEMId.DHKEM_X25519_HKDF_SHA256, KDFId.HKDF_SHA256, AEADId(aead_id))
