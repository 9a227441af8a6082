"""A secret that is set up: shown as a picture and as text, and only in the session that began it.

Another session of the account begins another secret. Otherwise an attacker who has the password, too, would
see the secret that the owner takes up a moment later.
"""

import hashlib
from typing import Any

import segno
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare
from django.utils.safestring import SafeString, mark_safe

from accounts.second_factor.codes import address_of, typed_secret
from accounts.second_factor.operations import FactorStateError, begun_secret, factor_begin, factor_confirm

ISSUER = "Private telemetry"

_BEGUN = "second_factor_begun"
"""Of a session: the hash of the secret that it began."""


def enrolment_begin(request: HttpRequest, user: User) -> bytes:
    """A new secret for this session, instead of any that was begun; errors as of `factor_begin`."""
    secret = factor_begin(user=user)
    request.session[_BEGUN] = _hash(secret)
    return secret


def enrolment_secret(request: HttpRequest, user: User) -> bytes | None:
    """The secret that this session began and that waits for its first code."""
    secret, begun = begun_secret(user), request.session.get(_BEGUN)
    is_own = secret is not None and begun is not None and constant_time_compare(_hash(secret), begun)
    return secret if is_own else None


def enrolment_confirm(request: HttpRequest, user: User, code: str) -> list[str]:
    """Take it up, as `factor_confirm`; FactorStateError, too, if another session has begun since."""
    if enrolment_secret(request, user) is None:
        raise FactorStateError("begin again: this secret was not begun here, or is older than 15 minutes")
    codes = factor_confirm(user=user, code=code)
    del request.session[_BEGUN]
    return codes


def enrolment_context(user: User, secret: bytes) -> dict[str, Any]:
    """For `registration/_enrol.html`."""
    address = address_of(secret, account=user.get_username(), issuer=ISSUER)
    return {"picture": _picture(address), "secret": typed_secret(secret)}


def _picture(address: str) -> SafeString:
    # It holds no user input: modules of a QR code, black on white in either scheme.
    drawn = segno.make(address, error="m", micro=False).svg_inline(scale=5, light="#fff", dark="#000")
    return mark_safe(drawn)  # noqa: S308  # see above


def _hash(secret: bytes) -> str:
    return hashlib.sha256(secret).hexdigest()
