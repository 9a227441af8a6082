"""What a gateway publishes so that requests can be sealed to it (RFC 9458, section 3).

One type of key only: X25519 with HKDF-SHA256. A client chooses one of the two ciphers.
"""

import random
from dataclasses import dataclass
from typing import Annotated

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from pyhpke import AEADId, KDFId, KEMId

from panprivacy.formats.tls_messages import (
    UINT8,
    UINT16,
    FixedLength,
    InvalidMessageError,
    Message,
    Reader,
    Vector,
)

MEDIA_TYPE = "application/ohttp-keys"

GATEWAY_PATH = "/.well-known/ohttp-gateway"
"""Of every server that has a gateway: for its keys, and for capsules (RFC 9540)."""

KEM = KEMId.DHKEM_X25519_HKDF_SHA256.value
KDF = KDFId.HKDF_SHA256.value
AES_128_GCM = AEADId.AES128_GCM.value
CHACHA20_POLY1305 = AEADId.CHACHA20_POLY1305.value

PUBLIC_KEY_BYTES = PRIVATE_KEY_BYTES = 32


@dataclass(frozen=True)
class Algorithms(Message):
    """A key derivation and a cipher, by their numbers in HPKE's registry."""

    kdf_id: Annotated[int, UINT16]
    aead_id: Annotated[int, UINT16]


OURS = (Algorithms(KDF, AES_128_GCM), Algorithms(KDF, CHACHA20_POLY1305))
"""What our keys are used with; the first is what our clients choose."""


@dataclass(frozen=True)
class KeyConfig(Message):
    """A key and what may be used with it: 45 bytes with our two algorithms.

    Attributes:
        key_id: 0 to 255; names the key in capsules.
        public_key: 32 bytes.
        algorithms: at least one.
    """

    key_id: Annotated[int, UINT8]
    kem_id: Annotated[int, UINT16]
    public_key: Annotated[bytes, FixedLength(PUBLIC_KEY_BYTES)]
    algorithms: Annotated[tuple[Algorithms, ...], Vector(Algorithms, 2, minimum=4)]

    def check(self) -> None:
        if self.kem_id != KEM:
            raise self.refusal("kem_id", f"must be {KEM}, not {self.kem_id}")

    @property
    def chosen(self) -> Algorithms:
        """The first algorithms that are ours; InvalidMessageError if there are none."""
        for algorithms in self.algorithms:
            if algorithms in OURS:
                return algorithms
        raise self.refusal("algorithms", "has none that is known here")


def generate(key_id: int, random_source: random.Random) -> tuple[KeyConfig, bytes]:
    """A fresh key: what is published, and the private key (32 bytes).

    Args:
        key_id: 0 to 255.
        random_source: `secrets.SystemRandom()`.
    """
    private_key = random_source.randbytes(PRIVATE_KEY_BYTES)
    return KeyConfig(key_id, KEM, public_key(private_key), OURS), private_key


def public_key(private_key: bytes) -> bytes:
    """The public half (32 bytes) of a private key (32 bytes)."""
    return X25519PrivateKey.from_private_bytes(private_key).public_key().public_bytes_raw()


def encode_list(configs: tuple[KeyConfig, ...]) -> bytes:
    """`application/ohttp-keys`: each configuration after its length in two bytes."""
    parts = [config.encode() for config in configs]
    return b"".join(len(part).to_bytes(2, "big") + part for part in parts)


def decode_list(encoded: bytes) -> tuple[KeyConfig, ...]:
    """The configurations that can be used here, in the order of preference; the rest is left out.

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
        found.append(config)
    if not found:
        raise KeyConfig.refusal("", "is missing: the list has none that can be used here")
    return tuple(found)
