"""One aggregator's part of a sharing: its Prio3Count input share, encrypted under its own key.

A side is 0 for the leader and 1 for the helper, as in Prio3. Each share is bytes (VDAF draft 20, section
7.2.7): the leader's 48 are the share of the bit and of its proof. The helper's 32 are a seed that both are
expanded from.
"""

from collections.abc import Sequence

from panprivacy.encryption.interface import (
    Ciphertext,
    InvalidCiphertextError,
    PrivateKey,
    SchemeKey,
    ValueOutOfRangeError,
)
from panprivacy.protocols.prio3.interface import InvalidShareError
from panprivacy.protocols.prio3.prio3 import Prio3Count

VDAF = Prio3Count()
"""What every sharing is one of."""


def part_bytes(public_key: SchemeKey | type[SchemeKey], side: int) -> int:
    """Length of an encoded part: the same under every key of a scheme."""
    return public_key.byte_ciphertexts(VDAF.input_share_bytes(side)) * public_key.ciphertext_bytes


def encode_part(part: Sequence[Ciphertext]) -> bytes:
    """The ciphertexts, one after the other."""
    return b"".join(map(bytes, part))


def parse_part(public_key: SchemeKey, encoded: bytes) -> tuple[Ciphertext, ...]:
    """The ciphertexts of a part of the right length.

    Raises:
        InvalidCiphertextError: one is not a ciphertext.
    """
    size = public_key.ciphertext_bytes
    return tuple(public_key.parse(encoded[at : at + size]) for at in range(0, len(encoded), size))


def open_part(private_key: PrivateKey, encoded: bytes, side: int) -> bytes:
    """The Prio3Count input share in an encoded part of the right length.

    Raises:
        InvalidShareError: there is none: not ciphertexts, or not of an input share.
    """
    try:
        ciphertexts = parse_part(private_key.public_key, encoded)
        return private_key.decrypt_bytes(ciphertexts, VDAF.input_share_bytes(side))
    except (InvalidCiphertextError, ValueOutOfRangeError) as error:
        raise InvalidShareError(f"encrypted share: {error}") from error
