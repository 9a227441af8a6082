"""`webauthn`: browsers and people's devices. One credential is one device; a one-time code enrols it.

Nonces are not stored. An assertion is for one nonce of the last minutes and one capsule
(`panprivacy.protocols.attestation`), so that an attacker who copies it can only have the same capsule
answered again.
"""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from webauthn import verify_authentication_response, verify_registration_response
from webauthn.helpers.cose import COSEAlgorithmIdentifier
from webauthn.helpers.decode_credential_public_key import (
    DecodedOKPPublicKey,
    decode_credential_public_key,
)
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import AttestationFormat

from panprivacy.formats import base64_text
from panprivacy.protocols.attestation import assertion_challenge
from panprivacy.protocols.ed25519 import public_key_of
from partners.required_settings import required
from tokens.attester.enrolment import code_use
from tokens.attester.kinds.interface import Attestation, refused, unattested
from tokens.attester.models import Device
from tokens.attester.nonces import nonce_make, nonce_read
from web.problems import Problem

HEADER = "Panapp-Assertion"
"""Base64url of a JSON object: the nonce, and the assertion as browsers write it (`toJSON`)."""

LONGEST_HEADER = 8 * 1024
LONGEST_IDENTIFIER = 1023
"""Bytes of a credential's identifier (WebAuthn, section 4)."""

ALGORITHMS = {
    "ES256": COSEAlgorithmIdentifier.ECDSA_SHA_256,
    "EdDSA": COSEAlgorithmIdentifier.EDDSA,
    "RS256": COSEAlgorithmIdentifier.RSASSA_PKCS1_v1_5_SHA_256,
}
"""Algorithms with which credentials may sign, by their IANA names: those that WebAuthn recommends to offer.
Credentials with others are refused when they enrol."""

_FAULTS = (WebAuthnException, ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What the library raises for what is no credential."""


class Credentials(Attestation):
    """The credential must be enrolled."""

    name = "webauthn"
    title = "WebAuthn credentials of browsers and phones, enrolled by one-time codes"
    takes_codes = True

    def identify(self, request: HttpRequest, body: bytes) -> bytes:
        header = request.headers.get(HEADER, "")
        if not header:
            raise unattested(f"Send an assertion over this capsule in {HEADER}.")
        try:
            return _asserted(header, body)
        except _FAULTS:
            raise refused() from None

    def enrol(self, code: str, members: Mapping[str, Any]) -> None:
        try:
            nonce, credential = members["nonce"], members["credential"]
            verified = verify_registration_response(
                credential=credential,
                expected_challenge=nonce_read(nonce, _now()),
                expected_rp_id=_host(),
                expected_origin=_origin(),
                supported_pub_key_algs=list(ALGORITHMS.values()),
            )
            # The authenticator's maker is not requested: it would distinguish devices.
            if len(members) != 2 or verified.fmt != AttestationFormat.NONE:
                raise ValueError
            if not 0 < len(verified.credential_id) <= LONGEST_IDENTIFIER:
                raise ValueError
            public_key = decode_credential_public_key(verified.credential_public_key)
            if isinstance(public_key, DecodedOKPPublicKey):
                public_key_of(public_key.x)
        except _FAULTS:
            detail = "Send a fresh nonce of ours and a credential that was made with it, without attestation."
            raise Problem("credential-refused", "The credential is refused", 422, detail) from None
        code_use(
            code=code,
            key=verified.credential_id,
            credential_key=verified.credential_public_key,
            uses=verified.sign_count,
        )

    def nonce(self) -> str:
        return nonce_make(_now())


def _asserted(header: str, capsule: bytes) -> bytes:
    """The pseudonym. Raises one of `_FAULTS`, or Problem."""
    if len(header) > LONGEST_HEADER:
        raise ValueError
    content = json.loads(base64_text.decode_url(header))
    nonce, credential = nonce_read(content["nonce"], _now()), content["credential"]
    device = Device.objects.filter(key=base64_text.decode_url(credential["id"]), revoked=False).first()
    if device is None or device.credential_key is None:
        raise refused()
    verified = verify_authentication_response(
        credential=credential,
        expected_challenge=assertion_challenge(nonce, capsule),
        expected_rp_id=_host(),
        expected_origin=_origin(),
        credential_public_key=bytes(device.credential_key),
        credential_current_sign_count=device.uses,
    )
    if verified.new_sign_count:
        # A copy of the authenticator would count anew. Of two that come at once, one is taken.
        unused = Device.objects.filter(pk=device.pk, uses=device.uses)
        if not unused.update(uses=verified.new_sign_count):
            raise refused()
    return bytes(device.pseudonym)


def _now() -> int:
    return int(timezone.now().timestamp())


def _origin() -> str:
    parts = urlsplit(required(settings.ATTESTER_URL, "PANAPP_ATTESTER_URL"))
    return f"{parts.scheme}://{parts.netloc}"


def _host() -> str:
    return urlsplit(_origin()).hostname or ""
