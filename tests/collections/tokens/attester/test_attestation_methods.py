"""The kinds of attestation beside the roster: WebAuthn, client certificates, trials."""

import hashlib
import json
import secrets
from collections.abc import Callable
from typing import Any, NamedTuple

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS, AsymmetricPadding, PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256, SHA384, SHA512, HashAlgorithm
from django.conf import settings
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from panprivacy.formats import base64_text
from panprivacy.formats.base64_text import encode_url
from panprivacy.protocols import attestation
from tests.collections.tokens.attester.scene import ORIGIN, FakeIssuer, KeyedDevice, ask, post, problem
from tokens.attester.enrolment import codes_make
from tokens.attester.kinds.webauthn import ALGORITHMS
from tokens.attester.models import Device
from tokens.attester.nonces import LIFETIME_SECONDS, nonce_make, nonce_read

pytestmark = pytest.mark.django_db

REFUSED, UNATTESTED = (403, "/problems/not-attested"), (401, "/problems/not-attested")
PRESENT, ATTESTED = 0x01, 0x40


def nonce() -> str:
    answer: str = Client().get("/attester/nonce").json()["nonce"]
    return answer


class Signer(NamedTuple):
    """A key pair as an authenticator has it: with its public half as COSE (RFC 9052, section 7)."""

    cose: dict[int, int | bytes]
    sign: Callable[[bytes], bytes]


def of_curve(algorithm: int, number: int, curve: ec.EllipticCurve, digest: HashAlgorithm) -> Signer:
    key, size = ec.generate_private_key(curve), (curve.key_size + 7) // 8
    numbers = key.public_key().public_numbers()
    x, y = (value.to_bytes(size, "big") for value in (numbers.x, numbers.y))
    cose = {1: 2, 3: algorithm, -1: number, -2: x, -3: y}
    return Signer(cose, lambda data: key.sign(data, ec.ECDSA(digest)))


def of_rsa(algorithm: int, padding: AsymmetricPadding, digest: HashAlgorithm) -> Signer:
    key = rsa.generate_private_key(65537, 2048)
    numbers = key.public_key().public_numbers()
    cose = {1: 3, 3: algorithm, -1: numbers.n.to_bytes(256, "big"), -2: numbers.e.to_bytes(3, "big")}
    return Signer(cose, lambda data: key.sign(data, padding, digest))


def edwards() -> Signer:
    key = Ed25519PrivateKey.generate()
    return Signer({1: 1, 3: -8, -1: 6, -2: key.public_key().public_bytes_raw()}, key.sign)


def es256() -> Signer:
    return of_curve(-7, 1, ec.SECP256R1(), SHA256())


SIGNERS: dict[str, Callable[[], Signer]] = {
    "ES256": es256,
    "EdDSA": edwards,
    "RS256": lambda: of_rsa(-257, PKCS1v15(), SHA256()),
    "ES384": lambda: of_curve(-35, 2, ec.SECP384R1(), SHA384()),
    "ES512": lambda: of_curve(-36, 3, ec.SECP521R1(), SHA512()),
    "PS256": lambda: of_rsa(-37, PSS(MGF1(SHA256()), 32), SHA256()),
    "RS384": lambda: of_rsa(-258, PKCS1v15(), SHA384()),
}


class Authenticator:
    """A security key in software (WebAuthn, sections 6.1 and 6.5). `counts`: whether it counts its uses."""

    def __init__(self, *, counts: bool = False, signer: Signer | None = None) -> None:
        self.signer = es256() if signer is None else signer
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
        encoded = cbor2.dumps(self.signer.cose)
        attested = bytes(16) + len(self.identifier).to_bytes(2, "big") + self.identifier + encoded
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
        signature = self.signer.sign(data + hashlib.sha256(client_data).digest())
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


def code() -> str:
    (made,) = codes_make(number=1, today=timezone.now().date())
    return made


def asserted(capsule: bytes, header: str) -> HttpResponse:
    return post(capsule, {"Panapp-Assertion": header})


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

    @pytest.mark.parametrize("name", SIGNERS)
    def test_credential_signs_with_an_algorithm_of_the_protocol(self, issuer: FakeIssuer, name: str) -> None:
        browser, asked = Authenticator(signer=SIGNERS[name]()), ask(issuer)
        enrolled = browser.enrol(code())
        if name in ALGORITHMS:
            assert enrolled.status_code == 200
            answer = asserted(asked.capsule, browser.assertion(nonce(), asked.capsule))
            assert asked.token(answer.content)
        else:
            assert problem(enrolled) == (422, "/problems/credential-refused")
            assert not Device.objects.exists()

    def test_protocol_names_the_algorithms(self) -> None:
        protocol = " ".join((settings.BASE_DIR / "docs" / "protocol.md").read_text().split())
        assert f"signs with {', '.join(sorted(ALGORITHMS)[:-1])} or {max(ALGORITHMS)}" in protocol

    @pytest.mark.parametrize(
        "key", [bytes(32), b"\1" + bytes(31), b"\xee" + b"\xff" * 31, bytes(57)], ids=bytes.hex
    )
    def test_credential_under_whose_key_anybody_signs_is_refused(self, key: bytes) -> None:
        signer = edwards()
        signer.cose[-2] = key
        answer = Authenticator(signer=signer).enrol(code())
        assert problem(answer) == (422, "/problems/credential-refused")
        assert not Device.objects.exists()

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

    def test_missing_malformed_and_revoked_subjects_are_refused(self, issuer: FakeIssuer) -> None:
        capsule = ask(issuer).capsule
        for _ in range(2):
            call_command("attester", "revoke", "CN=terminal 7")
        assert Device.objects.filter(revoked=True).count() == 1
        assert problem(post(capsule, {})) == UNATTESTED
        for subject in ("CN=\u00e9", "x" * 201, "CN=terminal 7"):
            assert problem(post(capsule, {"DeviceSubject": subject})) == REFUSED
        assert Client().post("/attester/enrolments", '{"code": ""}', "application/json").status_code == 404


class TestTrial:
    def test_any_fresh_key_is_a_device_and_none_is_stored(self, issuer: FakeIssuer, settings: Any) -> None:
        settings.ATTESTATION = "trial"
        for _ in range(2):
            device, asked = KeyedDevice(), ask(issuer)
            assert asked.token(device.post(asked.capsule).content)
            assert problem(device.post(ask(issuer).capsule)) == (409, "/problems/already-issued")
        assert problem(post(bytes(max(attestation.CAPSULE_BYTES.values())), {})) == UNATTESTED
        assert not Device.objects.exists()
        assert Client().get("/attester/nonce").status_code == 404
