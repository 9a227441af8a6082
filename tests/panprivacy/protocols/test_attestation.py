"""Token requests that a device signs, and what an authenticator signs in place of one."""

import random
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.formats import base64_text
from panprivacy.protocols import attestation
from panprivacy.protocols.attestation import CAPSULE_BYTES, CLOCK_SECONDS, KEY_HEADER
from panprivacy.protocols.dap.signature_base import SignatureRefusedError
from panprivacy.protocols.hpke import KemName
from panprivacy.protocols.oblivious_http import capsules, keys, padding
from panprivacy.protocols.oblivious_http.binary_http import Request
from panprivacy.protocols.privacy_pass.tokens import TokenRequest

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
URL = "https://attester.test/attester/token"
NOW = 1_800_000_000
CAPSULE = bytes(CAPSULE_BYTES[KemName.X_WING])


def verified(**changes: Any) -> bytes:
    headers = attestation.sign_capsule(URL, CAPSULE, KEY, NOW)
    headers |= changes.pop("headers", {})
    given: dict[str, Any] = {"url": URL, "capsule": CAPSULE, "now": NOW, **changes}
    return attestation.verify_capsule(headers=headers, **given)


def test_signed_capsule_tells_the_devices_key() -> None:
    assert verified() == KEY.public_key().public_bytes_raw()


@pytest.mark.parametrize("off", [-86_400, 86_400, CLOCK_SECONDS])
def test_device_whose_clock_is_wrong_by_a_day_is_known_all_the_same(off: int) -> None:
    assert verified(now=NOW + off)


@pytest.mark.parametrize(
    "changes",
    [
        {"capsule": b"\1" + CAPSULE[1:]},
        {"url": "https://attester.test/attester/enrolments"},
        {"url": "https://other.test/attester/token"},
        {"now": NOW + CLOCK_SECONDS + 1},
        {"now": NOW - CLOCK_SECONDS - 1},
        {"headers": {KEY_HEADER: base64_text.encode(OTHER.public_key().public_bytes_raw())}},
        {"headers": {KEY_HEADER: ""}},
        {"headers": {KEY_HEADER: "AAAA"}},
        {"headers": {"Signature": ""}},
        {"headers": {"Signature-Input": ""}},
        {"headers": {"Content-Type": "text/plain"}},
    ],
)
def test_request_that_is_not_what_the_device_signed_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(SignatureRefusedError):
        verified(**changes)


def test_key_under_which_anybody_signs_anything_is_refused() -> None:
    # Under the neutral element the equation is S·B = R, whatever the message: here S = 1 and R = B.
    neutral, base = b"\1" + bytes(31), b"\x58" + b"\x66" * 31
    signature = base64_text.encode(base + (1).to_bytes(32, "little"))
    with pytest.raises(SignatureRefusedError, match="no Ed25519 key"):
        verified(headers={KEY_HEADER: base64_text.encode(neutral), "Signature": f"dap=:{signature}:"})


@pytest.mark.parametrize("kem", KemName)
def test_every_token_request_has_the_length_that_is_expected(kem: KemName) -> None:
    source = random.Random(1)
    config, _ = keys.generate(7, source, kem)
    body = TokenRequest(2, 255, bytes(256)).encode()
    fields = ((b"content-type", b"application/private-token-request"),)
    path = b"/issuer/recipes/" + b"f" * 64 + b"/token"
    inner = Request(b"POST", b"https", b"issuer-with-a-long-name.example:8443", path, fields, body)
    capsule, _ = capsules.seal(config, padding.padded(inner.encode()), source)
    assert len(capsule) == CAPSULE_BYTES[kem]


def test_challenge_of_an_assertion_depends_on_nonce_and_capsule() -> None:
    challenges = {
        attestation.assertion_challenge(nonce, capsule) for nonce in (b"a", b"b") for capsule in (b"1", b"2")
    }
    assert len(challenges) == 4
    assert {len(challenge) for challenge in challenges} == {32}
