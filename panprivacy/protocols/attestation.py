"""How a device with a key of its own identifies itself to an attester.

With an Ed25519 key it signs its request as servers sign theirs (RFC 9421), and sends the key's name with it.
With WebAuthn, an authenticator signs a challenge derived from the request. Both are for one capsule: an
attacker that copies a request only gets the same answer again, which only the device can open.
"""

import hashlib
from collections.abc import Mapping

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.formats import base64_text
from panprivacy.protocols.dap.signature_base import SignatureRefusedError
from panprivacy.protocols.dap.signatures import sign_request, verify_request
from panprivacy.protocols.ed25519 import public_key_of
from panprivacy.protocols.hpke import KemName
from panprivacy.protocols.oblivious_http import padding
from panprivacy.protocols.oblivious_http.capsules import REQUEST_MEDIA_TYPE, request_overhead

KEY_HEADER = "Panapp-Device-Key"
"""Base64 of the device's Ed25519 verification key, 32 bytes."""

KEY_BYTES = 32

CAPSULE_BYTES = {kem: padding.CLASSES[0] + request_overhead(kem) for kem in KemName}
"""Of every sealed token request, by its KEM: no two of one KEM differ in length."""

CLOCK_SECONDS = 2 * 86_400
"""How far a device's clock may be off. A replayed request does nothing (see above), and a device whose clock
is wrong by a day can take part."""

_CHALLENGE = b"panapp-attestation-1\n"


def sign_capsule(url: str, capsule: bytes, signing_key: Ed25519PrivateKey, created: int) -> dict[str, str]:
    """The headers of a token request, with its content type.

    Args:
        url: the address that it is sent to, e.g. `https://attester.example/attester/token`.
        created: the current time, in seconds since 1970.
    """
    signature = sign_request(
        method="POST",
        url=url,
        body=capsule,
        content_type=REQUEST_MEDIA_TYPE,
        signing_key=signing_key,
        created=created,
    )
    key = signing_key.public_key().public_bytes_raw()
    return {"Content-Type": REQUEST_MEDIA_TYPE, KEY_HEADER: base64_text.encode(key), **signature}


def verify_capsule(url: str, capsule: bytes, headers: Mapping[str, str], now: int) -> bytes:
    """The device's key, 32 bytes, that signed the request. The caller checks whether it is known.

    Args:
        url: the attester's own address, not the one in the request.
        headers: by name, in any case.

    Raises:
        SignatureRefusedError: no key, or a signature that does not hold.
    """
    named = {name.lower(): value for name, value in headers.items()}.get(KEY_HEADER.lower(), "")
    try:
        key = base64_text.decode(named, KEY_BYTES)
        public_key = public_key_of(key)
    except ValueError:
        raise SignatureRefusedError(f"{KEY_HEADER} is no Ed25519 key in base64") from None
    verify_request(
        method="POST",
        url=url,
        headers=headers,
        body=capsule,
        verification_key=public_key,
        now=now,
        tolerance=CLOCK_SECONDS,
    )
    return key


def assertion_challenge(nonce: bytes, capsule: bytes) -> bytes:
    """The challenge of a WebAuthn assertion for a capsule, 32 bytes.

    Args:
        nonce: as the attester gave it.
    """
    return hashlib.sha256(_CHALLENGE + nonce + hashlib.sha256(capsule).digest()).digest()
