"""Requests sealed to a gateway, and its answers (RFC 9458, section 4).

The client keeps a `ClientContext`, which opens the one answer; the gateway keeps a `ServerContext`, which
seals it. Every capsule has a key of its own, so two capsules of one request have nothing in common.
"""

import hmac
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from panprivacy.formats.tls_messages import UINT8, UINT16, Message, Reader
from panprivacy.protocols import hpke
from panprivacy.protocols.hpke import (
    CIPHERS,
    KEMS,
    NONCE_BYTES,
    TAG_BYTES,
    Exporter,
    HpkeOpenError,
    KemName,
    PrivateKey,
    Suite,
    X25519Kem,
)
from panprivacy.protocols.oblivious_http.keys import Algorithms, KeyConfig
from panprivacy.protocols.oblivious_http.padding import CLASSES

REQUEST_MEDIA_TYPE = "message/ohttp-req"
RESPONSE_MEDIA_TYPE = "message/ohttp-res"
KEY_PROBLEM = "https://iana.org/assignments/http-problem-types#ohttp-key"
"""Type of the problem document with which a gateway refuses a key that it does not have (section 5.3)."""

_HEADER_BYTES = 7


def request_overhead(kem: KemName) -> int:
    """Bytes of a capsule beyond the request in it: header, encapsulated key, tag."""
    return _HEADER_BYTES + KEMS[kem].enc_bytes + TAG_BYTES


LARGEST_CAPSULE = CLASSES[-1] + max(map(request_overhead, KemName))
"""Bytes of a capsule with a request of the longest class. Longer ones are refused unread."""

_LABEL_REQUEST, _LABEL_RESPONSE = b"message/bhttp request", b"message/bhttp response"
_ENC_BYTES = {kem.number: kem.enc_bytes for kem in KEMS.values()}


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
    def suite(self) -> Suite:
        """Its algorithms."""
        return Suite(self.kem_id, self.kdf_id, self.aead_id)

    @property
    def info(self) -> bytes:
        """What the sealing is bound to (section 4.3, step 2)."""
        # "message/bhttp request" ‖ 0 ‖ hdr.
        return _LABEL_REQUEST + b"\0" + self.encode()


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
        aead_key = HKDFExpand(SHA256(), CIPHERS[self.aead_id].key_bytes, b"key").derive(key)
        return CIPHERS[self.aead_id].load(aead_key), HKDFExpand(SHA256(), NONCE_BYTES, b"nonce").derive(key)

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
    public_key = config.key.public_key
    try:
        drawn = KEMS[config.key.kem].encapsulate(public_key, random_source)
    except ValueError as error:
        raise config.refusal("key", "is no valid one") from error
    return _sealed(config, request, *drawn)


def seal_with(config: KeyConfig, request: bytes, ephemeral: bytes) -> tuple[bytes, ClientContext]:
    """`seal` to a key of X25519 with the client's draw, a private key of 32 bytes."""
    return _sealed(config, request, *X25519Kem.encapsulate_with(config.key.public_key, ephemeral))


def _sealed(
    config: KeyConfig, request: bytes, shared_secret: bytes, enc: bytes
) -> tuple[bytes, ClientContext]:
    algorithms = config.chosen
    suite = config.suite(algorithms)
    # Section 4.3, steps 1 and 2: hdr, and info from it.
    header = _Header(config.key_id, suite.kem_id, suite.kdf_id, suite.aead_id)
    # Steps 3 and 4: SetupBaseS(pkR, info), then Seal with empty associated data.
    _, sealed, exporter = hpke.seal_with(suite, shared_secret, enc, header.info, b"", request)
    # Step 5: hdr ‖ enc ‖ ct.
    return header.encode() + enc + sealed, ClientContext(_exchange(suite.aead_id, enc, exporter))


def resumed(capsule: bytes, secret: bytes) -> ClientContext:
    """The context of a request that is already sealed, perhaps by a process that ended since.

    Args:
        capsule: as `seal` gave it.
        secret: of the context that `seal` gave (`ClientContext.secret`).

    Raises:
        CapsuleError: it is no capsule.
    """
    header, enc, _ = _parsed(capsule)
    return ClientContext(_Exchange(header.aead_id, enc, secret))


def open_(keys: Mapping[int, tuple[KeyConfig, bytes]], capsule: bytes) -> tuple[bytes, ServerContext]:
    """The request in a capsule, and what seals the answer.

    Args:
        keys: what was published and the private key (32 bytes), by their numbers.

    Raises:
        UnknownKeyError: it is to another key, or of other algorithms.
        CapsuleError: it is no capsule, was altered, or is to another key of the same number.
    """
    # Section 4.3, decapsulation, step 1: parse, and find the private key; (a), (b) refuse other algorithms.
    header, enc, sealed = _parsed(capsule)
    # Asked for once: reading one may take longer than opening the capsule.
    held = keys.get(header.key_id)
    if held is None or not _is_of(header, held[0]):
        raise UnknownKeyError("the capsule is to a key that is not here")
    try:
        # Step 2: info from the header. Steps 3 and 4: SetupBaseR(enc, skR, info), then Open with empty
        # associated data.
        request, exporter = PrivateKey(header.suite, held[1]).open(enc, sealed, header.info, b"")
    except HpkeOpenError:
        raise CapsuleError("the capsule does not open") from None
    return request, ServerContext(_exchange(header.aead_id, enc, exporter))


def _is_of(header: _Header, config: KeyConfig) -> bool:
    algorithms = Algorithms(header.kdf_id, header.aead_id)
    return algorithms in config.algorithms and config.suite(algorithms) == header.suite


def _parsed(capsule: bytes) -> tuple[_Header, bytes, bytes]:
    """Header, encapsulated key and ciphertext."""
    reader = Reader(capsule, 0, len(capsule))
    try:
        header = _Header.read(reader)
        if header.kem_id not in _ENC_BYTES:
            raise UnknownKeyError("the capsule is to a key of an unknown KEM")
        enc = reader.take(_ENC_BYTES[header.kem_id])
    except UnknownKeyError:
        raise
    except ValueError:
        raise CapsuleError("the capsule is cut short") from None
    return header, enc, reader.take(reader.remaining)


def _exchange(aead_id: int, enc: bytes, exporter: Exporter) -> _Exchange:
    # Section 4.4, step 1: export max(Nn, Nk) bytes for "message/bhttp response".
    length = max(CIPHERS[aead_id].key_bytes, NONCE_BYTES)
    return _Exchange(aead_id, enc, exporter.export(_LABEL_RESPONSE, length))
