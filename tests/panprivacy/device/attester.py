"""An attester and the issuer behind it in memory, which answer as in docs/protocol.md."""

import base64
import hashlib
import json
import random
import time
from collections.abc import Callable, Iterable
from typing import Any

from panprivacy.protocols.attestation import verify_capsule
from panprivacy.protocols.dap.signature_base import SignatureRefusedError
from panprivacy.protocols.oblivious_http import capsules, keys, padding, signed_keys
from panprivacy.protocols.oblivious_http.binary_http import Request, Response
from panprivacy.protocols.privacy_pass import issuance
from panprivacy.protocols.privacy_pass.rsa_keys import PrivateKey
from panprivacy.protocols.privacy_pass.tokens import TokenRequest
from tests.panprivacy.device.relay import PROBLEM, fresh_keys, published
from tests.tokens import ATTESTER_URL, ISSUER_KEY

SOURCE = random.Random(9578)
URL = ATTESTER_URL
Reply = tuple[int, str, bytes]


class MemoryAttester:
    """A WSGI application. Whoever signs with a key of its own is known (`trial`), unless `known` is set.

    Attributes:
        issued: identifiers of recipes → devices (keys) that got their token.
        blinded: every blinded message that the issuer was asked to sign, by recipe.
        sign: how the issuer answers a token request.
        is_open: whether it signs for its recipes still.
        now: seconds since 1970, by its clock.
        refuses: the problem with which it answers any request, in the capsule.
        meddle: what becomes of every answer on its way.
    """

    def __init__(self, token_keys: dict[str, PrivateKey], url: str = URL) -> None:
        self.token_keys = token_keys
        self.url = url
        self.codes: dict[str, bytes] = {}
        self.known: set[bytes] | None = None
        self.issued: dict[str, set[bytes]] = {}
        self.blinded: list[bytes] = []
        self.capsules: list[bytes] = []
        self.answers: dict[bytes, Reply] = {}
        self.sign: Callable[[PrivateKey, TokenRequest], bytes] = lambda key, request: issuance.issue(
            key, request, SOURCE
        ).encode()
        self.is_open: Callable[[], bool] = lambda: True
        self.now: Callable[[], float] = time.time
        self.refuses: Callable[[], Reply | None] = lambda: None
        self.meddle: Callable[[Reply], Reply] = lambda reply: reply
        self.rotate()

    def rotate(self) -> None:
        """Another key of the issuer's gateway; the old one opens nothing."""
        self.private_keys = fresh_keys()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"].endswith("/issuer-keys"):
            encoded = published(self.private_keys)
            signature = signed_keys.signature(encoded, ISSUER_KEY)
            start_response("200 OK", [("Content-Type", keys.MEDIA_TYPE), (signed_keys.HEADER, signature)])
            return [encoded]
        if environ["PATH_INFO"].endswith("/enrolments"):
            members = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
            self.codes[members["code"]] = base64.b64decode(members["key"])
            self.known = {*(self.known or ()), self.codes[members["code"]]}
            start_response("200 OK", [("Content-Type", "application/json")])
            return [b'{"status": "enrolled"}']
        capsule = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        headers = {
            name.removeprefix("HTTP_").replace("_", "-").lower(): value
            for name, value in environ.items()
            if name.startswith("HTTP_") or name == "CONTENT_TYPE"
        }
        self.capsules.append(capsule)
        status, kind, body = self.meddle(self._reply(capsule, headers))
        start_response(f"{status} Status", [("Content-Type", kind)])
        return [body]

    def _reply(self, capsule: bytes, headers: dict[str, str]) -> Reply:
        try:
            device = verify_capsule(f"{self.url}/token", capsule, headers, int(self.now()))
        except SignatureRefusedError:
            return problem(401, "/problems/not-attested")
        if self.known is not None and device not in self.known:
            return problem(403, "/problems/not-attested")
        digest = hashlib.sha256(capsule).digest()
        if digest not in self.answers:
            reply, recipe = self._issued(capsule)
            if recipe is None:
                return reply
            if device in self.issued.setdefault(recipe, set()):
                return problem(409, "/problems/already-issued")
            self.issued[recipe].add(device)
            self.answers[digest] = reply
        return self.answers[digest]

    def _issued(self, capsule: bytes) -> tuple[Reply, str | None]:
        try:
            opened, context = capsules.open_(self.private_keys, capsule)
        except capsules.UnknownKeyError:
            return problem(400, capsules.KEY_PROBLEM), None
        request = Request.decode(opened)
        _, _, recipe, _ = request.path.decode().split("/")
        refused = self.refuses()
        if recipe not in self.token_keys:
            refused = problem(404, "/problems/unrecognized-recipe", "No such recipe")
        elif not self.is_open():
            refused = problem(409, "/problems/recipe-not-open")
        if refused is not None:
            response = Response(refused[0], ((b"content-type", PROBLEM.encode()),), refused[2])
            sealed = context.seal(padding.padded_answer(response.encode()), SOURCE)
            return (200, capsules.RESPONSE_MEDIA_TYPE, sealed), None
        asked = TokenRequest.decode(request.content)
        self.blinded.append(asked.blinded_message)
        signed = self.sign(self.token_keys[recipe], asked)
        response = Response(200, ((b"content-type", b"application/private-token-response"),), signed)
        sealed = context.seal(padding.padded_answer(response.encode()), SOURCE)
        return (200, capsules.RESPONSE_MEDIA_TYPE, sealed), recipe


def problem(status: int, kind: str, title: str = "Refused") -> Reply:
    """A problem document of this type."""
    return status, PROBLEM, json.dumps({"type": kind, "title": title, "status": status}).encode()
