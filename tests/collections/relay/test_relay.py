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
from panprivacy.oblivious_http import capsules, keys, padding, signed_keys
from panprivacy.oblivious_http.binary_http import Request, Response
from relay import forwarding
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

    monkeypatch.setattr(forwarding, "https_transport", transport)
    return requests


def answering(monkeypatch: pytest.MonkeyPatch, status: int, content_type: str, body: bytes) -> None:
    headers = {
        "Content-Type": content_type,
        "Set-Cookie": "a=b",
        "Cache-Control": "max-age=5",
        signed_keys.HEADER: KEY_SIGNATURE,
    }
    answer = (status, headers, body)
    monkeypatch.setattr(forwarding, "https_transport", lambda *_, **__: answer)


def post(client: Client, body: bytes, content_type: str = capsules.REQUEST_MEDIA_TYPE) -> Any:
    return client.post("/relay/site", body, content_type=content_type)


@pytest.mark.django_db
def test_request_through_the_relay_gets_what_the_site_answers(
    relay: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
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

    monkeypatch.setattr(forwarding, "https_transport", to_the_site)
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


def test_gateways_of_a_sites_partners_have_addresses_below_the_sites(relay: Client, sent: list[Sent]) -> None:
    for name, status in {"site/helper": 504, "site/shuffler": 404, "other/helper": 404}.items():
        answer = relay.post(f"/relay/{name}", b"capsule", content_type=capsules.REQUEST_MEDIA_TYPE)
        assert answer.status_code == status
    [(_, url, _, _)] = sent
    assert url.startswith(HELPER)


def test_keys_are_fetched_through_the_relay_and_may_be_kept_as_long_as_the_gateway_says(
    relay: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, 200, keys.MEDIA_TYPE, b"keys")
    answer = relay.get("/relay/site")
    assert (answer.content, answer["Cache-Control"]) == (b"keys", "max-age=5")
    assert answer[signed_keys.HEADER] == KEY_SIGNATURE
    assert "Set-Cookie" not in answer


def test_signature_of_keys_stands_beside_no_answer_to_a_capsule(
    relay: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, 200, capsules.RESPONSE_MEDIA_TYPE, b"capsule")
    assert signed_keys.HEADER not in post(relay, b"capsule")


def test_refusals_of_the_gateway_are_passed_on(relay: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, 400, "application/problem+json", b'{"type": "x#ohttp-key"}')
    answer = post(relay, b"capsule")
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")


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
def test_hostile_gateway_reaches_neither_the_headers_nor_the_memory_of_a_relay(
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


@pytest.mark.parametrize("status", [200, 400])
def test_no_answer_to_a_capsule_is_kept_whatever_the_gateway_says(
    relay: Client, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    answering(monkeypatch, status, capsules.RESPONSE_MEDIA_TYPE, b"capsule")
    assert post(relay, b"capsule")["Cache-Control"] == "no-store"


def test_slow_gateway_holds_up_a_bounded_number_of_requests_and_no_other_gateway(
    relay: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived, go_on = threading.Semaphore(0), threading.Event()

    def transport(method: str, url: str, *_: Any, **__: Any) -> Any:
        if url.startswith(SITE):
            arrived.release()
            assert go_on.wait(PATIENCE)
        return 200, {"Content-Type": capsules.RESPONSE_MEDIA_TYPE}, b"capsule"

    monkeypatch.setattr(forwarding, "https_transport", transport)
    with ThreadPoolExecutor(forwarding.MOST_UNDER_WAY) as devices:
        try:
            most = forwarding.MOST_UNDER_WAY
            waiting = [devices.submit(forwarding.forward, SITE, "POST", b"") for _ in range(most)]
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
    statuses = {post(relay, b"capsule").status_code for _ in range(forwarding.MOST_UNDER_WAY + 1)}
    assert statuses == {504}


def test_other_gateways_methods_media_types_and_lengths_are_refused(relay: Client, sent: list[Sent]) -> None:
    assert relay.post("/relay/other", b"", content_type=capsules.REQUEST_MEDIA_TYPE).status_code == 404
    assert relay.delete("/relay/site").status_code == 405
    assert post(relay, b"capsule", "text/plain").status_code == 415
    assert post(relay, bytes(capsules.LARGEST_CAPSULE + 1)).status_code == 413
    assert sent == []


def test_status_names_the_gateways_and_nothing_else(relay: Client) -> None:
    page = relay.get("/").content.decode()
    assert SITE in page
    relay_url = "http://testserver/relay"
    assert relay.get("/status.json").json()["gateways"] == [
        {"name": "site", "relay": f"{relay_url}/site", "gateway": SITE},
        {"name": "site/helper", "relay": f"{relay_url}/site/helper", "gateway": HELPER},
    ]
    assert relay.get("/api/v1/recipes/").status_code == relay.get("/admin/").status_code == 404
