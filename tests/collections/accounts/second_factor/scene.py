"""An app that shows codes, as a phone has it."""

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from accounts.second_factor.codes import DIGITS, STEP_SECONDS


def code_of(secret: bytes, seconds: float) -> str:
    """The code that it shows at this time, in seconds since 1970."""
    return TOTP(secret, DIGITS, SHA1(), STEP_SECONDS).generate(seconds).decode()  # noqa: S303  # as RFC 6238 has it
