"""Tokens of a recipe: their purpose, and whether one is valid (RFC 9577, RFC 9578).

The purpose of a token follows from the recipe's document alone. No server sends it, so no server can mark a
device by sending it another one.

A token of a recipe whose devices sign their reports has an Ed25519 key in place of a random nonce, and is
shown with the device's signature of its report. Without that, a server that receives reports could put others
under their tokens.
"""

from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.formats.tls_messages import InvalidMessageError
from panprivacy.protocols.ed25519 import require_own_signature
from panprivacy.protocols.privacy_pass import issuance
from panprivacy.protocols.privacy_pass.rsa_keys import PublicKey
from panprivacy.protocols.privacy_pass.tokens import TOKEN_BYTES, TOKEN_TYPE, Token, TokenChallenge
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.parts.admission import TokenAdmission

MISSING, INVALID, OF_ANOTHER_RECIPE = "token_missing", "token_invalid", "token_of_another_recipe"
REASONS = (MISSING, INVALID, OF_ANOTHER_RECIPE)
"""Why a report is rejected for its token."""

_WORDS = {
    MISSING: "the recipe takes reports with a token only",
    INVALID: "the token is not one that the recipe's issuer signed for this report",
    OF_ANOTHER_RECIPE: "the token is of another recipe",
}


SEED_BYTES = 32
"""Of the key with which a device signs its report."""

_REPORT = b"panapp-report-1\n"


class TokenRefusedError(ValueError):
    """A token with which no report is accepted.

    Attributes:
        reason: one of `REASONS`.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(_WORDS[reason])
        self.reason = reason

    def __reduce__(self) -> tuple[type["TokenRefusedError"], tuple[str]]:
        return type(self), (self.reason,)


def token_key(admission: TokenAdmission) -> PublicKey:
    """The key of its tokens. Cached: loading a key takes 30 times as long as verifying a token."""
    return _loaded(admission.token_key)


def challenge(recipe: PublishedRecipe) -> TokenChallenge:
    """The purpose of this recipe's tokens: its identifier, at the servers that its document names.

    Raises:
        ValueError: the recipe needs no token.
    """
    hosts = ",".join(urlsplit(url).netloc for url in recipe.servers.verifying_urls)
    return TokenChallenge(
        TOKEN_TYPE,
        issuer_name=tokens_of(recipe).issuer_name.encode(),
        redemption_context=bytes.fromhex(recipe.identifier),
        origin_info=hosts.encode(),
    )


def token_nonce(recipe: PublishedRecipe, token: bytes | None) -> bytes:
    """The nonce, 16 bytes, of the one report for which a token is valid. Most of the cost is verifying it.

    The uniqueness of nonces shows whether it was already used.

    Args:
        token: the received bytes; None or empty if none was.

    Raises:
        TokenRefusedError: it is missing, or not a token of this recipe.
        ValueError: the recipe needs no token.
    """
    key = token_key(tokens_of(recipe))
    if not token:
        raise TokenRefusedError(MISSING)
    if len(token) != TOKEN_BYTES:
        raise TokenRefusedError(INVALID)
    try:
        read = Token.decode(token)
        issuance.verify(key, challenge(recipe).digest, read)
    except (InvalidMessageError, issuance.InvalidTokenError):
        raise TokenRefusedError(INVALID) from None
    except issuance.OtherPurposeError:
        raise TokenRefusedError(OF_ANOTHER_RECIPE) from None
    return report_nonce(read)


def token_require(
    recipe: PublishedRecipe, token: bytes | None, nonce: bytes, ciphertexts: Sequence[bytes] = ()
) -> None:
    """Accept a token, as it was shown, for the report of this nonce, or raise the reason why not.

    Args:
        ciphertexts: of the report; not needed if devices of the recipe sign no reports.

    Raises:
        TokenRefusedError: as in `token_nonce`, or it is valid for another report.
    """
    if shown_nonce(recipe, token, ciphertexts) != nonce:
        raise TokenRefusedError(INVALID)


def shown_nonce(recipe: PublishedRecipe, shown: bytes | None, ciphertexts: Sequence[bytes]) -> bytes:
    """As `token_nonce`, of a token as it was shown with a report with these ciphertexts."""
    if not recipe.servers.report_signature_bytes or not shown:
        return token_nonce(recipe, shown)
    token, signature = shown[:TOKEN_BYTES], shown[TOKEN_BYTES:]
    nonce = token_nonce(recipe, token)
    try:
        require_own_signature(Token.decode(token).nonce, signature, _REPORT + b"".join(ciphertexts))
    except InvalidSignature:
        raise TokenRefusedError(INVALID) from None
    return nonce


def bound_nonce(seed: bytes) -> bytes:
    """What a bound token has as its nonce: the public key, 32 bytes, to a seed of `SEED_BYTES`."""
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def token_shown(token: bytes, seed: bytes, ciphertexts: Sequence[bytes]) -> bytes:
    """A token as it is shown with one report: with the signature of its ciphertexts if there is a seed.

    Args:
        token: 354 bytes.
        seed: of the key in the token; empty if devices of the recipe sign no reports.
    """
    if not seed:
        return token
    return token + Ed25519PrivateKey.from_private_bytes(seed).sign(_REPORT + b"".join(ciphertexts))


def report_nonce(token: Token) -> bytes:
    """The nonce of the report that a token is good for, 16 bytes."""
    return token.nonce[16:]


def tokens_of(recipe: PublishedRecipe) -> TokenAdmission:
    """The issuer of a recipe's tokens; ValueError if the recipe needs none."""
    if recipe.admission is None:
        raise ValueError("any sender may report to this recipe: it has no tokens")
    return recipe.admission


@lru_cache(maxsize=256)
def _loaded(encoded: bytes) -> PublicKey:
    return PublicKey.decode(encoded)
