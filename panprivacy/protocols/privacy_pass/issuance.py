"""The three parts of Privacy Pass (RFC 9578, section 6): a client asks, an issuer signs, any party verifies.

One key serves one purpose, e.g. one recipe: tokens of one key are indistinguishable, those of two keys are
not.
"""

import random
from dataclasses import dataclass

from panprivacy.protocols.privacy_pass import blind_rsa
from panprivacy.protocols.privacy_pass.blind_rsa import BlindSignatureError
from panprivacy.protocols.privacy_pass.rsa_keys import PrivateKey, PublicKey
from panprivacy.protocols.privacy_pass.tokens import (
    NONCE_BYTES,
    SIGNATURE_BYTES,
    TOKEN_TYPE,
    Token,
    TokenChallenge,
    TokenInput,
    TokenRequest,
    TokenResponse,
)


class TokenError(ValueError):
    """A token that is not accepted."""


class InvalidTokenError(TokenError):
    """Its signature is not by this key."""


class OtherPurposeError(TokenError):
    """It is for another challenge, or names another key."""


class InvalidRequestError(ValueError):
    """A token request that this key does not answer."""


class InvalidResponseError(ValueError):
    """An answer that gives no token: the issuer is broken, or cheats."""


@dataclass(frozen=True)
class PendingToken:
    """What a client keeps between request and answer. Secret: a party that has it recognizes the token.

    Attributes:
        key: the issuer's.
        input: what will be signed.
        inverse: unblinds the answer.
        request: what to send. Sending the same one again is safe, making a second one is not: an issuer may
            count requests.
    """

    key: PublicKey
    input: TokenInput
    inverse: int
    request: TokenRequest

    def finish(self, response: TokenResponse) -> Token:
        """The token, whose signature was verified; InvalidResponseError if the answer gives none."""
        signed = self.input.encode()
        try:
            authenticator = blind_rsa.finalize(
                blind_rsa.DETERMINISTIC, self.key, signed, response.blind_signature, self.inverse
            )
        except BlindSignatureError as error:
            raise InvalidResponseError(str(error)) from error
        return Token.decode(signed + authenticator)


def ask(key: PublicKey, challenge: TokenChallenge, random_source: random.Random) -> PendingToken:
    """Begin with a fresh nonce (RFC 9578, section 6.1).

    Args:
        key: the issuer's, 2,048 bits; InvalidRequestError for another length.
        random_source: `secrets.SystemRandom()`.
    """
    nonce = random_source.randbytes(NONCE_BYTES)
    salt = random_source.randbytes(blind_rsa.DETERMINISTIC.salt_bytes)
    return ask_with(key, challenge.digest, nonce, salt, random_source.randrange(1, key.n))


def ask_with(key: PublicKey, challenge_digest: bytes, nonce: bytes, salt: bytes, factor: int) -> PendingToken:
    """`ask` with the client's draws: nonce of 32 bytes, salt of 48, blinding factor from 1 to n - 1."""
    _require_length(key)
    signed = TokenInput(TOKEN_TYPE, nonce, challenge_digest, key.key_id)
    blinded = blind_rsa.blind_with(key, signed.encode(), salt, factor)
    request = TokenRequest(TOKEN_TYPE, key.key_id[-1], blinded.message)
    return PendingToken(key, signed, blinded.inverse, request)


def issue(key: PrivateKey, request: TokenRequest, random_source: random.Random) -> TokenResponse:
    """Sign a request (RFC 9578, section 6.2). The same request gets the same answer.

    Raises:
        InvalidRequestError: it names another key, or what is to be signed is no number below the modulus.
        blind_rsa.SigningError: the machine miscalculated.
    """
    _require_length(key.public)
    if request.truncated_key_id != key.public.key_id[-1]:
        raise InvalidRequestError("the request names another key")
    try:
        signature = blind_rsa.blind_sign(key, request.blinded_message, random_source)
    except BlindSignatureError as error:
        raise InvalidRequestError(str(error)) from error
    return TokenResponse(signature)


def verify(key: PublicKey, challenge_digest: bytes, token: Token) -> None:
    """Accept a token, or raise the reason why not. The caller must check whether it was already used.

    Args:
        challenge_digest: of what the token must be for, 32 bytes.

    Raises:
        OtherPurposeError: it is for another challenge, or names another key.
        InvalidTokenError: its signature is not by this key.
    """
    if token.challenge_digest != challenge_digest or token.key_id != key.key_id:
        raise OtherPurposeError("the token is for another purpose")
    try:
        blind_rsa.verify(blind_rsa.DETERMINISTIC, key, token.input.encode(), token.authenticator)
    except BlindSignatureError as error:
        raise InvalidTokenError("the token is not signed by this key") from error


def _require_length(key: PublicKey) -> None:
    if key.length != SIGNATURE_BYTES:
        raise InvalidRequestError(f"the key must have {8 * SIGNATURE_BYTES} bits")
