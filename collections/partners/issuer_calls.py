"""The site's side of the issuer's resources. Every call may be made again after it got no answer."""

from dataclasses import dataclass

from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from panprivacy.protocols.ed25519 import public_key_of
from panprivacy.protocols.signed_count import CountRefusedError, IssuedTokens
from panprivacy.recipe.parts.admission import TokenAdmission
from partners.client import PeerClient, PeerUnavailableError
from partners.partner import Partner, ask_json, member_of, signature_of

HANDLE_BYTES = 16
"""Of the name that the issuer gives to each answer to an attester, on both sides."""


@dataclass(frozen=True)
class IssuedCount:
    """How many tokens of a recipe were issued, and the issuer's Ed25519 signature of it, which holds."""

    issued: int
    signature: bytes


def token_key_ask(partner: Partner, *, request: bytes) -> TokenAdmission:
    """The part of a document about its tokens, with a key of one recipe.

    Args:
        request: 16 random bytes; the same ones give the same key, for a day or until it is used.

    Raises:
        PeerUnavailableError, PeerRefusedError.
    """
    answer = ask_json(partner.client(), "POST", "/token-keys", {"request": request.hex()})
    try:
        return TokenAdmission(
            issuer_name=member_of(answer, "issuer_name", str),
            issuer_key=partner.verification_key,
            attester_url=member_of(answer, "attester_url", str),
            token_key=base64_text.decode(member_of(answer, "token_key", str)),
        )
    except (FieldError, base64_text.Base64Error) as error:
        raise PeerUnavailableError(f"the issuer's answer cannot be used: {error}") from error


def recipe_register(partner: Partner, *, identifier: str, document: bytes, request: bytes) -> bytes:
    """Have the issuer sign tokens for a recipe.

    Args:
        identifier: 64 hexadecimal digits, the SHA-256 of the document.
        document: canonical JSON of the recipe, with the key that `request` gave.

    Returns:
        The issuer's Ed25519 signature of the recipe, unchecked.

    Raises:
        PeerUnavailableError, PeerRefusedError.
    """
    members = {"document": document.decode(), "request": request.hex()}
    return signature_of(ask_json(partner.client(), "PUT", f"/recipes/{identifier}", members))


def issuance_end_ask(issuer: PeerClient, *, identifier: str, reason: str, issuer_key: bytes) -> IssuedCount:
    """End issuing for a recipe: its key is deleted there. Idempotent.

    Args:
        issuer_key: Ed25519, 32 bytes, as the recipe's document names it.

    Returns:
        How many tokens were issued.

    Raises:
        PeerUnavailableError, PeerRefusedError.
    """
    answer = ask_json(issuer, "POST", f"/recipes/{identifier}/end", {"reason": reason})
    count = IssuedCount(member_of(answer, "issued", int), signature_of(answer))
    if not 0 <= count.issued < 2**53:
        raise PeerUnavailableError("the issuer's number of tokens is none")
    try:
        key = public_key_of(issuer_key)
        IssuedTokens(identifier, count.issued).verify(count.signature, key)
    except CountRefusedError:
        raise PeerUnavailableError("the issuer's signature of its number of tokens does not hold") from None
    return count
