"""The messages of Privacy Pass (RFC 9577, section 2; RFC 9578, section 6), token type 0x0002."""

import hashlib
from dataclasses import dataclass
from typing import Annotated

from panprivacy.formats.tls_messages import UINT8, UINT16, FixedLength, Message, Opaque

TOKEN_TYPE = 0x0002
"""Blind RSA with 2,048 bits: publicly verifiable."""

NONCE_BYTES = 32
DIGEST_BYTES = 32
SIGNATURE_BYTES = 256

TOKEN_BYTES = 2 + NONCE_BYTES + 2 * DIGEST_BYTES + SIGNATURE_BYTES
"""Of a token as it travels: 354."""


@dataclass(frozen=True)
class _OfOurType(Message):
    """What every message but the answer begins with."""

    token_type: Annotated[int, UINT16]

    def check(self) -> None:
        if self.token_type != TOKEN_TYPE:
            raise self.refusal("token_type", f"must be {TOKEN_TYPE}, not {self.token_type}")


@dataclass(frozen=True)
class TokenChallenge(_OfOurType):
    """The purpose of a token. All verifiers derive the same one; no server sends it to a single client.

    Attributes:
        issuer_name: host of the issuer, ASCII, not empty.
        redemption_context: empty or 32 bytes.
        origin_info: hosts that verify, joined by commas; may be empty.
    """

    issuer_name: Annotated[bytes, Opaque(2, minimum=1)]
    redemption_context: Annotated[bytes, Opaque(1)]
    origin_info: Annotated[bytes, Opaque(2)]

    def check(self) -> None:
        super().check()
        if len(self.redemption_context) not in (0, DIGEST_BYTES):
            raise self.refusal("redemption_context", f"must have 0 or {DIGEST_BYTES} bytes")

    @property
    def digest(self) -> bytes:
        """SHA-256 of the encoding (32 bytes), the form in tokens."""
        return hashlib.sha256(self.encode()).digest()


@dataclass(frozen=True)
class TokenRequest(_OfOurType):
    """What the client sends to the issuer: 259 bytes.

    Attributes:
        truncated_key_id: last byte of the key's name, so that the issuer finds it.
        blinded_message: 256 bytes.
    """

    truncated_key_id: Annotated[int, UINT8]
    blinded_message: Annotated[bytes, FixedLength(SIGNATURE_BYTES)]


@dataclass(frozen=True)
class TokenResponse(Message):
    """What the issuer answers: 256 bytes."""

    blind_signature: Annotated[bytes, FixedLength(SIGNATURE_BYTES)]


@dataclass(frozen=True)
class TokenInput(_OfOurType):
    """What is signed: 98 bytes.

    Attributes:
        nonce: 32 random bytes of the client.
        challenge_digest: of the TokenChallenge.
        key_id: of the issuer's key.
    """

    nonce: Annotated[bytes, FixedLength(NONCE_BYTES)]
    challenge_digest: Annotated[bytes, FixedLength(DIGEST_BYTES)]
    key_id: Annotated[bytes, FixedLength(DIGEST_BYTES)]


@dataclass(frozen=True)
class Token(TokenInput):
    """What the client shows: the signed input and the issuer's signature, 354 bytes."""

    authenticator: Annotated[bytes, FixedLength(SIGNATURE_BYTES)]

    @property
    def input(self) -> TokenInput:
        """What the signature is of."""
        return TokenInput(self.token_type, self.nonce, self.challenge_digest, self.key_id)
