"""What a gateway publishes so that requests can be sealed to it (RFC 9458, section 3).

Two types of keys: X25519, and X-Wing, which outlives it. A client chooses one of the two ciphers.
"""

import random
from dataclasses import dataclass
from typing import Annotated, Any

from panprivacy.formats.tls_messages import (
    UINT8,
    UINT16,
    InvalidMessageError,
    Message,
    Reader,
    Vector,
    WireType,
)
from panprivacy.protocols.hpke import (
    AES_128_GCM,
    CHACHA20_POLY1305,
    HKDF_SHA256,
    KEMS,
    PRIVATE_KEY_BYTES,
    KemName,
    Suite,
    public_key_of,
)

MEDIA_TYPE = "application/ohttp-keys"

GATEWAY_PATH = "/.well-known/ohttp-gateway"
"""Of every server that has a gateway: for its keys, and for capsules (RFC 9540)."""

_BY_NUMBER = {kem.number: name for name, kem in KEMS.items()}


@dataclass(frozen=True)
class Algorithms(Message):
    """A key derivation and a cipher, by their numbers in HPKE's registry."""

    kdf_id: Annotated[int, UINT16]
    aead_id: Annotated[int, UINT16]


OURS = (Algorithms(HKDF_SHA256, AES_128_GCM), Algorithms(HKDF_SHA256, CHACHA20_POLY1305))
"""What our keys are used with; the first is what our clients choose."""


@dataclass(frozen=True)
class KemKey:
    """A public key of a KEM, which fixes its length: 32 bytes of X25519, 1,216 of X-Wing."""

    kem: KemName
    public_key: bytes


class _KemKeyType(WireType):
    """The number of the KEM in two bytes, then the key."""

    def write(self, value: Any) -> bytes:
        kem = KEMS[value.kem]
        if len(value.public_key) != kem.public_key_bytes:
            raise ValueError(f"must have {kem.public_key_bytes} bytes, not {len(value.public_key)}")
        return kem.number.to_bytes(2, "big") + bytes(value.public_key)

    def read(self, reader: Reader) -> KemKey:
        number = reader.uint(2)
        if number not in _BY_NUMBER:
            raise ValueError(f"must be of a KEM among {', '.join(map(hex, _BY_NUMBER))}, not {number:#x}")
        name = _BY_NUMBER[number]
        return KemKey(name, reader.take(KEMS[name].public_key_bytes))


@dataclass(frozen=True)
class KeyConfig(Message):
    """A key and what may be used with it: 45 bytes of X25519 with our two algorithms, 1,229 of X-Wing.

    Attributes:
        key_id: 0 to 255; names the key in capsules.
        algorithms: at least one.
    """

    key_id: Annotated[int, UINT8]
    key: Annotated[KemKey, _KemKeyType()]
    algorithms: Annotated[tuple[Algorithms, ...], Vector(Algorithms, 2, minimum=4)]

    @property
    def chosen(self) -> Algorithms:
        """The first algorithms that are ours; InvalidMessageError if there are none."""
        for algorithms in self.algorithms:
            if algorithms in OURS:
                return algorithms
        raise self.refusal("algorithms", "has none that is known here")

    def suite(self, algorithms: Algorithms) -> Suite:
        """The suite of its KEM with these algorithms."""
        return Suite(KEMS[self.key.kem].number, algorithms.kdf_id, algorithms.aead_id)


def generate(
    key_id: int, random_source: random.Random, kem: KemName = KemName.X_WING
) -> tuple[KeyConfig, bytes]:
    """A fresh key: what is published, and the private key (32 bytes).

    Args:
        key_id: 0 to 255.
        random_source: `secrets.SystemRandom()`.
    """
    private_key = random_source.randbytes(PRIVATE_KEY_BYTES)
    public_key = public_key_of(KEMS[kem], private_key)
    return KeyConfig(key_id, KemKey(kem, public_key), OURS), private_key


def encode_list(configs: tuple[KeyConfig, ...]) -> bytes:
    """`application/ohttp-keys`: each configuration after its length in two bytes."""
    parts = [config.encode() for config in configs]
    return b"".join(len(part).to_bytes(2, "big") + part for part in parts)


def decode_list(encoded: bytes, kem: KemName | None = None) -> tuple[KeyConfig, ...]:
    """The configurations that can be used here, in the order of preference; the rest is left out.

    Args:
        kem: the only one to use; None for any.

    Raises:
        InvalidMessageError: the list is cut short, or has none that can be used.
    """
    reader, found = Reader(encoded, 0, len(encoded)), []
    while reader.remaining:
        try:
            part = reader.take(reader.uint(2))
        except ValueError as error:
            raise KeyConfig.refusal("", str(error)) from None
        try:
            config = KeyConfig.decode(part)
            config.chosen  # noqa: B018  # raises if there is nothing to choose
        except InvalidMessageError:
            continue
        if kem in (None, config.key.kem):
            found.append(config)
    if not found:
        of = "" if kem is None else f" of {kem}"
        raise KeyConfig.refusal("", f"is missing: the list has none{of} that can be used here")
    return tuple(found)
