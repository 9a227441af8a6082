"""The kinds of attestation beside the roster: WebAuthn, client certificates, trials."""

import hashlib
import json
import secrets
from typing import Any

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import Client

from attester.enrolling import codes_make
from attester.kinds import KINDS
from attester.models import Device
from attester.nonces import LIFETIME_SECONDS, nonce_make, nonce_read
from panprivacy import attestation, base64_text
from panprivacy.base64_text import encode_url
from tests.collections.attester.scene import ORIGIN, FakeIssuer, KeyedDevice, ask, post, problem

pytestmark = pytest.mark.django_db

REFUSED, UNATTESTED = (403, "/problems/not-attested"), (401, "/problems/not-attested")
PRESENT, ATTESTED = 0x01, 0x40


def nonce() -> str:
    answer: str = Client().get("/attester/nonce").json()["nonce"]
    return answer


class Authenticator:
    """A security key in software (WebAuthn, sections 6.1 and 6.5). `counts`: whether it counts its uses."""

    def __init__(self, *, counts: bool = False) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.identifier = secrets.token_bytes(32)
        self.uses = 1 if counts else 0

    def client_data(self, kind: str, challenge: bytes, origin: str = ORIGIN) -> bytes:
        content = {"type": kind, "challenge": encode_url(challenge), "origin": origin, "crossOrigin": False}
        return json.dumps(content).encode()

    def authenticator_data(self, flags: int, host: str = "attester.test") -> bytes:
        return hashlib.sha256(host.encode()).digest() + bytes([flags]) + self.uses.to_bytes(4, "big")

    def credential(self, response: dict[str, bytes]) -> dict[str, Any]:
        identifier = encode_url(self.identifier)
        encoded = {name: encode_url(value) for name, value in response.items()}
        return {
            "id": identifier,
            "rawId": identifier,
            "type": "public-key",
            "response": encoded,
            "clientExtensionResults": {},
        }

    def registration(self, challenge: bytes, **changes: str) -> dict[str, Any]:
        """As `navigator.credentials.create()` returns it."""
        numbers = self.key.public_key().public_numbers()
        cose = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        attested = bytes(16) + len(self.identifier).to_bytes(2, "big") + self.identifier + cbor2.dumps(cose)
        data = self.authenticator_data(PRESENT | ATTESTED) + attested
        return self.credential(
            {
                "clientDataJSON": self.client_data("webauthn.create", challenge, **changes),
                "attestationObject": cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data}),
            }
        )

    def assertion(
        self, given: str, capsule: bytes, *, host: str = "attester.test", flags: int = PRESENT, **changes: str
    ) -> str:
        """The header for a capsule."""
        if self.uses:
            self.uses += 1
        challenge = attestation.assertion_challenge(base64_text.decode_url(given), capsule)
        client_data = self.client_data("webauthn.get", challenge, **changes)
        data = self.authenticator_data(flags, host)
        signature = self.key.sign(data + hashlib.sha256(client_data).digest(), ec.ECDSA(SHA256()))
        response = {"clientDataJSON": client_data, "authenticatorData": data, "signature": signature}
        content = {"nonce": given, "credential": self.credential(response)}
        return encode_url(json.dumps(content).encode())

    def enrol(self, code: str, **changes: Any) -> HttpResponse:
        given = nonce()
        members = {
            "code": code,
            "nonce": given,
            "credential": self.registration(base64_text.decode_url(given)),
            **changes,
        }
        return Client().post("/attester/enrolments", json.dumps(members), "application/json")


def asserted(capsule: bytes, header: str) -> HttpResponse:
    return post(capsule, {"Panapp-Assertion": header})


def code() -> str:
    from django.utils import timezone

    (made,) = codes_make(number=1, today=timezone.now().date())
    return made


class TestWebAuthn:
    @pytest.fixture(autouse=True)
    def _webauthn(self, settings: Any) -> None:
        settings.ATTESTATION = "webauthn"

    @pytest.mark.parametrize("counts", [False, True])
    def test_credential_gets_one_token_of_a_recipe(self, issuer: FakeIssuer, counts: bool) -> None:
        browser = Authenticator(counts=counts)
        assert browser.enrol(code()).status_code == 200
        asked = ask(issuer)
        first = asserted(asked.capsule, browser.assertion(nonce(), asked.capsule))
        assert asked.token(first.content)
        again = asserted(asked.capsule, browser.assertion(nonce(), asked.capsule))
        assert again.content == first.content
        other = ask(issuer)
        second = asserted(other.capsule, browser.assertion(nonce(), other.capsule))
        assert problem(second) == (409, "/problems/already-issued")

    def test_copied_assertion_gets_the_same_answer_at_most(self, issuer: FakeIssuer) -> None:
        still, counting = Authenticator(), Authenticator(counts=True)
        for browser in (still, counting):
            browser.enrol(code())
        asked, other = ask(issuer), ask(issuer)
        header = still.assertion(nonce(), asked.capsule)
        answers = {asserted(asked.capsule, header).content for _ in range(2)}
        assert len(answers) == 1
        assert problem(asserted(other.capsule, header)) == REFUSED
        header = counting.assertion(nonce(), other.capsule)
        assert asserted(other.capsule, header).status_code == 200
        assert problem(asserted(other.capsule, header)) == REFUSED

    def test_assertions_that_do_not_hold_are_refused(self, issuer: FakeIssuer) -> None:
        browser, stranger = Authenticator(), Authenticator()
        browser.enrol(code())
        capsule = ask(issuer).capsule
        foreign = nonce_make(0)
        forged = Authenticator()
        forged.identifier = browser.identifier
        headers = [
            stranger.assertion(nonce(), capsule),
            forged.assertion(nonce(), capsule),
            browser.assertion(foreign, capsule),
            browser.assertion(nonce(), capsule, origin="https://elsewhere.test"),
            browser.assertion(nonce(), capsule, host="elsewhere.test"),
            browser.assertion(nonce(), capsule, flags=0),
            encode_url(b"{}"),
            encode_url(b"[]"),
            encode_url(b'{"nonce": 1, "credential": []}'),
            encode_url(b"[" * 6_000),
            "?",
            "x" * 10_000,
        ]
        assert [problem(asserted(capsule, header)) for header in headers] == [REFUSED] * len(headers)
        assert problem(post(capsule, {})) == UNATTESTED
        # Keys of the roster's kind say nothing here.
        assert problem(post(capsule, KeyedDevice().enrolled().headers(capsule))) == UNATTESTED
        assert issuer.asked == []

    def test_credentials_that_do_not_hold_do_not_use_a_code_up(self) -> None:
        made, browser = code(), Authenticator()
        wrong = [
            {"nonce": nonce()},
            {"nonce": "x"},
            {"credential": browser.registration(b"x" * 56)},
            {"credential": {}},
            {"credential": None},
            {"more": 1},
        ]
        refused = (422, "/problems/credential-refused")
        assert [problem(browser.enrol(made, **changes)) for changes in wrong] == [refused] * len(wrong)
        assert problem(Authenticator().enrol("AAAAA")) == (403, "/problems/code-refused")
        assert browser.enrol(made).status_code == 200

    def test_revoked_credential_is_refused(self, issuer: FakeIssuer) -> None:
        browser, capsule = Authenticator(), ask(issuer).capsule
        # Its name begins with a dash, as one in 64 does.
        browser.identifier = b"\xfb" + browser.identifier[1:]
        browser.enrol(code())
        call_command("attester", "revoke", encode_url(browser.identifier))
        assert problem(asserted(capsule, browser.assertion(nonce(), capsule))) == REFUSED
        with pytest.raises(CommandError, match="lists are for roster"):
            call_command("attester", "enrol", "-")

    def test_nonces_are_ours_and_young(self) -> None:
        made = nonce_make(1_000)
        assert nonce_read(made, 1_000 + LIFETIME_SECONDS)
        for text, now in (
            (made, 1_001 + LIFETIME_SECONDS),
            (made, 999),
            (made[:-2] + "AA", 1_000),
            ("", 1_000),
            (None, 1_000),
        ):
            with pytest.raises(ValueError, match=r"nonce|base64"):
                nonce_read(text, now)


class TestCertificates:
    @pytest.fixture(autouse=True)
    def _mtls(self, settings: Any) -> None:
        settings.ATTESTATION, settings.MTLS_HEADER = "mtls", "DeviceSubject"

    def test_subject_that_the_proxy_names_is_the_device_and_is_not_stored(self, issuer: FakeIssuer) -> None:
        asked, subject = ask(issuer), {"DeviceSubject": "CN=terminal 7,O=Example"}
        assert asked.token(post(asked.capsule, subject).content)
        assert problem(post(ask(issuer).capsule, subject)) == (409, "/problems/already-issued")
        assert post(ask(issuer).capsule, {"DeviceSubject": "CN=terminal 8"}).status_code == 200
        assert not Device.objects.exists()

    def test_missing_and_malformed_subjects_are_refused(self, issuer: FakeIssuer) -> None:
        capsule = ask(issuer).capsule
        assert problem(post(capsule, {})) == UNATTESTED
        for subject in ("CN=\u00e9", "x" * 201):
            assert problem(post(capsule, {"DeviceSubject": subject})) == REFUSED

    def test_revoked_subject_is_refused(self, issuer: FakeIssuer) -> None:
        for _ in range(2):
            call_command("attester", "revoke", "CN=terminal 7")
        capsule = ask(issuer).capsule
        assert problem(post(capsule, {"DeviceSubject": "CN=terminal 7"})) == REFUSED
        assert Device.objects.filter(revoked=True).count() == 1
        assert problem(Client().post("/attester/enrolments", '{"code": ""}', "application/json"))[0] == 404


class TestTrial:
    def test_any_fresh_key_is_a_device_and_none_is_stored(self, issuer: FakeIssuer, settings: Any) -> None:
        settings.ATTESTATION = "trial"
        for _ in range(2):
            device, asked = KeyedDevice(), ask(issuer)
            assert asked.token(device.post(asked.capsule).content)
            assert problem(device.post(ask(issuer).capsule)) == (409, "/problems/already-issued")
        assert problem(post(bytes(attestation.CAPSULE_BYTES), {})) == UNATTESTED
        assert not Device.objects.exists()
        assert Client().get("/attester/nonce").status_code == 404


def test_every_kind_is_registered_under_its_name() -> None:
    assert list(KINDS) == ["roster", "webauthn", "mtls", "trial"]
    assert all(kind.title for kind in KINDS.values())
