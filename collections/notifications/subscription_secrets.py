"""The secret of a subscription, and the links in mails that only its owner's mailbox has."""

import hashlib
import hmac
from datetime import datetime

from django.utils.crypto import constant_time_compare

from notifications.models import Subscription
from panprivacy.formats import base64_text
from storage.columns import stored_bytes
from storage.sealing import secret_seal, secret_unseal

KIND = b"subscription"


def secret_sealed(secret: bytes, identifier: str) -> bytes:
    """The secret of a subscription as it is stored, in this transaction."""
    return secret_seal(secret, kind=KIND, owner=identifier.encode())


def secrets_in_use(subscription: Subscription, now: datetime) -> list[bytes]:
    """The secret, and the previous one as long as that is valid too."""
    rows = [subscription.sealed]
    if subscription.before_until is not None and now < subscription.before_until:
        rows.append(stored_bytes(subscription.sealed_before))
    return [_opened(row, subscription) for row in rows]


def confirmation_code(subscription: Subscription, expires: int) -> str:
    """The proof that the owner of an address read the mail that confirms it.

    Args:
        expires: when it does, in seconds since 1970.
    """
    return _code(subscription, f"confirm {expires} {subscription.target}")


def unsubscription_code(subscription: Subscription) -> str:
    """What ends a subscription without signing in."""
    return _code(subscription, "unsubscribe")


def is_code(code: str, expected: str) -> bool:
    """Whether they are the same, in constant time."""
    return constant_time_compare(code, expected)


def _code(subscription: Subscription, purpose: str) -> str:
    secret = _opened(subscription.sealed, subscription)
    return base64_text.encode_url(hmac.new(secret, purpose.encode(), hashlib.sha256).digest())


def _opened(sealed: bytes | memoryview, subscription: Subscription) -> bytes:
    return secret_unseal(sealed, kind=KIND, owner=subscription.identifier.encode())
