"""Nonces that this server made a short time ago, and did not store."""

import hmac
import secrets

from django.conf import settings

from panprivacy.formats import base64_text

LIFETIME_SECONDS = 300

_RANDOM_BYTES, _TIME_BYTES, _CODE_BYTES = 16, 8, 32
_PURPOSE = b"panapp attester nonces 1"


def nonce_make(now: int) -> str:
    """A fresh nonce, base64url.

    Args:
        now: seconds since 1970.
    """
    body = secrets.token_bytes(_RANDOM_BYTES) + now.to_bytes(_TIME_BYTES, "big")
    return base64_text.encode_url(body + _code(body))


def nonce_read(text: object, now: int) -> bytes:
    """The nonce's bytes, as `nonce_make` wrote them within `LIFETIME_SECONDS`.

    Raises:
        ValueError: it is none of ours, or too old.
    """
    nonce = base64_text.decode_url(text, _RANDOM_BYTES + _TIME_BYTES + _CODE_BYTES)
    body, code = nonce[:-_CODE_BYTES], nonce[-_CODE_BYTES:]
    made_at = int.from_bytes(body[_RANDOM_BYTES:], "big")
    if not hmac.compare_digest(code, _code(body)) or not 0 <= now - made_at <= LIFETIME_SECONDS:
        raise ValueError("the nonce is none of ours, or too old")
    return nonce


def _code(body: bytes) -> bytes:
    # Every web process has the secret key, and derives the same.
    secret = hmac.digest(settings.SECRET_KEY.encode(), _PURPOSE, "sha256")
    return hmac.digest(secret, body, "sha256")
