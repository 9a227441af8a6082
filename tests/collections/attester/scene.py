"""An issuer as docs/protocol.md describes it, and devices that ask for its tokens."""

import json
import random
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.http import HttpResponse
from django.test import Client

from attester.enrolling import devices_enrol
from attester.issuer import Evaluated
from panprivacy import attestation, base64_text
from panprivacy.dap.signature_base import SignatureRefusedError
from panprivacy.dap.signatures import sign_response, verify_request
from panprivacy.oblivious_http import capsules, keys, padding, signed_keys
from panprivacy.oblivious_http.binary_http import Request, Response
from panprivacy.oblivious_http.capsules import KEY_PROBLEM, ClientContext, UnknownKeyError
from panprivacy.oblivious_prf import evaluation
from panprivacy.privacy_pass import issuance, rsa_keys
from panprivacy.privacy_pass.issuance import PendingToken
from panprivacy.privacy_pass.tokens import TOKEN_TYPE, Token, TokenChallenge, TokenRequest, TokenResponse
from panprivacy.token_request import token_request
from storage.signing_key import verification_key

ORIGIN = "https://attester.test"
ATTESTER_URL = f"{ORIGIN}/attester"
ISSUER_ORIGIN = "https://issuer.test"
ISSUER_URL = f"{ISSUER_ORIGIN}/issuer"
TOKEN_PATH = "/attester/token"  # no secret
RECIPE, OTHER_RECIPE = "a" * 64, "b" * 64


@cache
def token_key(number: int) -> rsa_keys.PrivateKey:
    """Made once: it takes part of a second."""
    return rsa_keys.generate(random.Random(number))


@dataclass
class FakeIssuer:
    """What the issuer does, without a database. Its network can be broken by `breaks`.

    Attributes:
        recipes: their OPRF keys and token keys.
        handles: of what was signed, by recipe and blinded message.
        withheld: handles that an attester named.
        asked: elements that it was asked to evaluate.
        breaks: called before and after each answer; may raise OSError, or change the answer's body.
    """

    signing_key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)
    recipes: dict[str, tuple[bytes, rsa_keys.PrivateKey]] = field(default_factory=dict)
    handles: dict[tuple[str, bytes], bytes] = field(default_factory=dict)
    withheld: set[bytes] = field(default_factory=set)
    asked: list[bytes] = field(default_factory=list)
    breaks: Callable[[str, bytes], bytes] = lambda when, body: body
    fetched: int = 0

    def __post_init__(self) -> None:
        for number, recipe in enumerate((RECIPE, OTHER_RECIPE)):
            self.recipes[recipe] = (evaluation.new_key(secrets.SystemRandom()), token_key(number))
        self.rotate(1)

    def rotate(self, number: int) -> None:
        """Another key for capsules; the older ones are gone."""
        self.config, private_key = keys.generate(number, secrets.SystemRandom())
        self.private_keys = {number: private_key}

    @property
    def verification_key(self) -> bytes:
        return self.signing_key.public_key().public_bytes_raw()

    @property
    def issued(self) -> int:
        """What it publishes in the end."""
        return len(set(self.handles.values()) - self.withheld)

    def answer(self, element: bytes, capsule: bytes, withheld: Sequence[bytes]) -> Evaluated:
        """The attester's request, once it is believed."""
        self.asked.append(element)
        self.withheld.update(withheld)
        opened, context = capsules.open_(self.private_keys, capsule)
        inner = Request.decode(opened)
        recipe = inner.path.decode().split("/")[-2]
        if recipe not in self.recipes:
            return Evaluated(self._seal(context, Response(404, (), b"")), None, None)
        oprf_key, key = self.recipes[recipe]
        request = TokenRequest.decode(inner.content)
        signed = issuance.issue(key, request, secrets.SystemRandom()).encode()
        handle = self.handles.setdefault((recipe, request.blinded_message), secrets.token_bytes(16))
        sealed = self._seal(context, Response(200, (), signed))
        return Evaluated(sealed, evaluation.evaluate(oprf_key, element), handle)

    def transport(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, **_: Any
    ) -> tuple[int, dict[str, str], bytes]:
        """Its addresses."""
        self.breaks("before", b"")
        if url == f"{ISSUER_ORIGIN}/.well-known/ohttp-gateway":
            self.fetched += 1
            encoded = keys.encode_list((self.config,))
            signature = signed_keys.signature(encoded, self.signing_key)
            return 200, {signed_keys.HEADER: signature, "Cache-Control": "max-age=600"}, encoded
        assert (method, url) == ("POST", f"{ISSUER_URL}/tokens")
        try:
            verify_request(
                method=method,
                url=url,
                headers=headers,
                body=body,
                verification_key=verification_key(),
                now=int(time.time()),
            )
        except SignatureRefusedError:
            return self._signed(403, b"{}", "application/problem+json", headers)
        content = json.loads(body)
        handles = [base64_text.decode(handle, 16) for handle in content["withheld"]]
        element, capsule = (base64_text.decode(content[name]) for name in ("element", "capsule"))
        try:
            answer = self.answer(element, capsule, handles)
        except UnknownKeyError:
            problem = json.dumps({"type": KEY_PROBLEM, "title": "unknown"}).encode()
            return self._signed(400, problem, "application/problem+json", headers)
        content = {
            "element": _text(answer.element),
            "capsule": base64_text.encode(answer.capsule),
            "handle": _text(answer.handle),
        }
        answered = self.breaks("after", json.dumps(content).encode())
        return self._signed(200, answered, "application/json", headers)

    def _signed(
        self, status: int, body: bytes, content_type: str, request_headers: Mapping[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        headers = {"Content-Type": content_type}
        signature = sign_response(
            status=status,
            headers=headers,
            body=body,
            request_headers=request_headers,
            signing_key=self.signing_key,
        )
        return status, {**headers, **signature}, body

    def _seal(self, context: Any, response: Response) -> bytes:
        sealed: bytes = context.seal(padding.padded_answer(response.encode()), secrets.SystemRandom())
        return sealed


@dataclass
class Asked:
    """What a device keeps between request and answer."""

    pending: PendingToken
    capsule: bytes
    context: ClientContext

    def token(self, answer: bytes) -> Token:
        """The token in an answer, verified."""
        response = Response.decode(self.context.open(answer))
        assert response.status == 200
        return self.pending.finish(TokenResponse.decode(response.content))


def sealed(config: keys.KeyConfig, pending: PendingToken, recipe: str = RECIPE) -> Asked:
    """A token request, sealed to the issuer."""
    inner = token_request("issuer.test", recipe, pending.request.encode())
    capsule, context = capsules.seal(config, padding.padded(inner.encode()), secrets.SystemRandom())
    return Asked(pending, capsule, context)


def ask(issuer: FakeIssuer, recipe: str = RECIPE) -> Asked:
    """A fresh token request of a device."""
    key = issuer.recipes[recipe][1].public if recipe in issuer.recipes else token_key(0).public
    challenge = TokenChallenge(TOKEN_TYPE, b"issuer.test", bytes.fromhex(recipe), b"")
    return sealed(issuer.config, issuance.ask(key, challenge, secrets.SystemRandom()), recipe)


class KeyedDevice:
    """A device with an Ed25519 key; `clock` is how far its clock is off, in seconds."""

    def __init__(self, clock: int = 0) -> None:
        self.key = Ed25519PrivateKey.generate()
        self.clock = clock

    @property
    def public(self) -> bytes:
        return self.key.public_key().public_bytes_raw()

    def enrolled(self, name: str = "one") -> "KeyedDevice":
        devices_enrol(devices={name: self.public})
        return self

    def headers(self, capsule: bytes) -> dict[str, str]:
        now = int(time.time()) + self.clock
        return attestation.sign_capsule(f"{ATTESTER_URL}/token", capsule, self.key, now)

    def post(self, capsule: bytes, **changes: str) -> HttpResponse:
        """The answer to a request that this device signed; `changes` replace its headers."""
        headers = {**self.headers(capsule), **changes}
        return post(capsule, headers)


def post(capsule: bytes, headers: Mapping[str, str]) -> HttpResponse:
    content_type = headers.get("Content-Type", capsules.REQUEST_MEDIA_TYPE)
    sent = {name: value for name, value in headers.items() if name != "Content-Type"}
    return Client().post(TOKEN_PATH, capsule, content_type, headers=sent)


def problem(response: HttpResponse) -> tuple[int, str]:
    return response.status_code, json.loads(response.content)["type"]


def _text(value: bytes | None) -> str | None:
    return None if value is None else base64_text.encode(value)
