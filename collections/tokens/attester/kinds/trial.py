"""`trial`: any fresh key is a device. For simulations and demonstrations; production refuses it."""

import hashlib

from django.http import HttpRequest

from tokens.attester.kinds.interface import Attestation
from tokens.attester.kinds.signatures import signed_by

_PSEUDONYM = b"panapp-trial-device-1\n"


class Trial(Attestation):
    """Each new key counts as a device: this limits no client."""

    name = "trial"
    title = "Any key: for trials only, because it limits no device"

    def identify(self, request: HttpRequest, body: bytes) -> bytes:
        return hashlib.sha256(_PSEUDONYM + signed_by(request, body)).digest()
