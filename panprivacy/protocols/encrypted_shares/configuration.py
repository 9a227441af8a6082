"""The VDAF of pan-private reports: a vector of encrypted Prio3Count input shares.

`PanPrivateCountVec` is our own, with a code point of the range for private use (VDAF draft 20, section 10,
"VDAF Identifiers"). Its measurements are vectors of bits, its result is their sum. An input share is an
aggregator's parts of all sharings, one after the other; there is no public share. Verification decrypts the
parts and runs Prio3Count on each, under the context of the task followed by the report's nonce. A verifier
share is the concatenation of Prio3Count's, and an output share of its output shares.
"""

from dataclasses import dataclass
from typing import Self

from panprivacy.encryption import SCHEMES, scheme_of_code
from panprivacy.formats.errors import FieldError
from panprivacy.protocols.encrypted_shares.part import part_bytes

NAME = "PanPrivateCountVec"

IDENTIFIER = 0xFFFF1001
"""Code point of the VDAF, DAP's `vdaf_type`."""

MAX_LENGTH = 2**32 - 1


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
