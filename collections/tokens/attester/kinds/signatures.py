"""Which key a device signed its request with, for the kinds with which it has one of its own."""

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

from panprivacy.protocols.attestation import KEY_HEADER, verify_capsule
from panprivacy.protocols.dap.signature_base import SignatureRefusedError
from partners.required_settings import required
from tokens.attester.kinds.interface import refused, unattested


def signed_by(request: HttpRequest, body: bytes) -> bytes:
    """The key, 32 bytes. Raises Problem `not-attested`."""
    if KEY_HEADER not in request.headers:
        raise unattested(f"Sign the request with the device's key, and name the key in {KEY_HEADER}.")
    # Our own address and not the Host header: a request that was signed for another server must not be valid
    # here.
    url = f"{required(settings.ATTESTER_URL, 'PANAPP_ATTESTER_URL')}/token"
    try:
        return verify_capsule(url, body, request.headers, int(timezone.now().timestamp()))
    except SignatureRefusedError:
        raise refused() from None
