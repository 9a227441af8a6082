"""A partner in the same process and database, behind its own addresses: only HTTP is left out."""

from collections.abc import Callable, Mapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.test import Client, RequestFactory
from django.urls import resolve

Answer = tuple[int, Mapping[str, str], bytes]
Transport = Callable[[str, str, Mapping[str, str], bytes], Answer]


def verification_key_of(signing_key: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(signing_key).public_key().public_bytes_raw()


def deliver(
    method: str, path: str, headers: Mapping[str, str], body: bytes, *, urlconf: str, base: str = ""
) -> Answer:
    """What the partner answers whose addresses lie at `base`."""
    given = dict(headers)
    content_type = given.pop("Content-Type", "")
    request = RequestFactory().generic(method, path, body, content_type=content_type, headers=given)
    match = resolve(path.removeprefix(base).partition("?")[0], urlconf=urlconf)
    response = match.func(request, *match.args, **match.kwargs)
    return response.status_code, dict(response.headers), response.content


def in_process(origin: str) -> Callable[..., Answer]:
    """A network to addresses at `origin`, where this process answers as its settings have it; further
    arguments are members of the request's environment."""

    def carry(method: str, url: str, headers: Mapping[str, str], body: bytes, **environ: Any) -> Answer:
        sent = {name: value for name, value in headers.items() if name != "Content-Type"}
        content_type = headers.get("Content-Type", "")
        client = Client(raise_request_exception=False)
        response = client.generic(
            method, url.removeprefix(origin), body, content_type, headers=sent, **environ
        )
        return response.status_code, dict(response.headers), response.content

    return carry


def unreachable(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
    raise ConnectionRefusedError


def losing_answers(reached: Transport, *methods: str) -> Transport:
    """A network that loses the answers to these methods, after the partner has done what it was asked."""

    def carry(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        answer = reached(method, url, headers, body)
        if method in methods:
            raise TimeoutError
        return answer

    return carry
