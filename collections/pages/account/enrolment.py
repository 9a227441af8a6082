"""What is shown to an app: the secret as a picture and as text."""

from typing import Any

import segno
from django.contrib.auth.models import User
from django.utils.safestring import SafeString, mark_safe

from second_factor.codes import address_of, typed_secret

ISSUER = "Private telemetry"


def enrolment_context(user: User, secret: bytes) -> dict[str, Any]:
    """For `registration/_enrol.html`."""
    address = address_of(secret, account=user.get_username(), issuer=ISSUER)
    return {"picture": _picture(address), "secret": typed_secret(secret)}


def _picture(address: str) -> SafeString:
    # Nothing of it is anybody's input: modules of a QR code, black on white in either scheme.
    drawn = segno.make(address, error="m", micro=False).svg_inline(scale=5, light="#fff", dark="#000")
    return mark_safe(drawn)  # noqa: S308  # as said above
