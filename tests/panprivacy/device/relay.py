"""A relay in memory and the gateways behind it, which answer as in docs/protocol.md."""

import itertools
import json
import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.protocols.hpke import KemName
from panprivacy.protocols.oblivious_http import capsules, keys, padding, signed_keys
from panprivacy.protocols.oblivious_http.binary_http import Request, Response
from tests.panprivacy.device.in_process import Application, InProcessTransport
from tests.panprivacy.device.server import SIGNING_KEY

SOURCE = random.Random(9458)
KEY_IDS = itertools.count()
"""So that a new key has another identifier than the old one."""
RELAY_URL = "https://relay.example/relay/site"
PROBLEM = "application/problem+json"
Reply = tuple[int, str, bytes]
"""Status, content type and body."""


def fresh_keys() -> dict[int, tuple[keys.KeyConfig, bytes]]:
    """A key of each KEM, by its number."""
    made = [keys.generate(next(KEY_IDS) % 256, SOURCE, kem) for kem in KemName]
    return {config.key_id: (config, private_key) for config, private_key in made}


def published(private_keys: dict[int, tuple[keys.KeyConfig, bytes]]) -> bytes:
    """The list of their public halves."""
    return keys.encode_list(tuple(config for config, _ in private_keys.values()))


class MemoryGateway:
    """Before a server in memory; its keys are signed by `signing_key`."""

    def __init__(self, server: Application, signing_key: Ed25519PrivateKey = SIGNING_KEY) -> None:
        self.server = server
        self.signing_key = signing_key
        self.asked: list[Request] = []
        self.lengths: list[int] = []
        self.rotate()

    def rotate(self) -> None:
        """Another key; the old one opens nothing."""
        self.private_keys = fresh_keys()

    def key_list(self) -> bytes:
        return published(self.private_keys)

    def answer(self, capsule: bytes) -> Reply:
        try:
            opened, context = capsules.open_(self.private_keys, capsule)
        except capsules.UnknownKeyError:
            return 400, PROBLEM, json.dumps({"type": capsules.KEY_PROBLEM}).encode()
        except capsules.CapsuleError:
            return 400, PROBLEM, json.dumps({"type": "/problems/capsule-refused"}).encode()
        request = Request.decode(opened)
        self.asked.append(request)
        self.lengths.append(len(opened))
        fields = dict(request.headers)
        answer = InProcessTransport(self.server).exchange(
            request.method.decode(),
            request.path.decode(),
            body=request.content,
            content_type=fields.get(b"content-type", b"").decode(),
        )
        headers = tuple((name.encode(), value.encode()) for name, value in answer.headers.items())
        encoded = padding.padded_answer(Response(answer.status, headers, answer.body).encode())
        return 200, capsules.RESPONSE_MEDIA_TYPE, context.seal(encoded, SOURCE)


class Relay:
    """A WSGI application; `meddle` sees every capsule, and what the gateway answers when it is asked for."""

    def __init__(self, gateways: Mapping[str, MemoryGateway]) -> None:
        self.gateways = dict(gateways)
        self.capsules: list[bytes] = []
        self.fetched = 0
        self.meddle: Callable[[bytes, Callable[[bytes], Reply]], Reply] = lambda capsule, ask: ask(capsule)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        gateway = self.gateways[environ["PATH_INFO"]]
        if environ["REQUEST_METHOD"] == "GET":
            self.fetched += 1
            encoded = gateway.key_list()
            headers = [
                ("Content-Type", keys.MEDIA_TYPE),
                (signed_keys.HEADER, signed_keys.signature(encoded, gateway.signing_key)),
            ]
            start_response("200 Status", headers)
            return [encoded]
        capsule = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        self.capsules.append(capsule)
        status, content_type, body = self.meddle(capsule, gateway.answer)
        start_response(f"{status} Status", [("Content-Type", content_type)])
        return [body]
