"""Tokens of a recipe: what they are for, and whether one is good (RFC 9577, RFC 9578).

What a token is for follows from the recipe's document alone: nobody serves it, so nobody can mark a device by
serving it another one.
"""

from functools import lru_cache
from urllib.parse import urlsplit

from panprivacy.asked_admission import TokenAdmission
from panprivacy.privacy_pass import issuance
from panprivacy.privacy_pass.rsa_keys import PublicKey
from panprivacy.privacy_pass.tokens import TOKEN_BYTES, TOKEN_TYPE, Token, TokenChallenge
from panprivacy.recipe import PublishedRecipe
from panprivacy.tls_messages import InvalidMessageError

MISSING, INVALID, OF_ANOTHER_RECIPE = "token_missing", "token_invalid", "token_of_another_recipe"
REASONS = (MISSING, INVALID, OF_ANOTHER_RECIPE)
"""Why a report is rejected for its token."""

_WORDS = {
    MISSING: "the recipe takes reports with a token only",
    INVALID: "the token is not one that the recipe's issuer signed for this report",
    OF_ANOTHER_RECIPE: "the token is of another recipe",
}


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
    """The key of its tokens. Kept: to load one takes 30 times as long as to verify a token."""
    return _loaded(admission.token_key)


def challenge(recipe: PublishedRecipe) -> TokenChallenge:
    """What tokens of this recipe are for: its identifier, at the servers that its document names.

    Raises:
        ValueError: anybody may report.
    """
    hosts = ",".join(urlsplit(url).netloc for url in recipe.servers.verifying_urls)
    return TokenChallenge(
        TOKEN_TYPE,
        issuer_name=tokens_of(recipe).issuer_name.encode(),
        redemption_context=bytes.fromhex(recipe.identifier),
        origin_info=hosts.encode(),
    )


def token_nonce(recipe: PublishedRecipe, token: bytes | None) -> bytes:
    """The nonce of the one report for which a token is good, 16 bytes: verifying it is what it costs.

    Whether it was used before, the uniqueness of nonces says.

    Args:
        token: as it was sent; None or empty where none was.

    Raises:
        TokenRefusedError: it is missing, or not a token of this recipe.
        ValueError: anybody may report.
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


def token_require(recipe: PublishedRecipe, token: bytes | None, nonce: bytes) -> None:
    """Accept a token for the report of this nonce, or say why not.

    Raises:
        TokenRefusedError: as of `token_nonce`, or it is good for a report of another nonce.
    """
    if token_nonce(recipe, token) != nonce:
        raise TokenRefusedError(INVALID)


def report_nonce(token: Token) -> bytes:
    """The nonce of the report that a token is good for, 16 bytes."""
    return token.nonce[16:]


def tokens_of(recipe: PublishedRecipe) -> TokenAdmission:
    """Who issues the tokens of a recipe; ValueError where anybody may report."""
    if recipe.admission is None:
        raise ValueError("anybody may report of this recipe: it has no tokens")
    return recipe.admission


@lru_cache(maxsize=256)
def _loaded(encoded: bytes) -> PublicKey:
    return PublicKey.decode(encoded)
