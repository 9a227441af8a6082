"""Signatures of webhooks, as Standard Webhooks has them, so that receivers find a library.

Source: Standard Webhooks specification 1.0.0, "Signature scheme", symmetric (standardwebhooks.com).
"""

import hashlib
import hmac
from collections.abc import Sequence

from panprivacy.formats import base64_text

PREFIX = "whsec_"
"""The prefix of every shown secret, so that people and scanners recognize one."""

SECRET_BYTES = 32


def secret_text(secret: bytes) -> str:
    """A secret as its owner is shown it."""
    return PREFIX + base64_text.encode(secret)


def signed_headers(message_id: str, timestamp: int, body: bytes, secrets: Sequence[bytes]) -> dict[str, str]:
    """The three headers of a webhook.

    Args:
        message_id: without a full stop.
        timestamp: of this attempt, in seconds since 1970.
        secrets: one, or two while one takes the place of the other: a signature for each.
    """
    content = b".".join((message_id.encode(), str(timestamp).encode(), body))
    signatures = (hmac.new(secret, content, hashlib.sha256).digest() for secret in secrets)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{base64_text.encode(each)}" for each in signatures),
    }
