"""An issuer as docs/protocol-servers.md describes it, devices that ask for its tokens; random sequences."""

import hashlib
import json
import random
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import connection
from django.http import HttpResponse
from django.test import Client

from panprivacy.formats import base64_text
from panprivacy.protocols import attestation
from panprivacy.protocols.dap.signature_base import SignatureRefusedError
from panprivacy.protocols.dap.signatures import sign_response, verify_request
from panprivacy.protocols.oblivious_http import capsules, keys, padding, signed_keys
from panprivacy.protocols.oblivious_http.binary_http import Request, Response
from panprivacy.protocols.oblivious_http.capsules import KEY_PROBLEM, ClientContext, UnknownKeyError
from panprivacy.protocols.oblivious_prf import evaluation
from panprivacy.protocols.privacy_pass import issuance, rsa_keys
from panprivacy.protocols.privacy_pass.issuance import PendingToken
from panprivacy.protocols.privacy_pass.tokens import (
    TOKEN_TYPE,
    Token,
    TokenChallenge,
    TokenRequest,
    TokenResponse,
)
from panprivacy.protocols.token_request import token_request
from storage.signing_key import verification_key
from tests.concurrency import KilledError, killed_at_statement
from tests.panprivacy.device.relay import fresh_keys, published
from tokens.attester.enrolment import devices_enrol
from tokens.attester.issuer import Evaluated, issuer_failed
from tokens.attester.issuer_answers import answers_erase, handles_told, handles_untold
from tokens.attester.models import Answer, Handle, Issued
from tokens.attester.token_requests import token_answer
from web.problems import Problem, unavailable

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
        self.rotate()

    def rotate(self) -> None:
        """Other keys for capsules; the older ones are gone."""
        self.private_keys = fresh_keys()

    @property
    def config(self) -> keys.KeyConfig:
        """The key that devices in Python choose."""
        return keys.decode_list(published(self.private_keys))[0]

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
            encoded = published(self.private_keys)
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


# Random sequences of token requests with crashes, lost answers, races, replays and clocks that jump. The
# issuer is a small one without RSA: it signs a number. A race is a request that runs as a whole while another
# one waits for the issuer: what is stored is stored in one transaction, so requests can meet nowhere else.


RECIPES, DEVICES = 2, 3
STEPS = 12
DEEPEST = 3
"""Requests that wait for the issuer at once."""


@dataclass(frozen=True)
class Capsule:
    """A sealed request: of one recipe, with one blinded message."""

    recipe: int
    message: int
    content: bytes


@dataclass
class SmallIssuer:
    """Signs each blinded message once, and remembers under which handle.

    Attributes:
        fault: what happens at the next request; afterwards nothing does.
        meanwhile: runs while the request is on its way.
    """

    keys: list[bytes]
    capsules: dict[bytes, Capsule] = field(default_factory=dict)
    handles: dict[tuple[int, int], bytes] = field(default_factory=dict)
    withheld: set[bytes] = field(default_factory=set)
    fault: str = ""
    meanwhile: Callable[[], None] = lambda: None

    def answer(self, element: bytes, capsule: bytes, withheld: Sequence[bytes]) -> Evaluated:
        fault, meanwhile = self.fault, self.meanwhile
        self.fault, self.meanwhile = "", lambda: None
        self._break(fault, "before")
        asked = self.capsules[capsule]
        self.withheld.update(withheld)
        name = (asked.recipe, asked.message)
        handle = self.handles.setdefault(name, hashlib.sha256(repr(name).encode()).digest()[:16])
        evaluated = evaluation.evaluate(self.keys[asked.recipe], element)
        meanwhile()
        self._break(fault, "after")
        if fault == "wrong element":
            evaluated = b"\2" + b"\xff" * 32
        return Evaluated(asked.message.to_bytes(8, "big"), evaluated, handle)

    def _break(self, fault: str, when: str) -> None:
        if fault == f"crash {when}":
            raise KilledError
        if fault == f"down {when}":
            raise unavailable("The issuer does not answer.")
        if fault == f"nonsense {when}":
            raise issuer_failed("Nonsense.")


FAULTS = (
    *("", "", ""),
    *("crash before", "crash after", "down before", "down after", "nonsense after", "wrong element"),
)


class Course:
    """One sequence of events, and what came of it.

    Args:
        sharing: whether devices send blinded messages of each other, which honest ones never do.
    """

    def __init__(self, seed: int, *, sharing: bool) -> None:
        self.random = random.Random(seed)
        self.sharing = sharing
        self.issuer = SmallIssuer([evaluation.new_key(self.random) for _ in range(RECIPES)])
        self.pseudonyms = [self.random.randbytes(32) for _ in range(DEVICES)]
        self.capsules: dict[tuple[int, int], list[Capsule]] = defaultdict(list)
        self.delivered: dict[tuple[int, int], set[int]] = defaultdict(set)
        self.today = date(2026, 11, 23)
        self.messages = 0

    def run(self) -> None:
        for _ in range(self.random.randrange(2, STEPS)):
            self._step(0)
        self._settle_down()
        self._check()

    def _step(self, depth: int) -> None:
        kind = self.random.randrange(20)
        if kind == 0:
            self.today += timedelta(days=self.random.choice((-1, 1, 1, 2)))
        elif kind == 1:
            with self._dying():
                answers_erase(today=self.today)
        elif kind == 2:
            with self._dying():
                told = handles_untold()
                self.issuer.withheld.update(told)
                handles_told(told)
        else:
            self._request(depth)

    def _request(self, depth: int) -> None:
        device = self.random.randrange(DEVICES)
        capsule = self._capsule(device, self.random.randrange(RECIPES))
        self.issuer.fault = self.random.choice(FAULTS)
        if depth < DEEPEST and self.random.random() < 0.4:
            self.issuer.meanwhile = lambda: self._step(depth + 1)
        lost = self.random.random() < 0.2
        with self._dying():
            self._send(device, capsule, lost=lost)
        self.issuer.fault, self.issuer.meanwhile = "", lambda: None

    def _send(self, device: int, capsule: Capsule, *, lost: bool = False) -> bool:
        try:
            answer = token_answer(
                pseudonym=self.pseudonyms[device],
                capsule=capsule.content,
                issuer=self.issuer,
                today=self.today,
            )
        except Problem:
            return False
        if not lost:
            self.delivered[device, capsule.recipe].add(int.from_bytes(answer, "big"))
        return True

    def _capsule(self, device: int, recipe: int) -> Capsule:
        """One from before, or a new one of its message or of a fresh one; if shared, of another device."""
        owner = self.random.randrange(DEVICES) if self.sharing else device
        before = self.capsules[owner, recipe]
        draw = self.random.random()
        if before and draw < 0.5:
            return self.random.choice(before)
        if before and draw < 0.65:
            return self._sealed(device, recipe, self.random.choice(before).message)
        self.messages += 1
        return self._sealed(device, recipe, self.messages)

    def _sealed(self, device: int, recipe: int, message: int) -> Capsule:
        capsule = Capsule(recipe, message, self.random.randbytes(32))
        self.issuer.capsules[capsule.content] = capsule
        self.capsules[device, recipe].append(capsule)
        return capsule

    @contextmanager
    def _dying(self) -> Iterator[None]:
        """The process may die before any of its statements; what was not committed is gone."""
        statement = self.random.randrange(25) - 1 if self.random.random() < 0.3 else -1
        try:
            with killed_at_statement(statement):
                yield
        except KilledError:
            # What was under way is undone; the test's own transaction goes on.
            connection.set_rollback(False)

    def _settle_down(self) -> None:
        """Everything works again: each device that asked tries what it sent before, and then afresh."""
        for (device, recipe), sent in list(self.capsules.items()):
            answered = [self._send(device, capsule) for capsule in sent]
            afresh = self._send(device, self._sealed(device, recipe, self.messages + 1))
            self.messages += 1
            if not self.sharing:
                assert any(answered), "a device is kept from its token"
                assert not afresh, "a second token"
        told = handles_untold()
        self.issuer.withheld.update(told)
        handles_told(told)

    def _check(self) -> None:
        for recipe in range(RECIPES):
            of_all = {m for (_, of), each in self.delivered.items() if of == recipe for m in each}
            assert len(of_all) <= DEVICES, "more tokens than devices"
            handed_out = {self.issuer.handles[recipe, message] for message in of_all}
            assert not handed_out & self.issuer.withheld, "a token in use is not counted"
        if not self.sharing:
            assert all(len(messages) <= 1 for messages in self.delivered.values()), "a second token"
        assert not Handle.objects.filter(withheld=True, told=False).exists()


def forget_everything() -> None:
    """Between two sequences."""
    for model in (Answer, Handle, Issued):
        model.objects.all().delete()
