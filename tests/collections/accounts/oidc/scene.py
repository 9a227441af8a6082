"""A provider that answers whatever a test wants, over HTTP, and the tokens that it signs."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.http import HttpResponse
from django.test import Client

from accounts.oidc.configuration import Organization

CLIENT_ID, CLIENT_SECRET = "telemetry", "s3cret & more"
GROUP, ADMINISTRATORS = "telemetry-analysts", "telemetry-admins"
ROLES = (("analyst", GROUP), ("auditor", "audit"), ("administrator", ADMINISTRATORS))

START, ANSWER = "/sign-in/organization/", "/sign-in/organization/answer/"

EC_KEY, OTHER_EC_KEY = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
P384_KEY = ec.generate_private_key(ec.SECP384R1())
RSA_KEY = rsa.generate_private_key(65537, 2048)
WEAK_RSA_KEY = rsa.generate_private_key(65537, 1024)  # noqa: S505  # to be refused

_ALGORITHMS: dict[str, Any] = {
    "ES256": jwt.algorithms.ECAlgorithm(jwt.algorithms.ECAlgorithm.SHA256),
    "RS256": jwt.algorithms.RSAAlgorithm(jwt.algorithms.RSAAlgorithm.SHA256),
}


def organization(issuer: str, **changes: Any) -> Organization:
    members: dict[str, Any] = {
        "issuer": issuer,
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "groups_claim": "groups",
        "roles": ROLES,
    }
    return Organization(**{**members, **changes})


def jwk(key: Any, kid: str = "1", **members: Any) -> dict[str, Any]:
    """The public half as a JSON Web Key."""
    algorithm = "RS256" if isinstance(key, rsa.RSAPrivateKey) else "ES256"
    made: dict[str, Any] = _ALGORITHMS[algorithm].to_jwk(key.public_key(), as_dict=True)
    return {**made, "kid": kid, "use": "sig", **members}


def signed(claims: Any, key: Any = EC_KEY, algorithm: str = "ES256", **header: Any) -> str:
    """A token, also by algorithms that must be refused."""
    body = claims if isinstance(claims, bytes) else json.dumps(claims).encode()
    members = {"alg": algorithm, "kid": "1", **header}
    head = json.dumps({name: value for name, value in members.items() if value is not None}).encode()
    signing_input = f"{_url(head)}.{_url(body)}"
    if algorithm == "none":
        signature = b""
    elif algorithm == "HS256":
        signature = hmac.digest(key, signing_input.encode(), hashlib.sha256)
    else:
        signature = _ALGORITHMS[algorithm].sign(signing_input.encode(), key)
    return f"{signing_input}.{_url(signature)}"


def pem(key: Any) -> bytes:
    return bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))


def _url(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


class Provider:
    """What it answers at a path may be replaced: `answers[path]` returns a status, and a body in parts."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.keys = [jwk(EC_KEY)]
        self.described: dict[str, Any] = {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "jwks_uri": f"{issuer}/keys",
        }
        self.token = ""
        self.asked: list[tuple[str, dict[str, str], dict[str, str]]] = []
        self.answers: dict[str, Callable[[], tuple[int, Iterator[bytes]]]] = {}

    def answer(self, path: str) -> tuple[int, Iterator[bytes]]:
        if path in self.answers:
            return self.answers[path]()
        documents: dict[str, Any] = {
            "/.well-known/openid-configuration": self.described,
            "/token": {"id_token": self.token, "access_token": "x", "token_type": "Bearer"},
            "/keys": {"keys": self.keys},
        }
        if path not in documents:
            return 404, iter(())
        return 200, iter((json.dumps(documents[path]).encode(),))

    def count(self, path: str) -> int:
        return sum(asked == path for asked, _, _ in self.asked)

    def claims(self, nonce: str, /, **changes: Any) -> dict[str, Any]:
        """Of a good token. A change to None takes a claim out; a duration is one from now."""
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "sub": "f81d4fae",
            "nonce": nonce,
            "iat": now,
            "exp": now + 300,
            "preferred_username": "ida",
            "groups": [GROUP, "staff"],
        }
        return {
            name: now + value.total_seconds() if isinstance(value, timedelta) else value
            for name, value in {**claims, **changes}.items()
            if value is not None
        }


@contextmanager
def running_provider() -> Iterator[Provider]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            form = dict(parse_qsl(self.rfile.read(length).decode()))
            provider.asked.append((self.path, dict(self.headers), form))
            status, body = provider.answer(self.path)
            try:
                self.send_response(status)
                self.send_header("Location", "http://127.0.0.1:1/")
                self.end_headers()
                for part in body:
                    self.wfile.write(part)
            except OSError:  # it no longer listens
                pass

        do_POST = do_GET  # noqa: N815  # http.server has it so

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = Provider(f"http://127.0.0.1:{server.server_port}")
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()


def begun(client: Client, query: str = "") -> dict[str, str]:
    """What the browser is sent to the provider with."""
    answer = client.get(f"{START}{query}")
    assert answer.status_code == 302, answer.content
    sent = parse_qs(urlsplit(answer["Location"]).query)
    return {name: value for name, [value] in sent.items()}


def came_back(client: Client, sent: dict[str, str], **query: str) -> HttpResponse:
    return client.get(ANSWER, {"code": "a-code", "state": sent["state"], **query})


def signed_in_as(client: Client, provider: Provider, query: str = "", **claims: Any) -> HttpResponse:
    """A whole sign-in, with these changes of a good token."""
    sent = begun(client, query)
    provider.token = signed(provider.claims(sent["nonce"], **claims))
    return came_back(client, sent)
