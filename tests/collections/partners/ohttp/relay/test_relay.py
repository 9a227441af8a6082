"""The relay before our own gateway, and before what is none."""

import contextlib
import random
import socket
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client

from panapp.roles import role_named
from panprivacy.protocols.oblivious_http import capsules, keys, padding, signed_keys
from panprivacy.protocols.oblivious_http.binary_http import Request, Response
from partners.ohttp.relay import gateway_request
from tests.factories import published_recipe
from tests.patience import PATIENCE

SOURCE = random.Random(9458)
SITE, HELPER = "https://telemetry.example", "https://helper.example"
KEY_SIGNATURE = "A" * 86 + "=="
Sent = tuple[str, str, Mapping[str, str], bytes]


@pytest.fixture
def relay(settings: Any) -> Client:
    """A client of this process, which answers as a relay would."""
    role = role_named("relay")
    settings.ROLE, settings.ROOT_URLCONF, settings.MIDDLEWARE = role, role.urlconf, list(role.middleware)
    settings.RELAY_GATEWAYS = {"site": SITE, "site/helper": HELPER}
    return Client(REMOTE_ADDR="198.51.100.7", headers={"cookie": "a=b", "x-forwarded-for": "198.51.100.7"})


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Sent]:
    """What the relay sends; it gets no answer."""
    requests: list[Sent] = []

    def transport(method: str, url: str, headers: Mapping[str, str], body: bytes, **_: Any) -> Any:
        requests.append((method, url, headers, body))
        raise TimeoutError

    monkeypatch.setattr(gateway_request, "https_transport", transport)
    return requests


def answering(monkeypatch: pytest.MonkeyPatch, status: int, content_type: str, body: bytes) -> None:
    headers = {
        "Content-Type": content_type,
        "Set-Cookie": "a=b",
        "Cache-Control": "max-age=5",
        signed_keys.HEADER: KEY_SIGNATURE,
    }
    answer = (status, headers, body)
    monkeypatch.setattr(gateway_request, "https_transport", lambda *_, **__: answer)


def post(client: Client, body: bytes, content_type: str = capsules.REQUEST_MEDIA_TYPE) -> Any:
    return client.post("/relay/site", body, content_type=content_type)


@pytest.mark.django_db
def test_relay_gives_the_sites_answer(relay: Client, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = published_recipe()

    def to_the_site(method: str, url: str, headers: Mapping[str, str], body: bytes, **_: Any) -> Any:
        site = role_named("all-in-one")
        ours = settings.ROOT_URLCONF, settings.MIDDLEWARE
        settings.ROOT_URLCONF, settings.MIDDLEWARE = site.urlconf, list(site.middleware)
        settings.OBLIVIOUS_ADDRESSES = frozenset(site.oblivious)
        options = {"data": body, "content_type": headers["Content-Type"]} if method == "POST" else {}
        answer = getattr(Client(), method.lower())(urlsplit(url).path, **options)
        settings.ROOT_URLCONF, settings.MIDDLEWARE = ours
        return answer.status_code, dict(answer.headers), answer.content

    monkeypatch.setattr(gateway_request, "https_transport", to_the_site)
    config, *_ = keys.decode_list(relay.get("/relay/site").content)
    path = f"/api/v1/recipes/{recipe.identifier}/".encode()
    inner = padding.padded(Request(b"GET", b"https", b"telemetry.example", path).encode())
    capsule, context = capsules.seal(config, inner, SOURCE)
    answer = post(relay, capsule)
    assert answer["Content-Type"] == capsules.RESPONSE_MEDIA_TYPE
    response = Response.decode(context.open(answer.content))
    assert response.status == 200
    assert recipe.identifier is not None
    assert recipe.identifier.encode() in response.content


def test_nothing_of_who_asked_goes_along_and_nothing_is_sent_twice(relay: Client, sent: list[Sent]) -> None:
    answer = post(relay, b"capsule")
    assert (answer.status_code, answer.json()["type"]) == (504, "/problems/gateway-silent")
    [request] = sent
    url = f"{SITE}/.well-known/ohttp-gateway"
    assert request == ("POST", url, {"Content-Type": capsules.REQUEST_MEDIA_TYPE}, b"capsule")


def test_keys_come_over_the_relay_and_are_kept(relay: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, 200, keys.MEDIA_TYPE, b"keys")
    answer = relay.get("/relay/site")
    assert (answer.content, answer["Cache-Control"]) == (b"keys", "max-age=5")
    assert answer[signed_keys.HEADER] == KEY_SIGNATURE
    assert "Set-Cookie" not in answer


@pytest.mark.parametrize(
    ("status", "content_type"),
    [
        (200, capsules.RESPONSE_MEDIA_TYPE),
        (400, capsules.RESPONSE_MEDIA_TYPE),
        (400, "application/problem+json"),
    ],
)
def test_answer_to_a_capsule_is_passed_on_and_never_kept(
    relay: Client, monkeypatch: pytest.MonkeyPatch, status: int, content_type: str
) -> None:
    answering(monkeypatch, status, content_type, b"answer")
    answer = post(relay, b"capsule")
    assert (answer.status_code, answer["Content-Type"], answer.content) == (status, content_type, b"answer")
    assert answer["Cache-Control"] == "no-store"
    assert signed_keys.HEADER not in answer


@pytest.mark.parametrize(
    ("status", "content_type", "body"),
    [
        (200, "text/html", b"<script>"),
        (200, "", b""),
        *((status, capsules.RESPONSE_MEDIA_TYPE, b"") for status in (204, 302, 304)),
    ],
)
def test_what_no_gateway_answers_is_not_passed_on(
    relay: Client, monkeypatch: pytest.MonkeyPatch, status: int, content_type: str, body: bytes
) -> None:
    answering(monkeypatch, status, content_type, body)
    answer = post(relay, b"capsule")
    assert (answer.status_code, answer.json()["type"]) == (502, "/problems/gateway-failed")


@pytest.mark.parametrize(
    ("header", "length", "status"),
    [
        (b"Cache-Control: max-age=5\r\n Set-Cookie: a=b", 4, 200),
        (b"Cache-Control: max-age=5, \xe9", 4, 200),
        (b"Cache-Control: " + b"a" * 60_000, 4, 200),
        (signed_keys.HEADER.encode() + b": " + b"A" * 89, 4, 200),
        (b"X: y", 1024 * 1024 + 1, 504),
    ],
)
def test_hostile_gateway_reaches_neither_headers_nor_memory_of_a_relay(
    relay: Client, settings: Any, header: bytes, length: int, status: int
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        settings.RELAY_GATEWAYS = {"site": f"http://127.0.0.1:{listener.getsockname()[1]}"}
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {keys.MEDIA_TYPE}\r\nContent-Length: {length}\r\n".encode()

        def answer_once() -> None:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.recv(65_536)
                connection.sendall(head + header + b"\r\n\r\n" + bytes(length))

        gateway = threading.Thread(target=answer_once, daemon=True)
        gateway.start()
        answer = relay.get("/relay/site")
        gateway.join(timeout=10)
    assert answer.status_code == status
    assert "Set-Cookie" not in answer
    assert "max-age" not in answer.get("Cache-Control", "")
    assert signed_keys.HEADER not in answer


def test_slow_gateway_holds_up_bounded_requests(relay: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    arrived, go_on = threading.Semaphore(0), threading.Event()

    def transport(method: str, url: str, *_: Any, **__: Any) -> Any:
        if url.startswith(SITE):
            arrived.release()
            assert go_on.wait(PATIENCE)
        return 200, {"Content-Type": capsules.RESPONSE_MEDIA_TYPE}, b"capsule"

    monkeypatch.setattr(gateway_request, "https_transport", transport)
    with ThreadPoolExecutor(gateway_request.MOST_UNDER_WAY) as devices:
        try:
            most = gateway_request.MOST_UNDER_WAY
            waiting = [devices.submit(gateway_request.forward, SITE, "POST", b"") for _ in range(most)]
            assert all(arrived.acquire(timeout=PATIENCE) for _ in waiting)
            refused = post(relay, b"capsule")
            assert (refused.status_code, refused.json()["type"]) == (503, "/problems/unavailable")
            assert int(refused["Retry-After"]) > 0
            helper = relay.post("/relay/site/helper", b"capsule", content_type=capsules.REQUEST_MEDIA_TYPE)
            assert helper.status_code == 200
        finally:
            go_on.set()
        assert {answered.result(PATIENCE).status for answered in waiting} == {200}
    assert post(relay, b"capsule").status_code == 200


def test_gateway_that_never_answered_is_asked_again_however_often(relay: Client, sent: list[Sent]) -> None:
    statuses = {post(relay, b"capsule").status_code for _ in range(gateway_request.MOST_UNDER_WAY + 1)}
    assert statuses == {504}


@pytest.mark.parametrize(
    ("method", "name", "content_type", "length", "status"),
    [
        ("POST", "site/helper", capsules.REQUEST_MEDIA_TYPE, 7, 504),
        ("POST", "site/shuffler", capsules.REQUEST_MEDIA_TYPE, 7, 404),
        ("POST", "other/helper", capsules.REQUEST_MEDIA_TYPE, 7, 404),
        ("POST", "other", capsules.REQUEST_MEDIA_TYPE, 7, 404),
        ("DELETE", "site", capsules.REQUEST_MEDIA_TYPE, 0, 405),
        ("POST", "site", "text/plain", 7, 415),
        ("POST", "site", capsules.REQUEST_MEDIA_TYPE, capsules.LARGEST_CAPSULE + 1, 413),
    ],
)
def test_only_capsules_for_known_gateways_are_sent(
    relay: Client, sent: list[Sent], method: str, name: str, content_type: str, length: int, status: int
) -> None:
    """Gateways of a site's partners have addresses below the site's."""
    answer = relay.generic(method, f"/relay/{name}", bytes(length), content_type)
    assert answer.status_code == status
    assert [url.startswith(HELPER) for _, url, _, _ in sent] == ([True] if status == 504 else [])


def test_status_names_the_gateways_and_nothing_else(relay: Client) -> None:
    page = relay.get("/").content.decode()
    assert SITE in page
    relay_url = "http://testserver/relay"
    assert relay.get("/status.json").json()["gateways"] == [
        {"name": "site", "relay": f"{relay_url}/site", "gateway": SITE},
        {"name": "site/helper", "relay": f"{relay_url}/site/helper", "gateway": HELPER},
    ]
    assert relay.get("/api/v1/recipes/").status_code == relay.get("/admin/").status_code == 404
