"""`roster`: an organization's own devices. Each has an Ed25519 key, enrolled from a list or by a code."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from tokens.attester.enrolment import code_use, device_key
from tokens.attester.kinds.interface import Attestation, refused
from tokens.attester.kinds.signatures import signed_by
from tokens.attester.models import Device


class Roster(Attestation):
    """The key must be enrolled."""

    name = "roster"
    title = "Keys of devices, enrolled from a list or by one-time codes"
    takes_codes = True

    def identify(self, request: HttpRequest, body: bytes) -> bytes:
        key = signed_by(request, body)
        found = Device.objects.filter(key=key, revoked=False).values_list("pseudonym", flat=True).first()
        if found is None:
            raise refused()
        return bytes(found)

    def enrol(self, code: str, members: Mapping[str, Any]) -> None:
        code_use(code=code, key=device_key(members))
