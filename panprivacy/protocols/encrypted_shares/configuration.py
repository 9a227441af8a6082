"""The VDAF of pan-private reports: a vector of encrypted Prio3Count input shares.

`PanPrivateCountVec` is our own, with a code point of the range for private use (VDAF draft 20, section 10,
"VDAF Identifiers"). Its measurements are vectors of bits, its result is their sum. An input share is an
aggregator's parts of all sharings, one after the other; there is no public share. Verification decrypts the
parts and runs Prio3Count on each, under the context of the task followed by the report's nonce. A verifier
share is the concatenation of Prio3Count's, and an output share of its output shares.

A part is an aggregator's Prio3Count input share, encrypted under its own key: what LPP Algorithm 6 keeps as
(c⁽¹⁾, p⁽¹⁾) or (c⁽²⁾, p⁽²⁾). A side is 0 for the leader and 1 for the helper, as in Prio3. Each share is
bytes (VDAF draft 20, section 7.2.7): the leader's 48 are the share of the bit and of its proof, the helper's
32 a seed that both are expanded from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from panprivacy.encryption import SCHEMES, scheme_of_code
from panprivacy.encryption.interface import (
    Ciphertext,
    InvalidCiphertextError,
    PrivateKey,
    SchemeKey,
    ValueOutOfRangeError,
)
from panprivacy.formats.errors import FieldError
from panprivacy.protocols.prio3.interface import InvalidShareError
from panprivacy.protocols.prio3.prio3 import Prio3Count

NAME = "PanPrivateCountVec"

IDENTIFIER = 0xFFFF1001
"""Code point of the VDAF, DAP's `vdaf_type`."""

MAX_LENGTH = 2**32 - 1

VDAF = Prio3Count()
"""What every sharing is one of."""


@dataclass(frozen=True)
class PanPrivateCountVec:
    """The VDAF's parameters, DAP's `vdaf_config`.

    Attributes:
        scheme: of both aggregators' keys, by its registered name.
        length: number of sharings in a report, 1 to 2^32 − 1.
    """

    scheme: str
    length: int

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            raise FieldError("scheme", f"must be one of {', '.join(SCHEMES)}, not {self.scheme!r}")
        if not 1 <= self.length <= MAX_LENGTH:
            raise FieldError("length", f"must be from 1 to {MAX_LENGTH}, not {self.length}")

    def input_share_bytes(self, side: int) -> int:
        """Length of an encoded input share of the leader (0) or the helper (1)."""
        return self.length * part_bytes(SCHEMES[self.scheme].public_key_class, side)

    def encode(self) -> bytes:
        """`struct { uint8 scheme; uint32 length; }` in the presentation language of TLS."""
        return bytes([SCHEMES[self.scheme].public_key_class.code]) + self.length.to_bytes(4, "big")

    @classmethod
    def decode(cls, encoded: bytes) -> Self:
        """Inverse of `encode`. Raises FieldError that names what is wrong."""
        if len(encoded) != 5:
            raise FieldError("vdaf_config", f"of a {NAME} must be 5 bytes, not {len(encoded)}")
        return cls(scheme_of_code(encoded[0]), int.from_bytes(encoded[1:], "big"))


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
