"""`mtls`: managed fleets, whose devices show a client certificate to the proxy before the attester.

The proxy verifies the certificate and writes its subject into the header PANAPP_MTLS_HEADER. **It must
overwrite that header in every request**: naming the header in the settings declares that it does.
"""

import hashlib
import re

from django.conf import settings
from django.http import HttpRequest

from partners.required_settings import required
from tokens.attester.kinds.interface import Attestation, refused, unattested
from tokens.attester.models import Device

_PSEUDONYM = b"panapp-mtls-device-1\n"
_SUBJECT = re.compile(r"[ -~]{1,200}")
"""One line of ASCII, as proxies write subjects (RFC 4514)."""


class ClientCertificates(Attestation):
    """One subject, one device: renewing a certificate changes nothing. Only revoked subjects are stored."""

    name = "mtls"
    title = "Client certificates, which the proxy verifies"

    def identify(self, request: HttpRequest, body: bytes) -> bytes:
        header = required(settings.MTLS_HEADER, "PANAPP_MTLS_HEADER")
        subject = request.headers.get(header, "")
        if not subject:
            raise unattested("Show the device's certificate.")
        pseudonym = self.pseudonym_of(subject)
        if pseudonym is None or Device.objects.filter(pseudonym=pseudonym, revoked=True).exists():
            raise refused()
        return pseudonym

    def pseudonym_of(self, name: str) -> bytes | None:
        # Only what a list of revoked subjects can hold.
        if not _SUBJECT.fullmatch(name):
            return None
        return hashlib.sha256(_PSEUDONYM + name.encode()).digest()
