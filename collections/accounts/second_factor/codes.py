"""Codes of an app (TOTP, RFC 6238: SHA-1, 6 digits, 30 seconds, as every app knows them) and recovery codes.

The algorithm is that of `cryptography`, which is here anyway.
"""

import base64
import hashlib
import re

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from django.utils.crypto import constant_time_compare

SECRET_BYTES = 20
DIGITS = 6
STEP_SECONDS = 30

STEPS_AWAY = 1
"""Steps by which the clock of a phone may be off, in either direction."""

RECOVERY_BYTES = 10
_RECOVERY = re.compile(r"[A-Z2-7]{16}")


def step_of_code(secret: bytes, code: str, seconds: float) -> int | None:
    """The time step whose code this is, around a time in seconds since 1970; None if it is the code
    of none."""
    totp = _codes_of(secret)
    now, found = int(seconds // STEP_SECONDS), None
    for step in range(now - STEPS_AWAY, now + STEPS_AWAY + 1):
        expected = totp.generate(step * STEP_SECONDS).decode()
        if constant_time_compare(code, expected):
            found = step
    return found


def address_of(secret: bytes, *, account: str, issuer: str) -> str:
    """What apps read from a picture: `otpauth://totp/…`."""
    return _codes_of(secret).get_provisioning_uri(account, issuer)


def _codes_of(secret: bytes) -> TOTP:
    return TOTP(secret, DIGITS, SHA1(), STEP_SECONDS)  # noqa: S303  # as RFC 6238 and all apps have it


def typed_secret(secret: bytes) -> str:
    """The secret as a person types it: base32 in groups of four."""
    return _grouped(base64.b32encode(secret).decode())


def recovery_text(random: bytes) -> str:
    """A recovery code as it is shown, of `RECOVERY_BYTES` random bytes."""
    return _grouped(base64.b32encode(random).decode())


def recovery_hash(text: str) -> str | None:
    """What is stored of a recovery code, however it is written; None if this cannot be one."""
    plain = re.sub(r"[\s-]", "", text).upper()
    return hashlib.sha256(plain.encode()).hexdigest() if _RECOVERY.fullmatch(plain) else None


def _grouped(text: str) -> str:
    return "-".join(text[start : start + 4] for start in range(0, len(text), 4))
