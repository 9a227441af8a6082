"""Strangers send the largest bodies there are, many at once, to fill the memory of the web process.

Before (commit b0f47a4): 32 bodies of 16 MB took web to 8.5 GB for good; measured anew, 4.7 GB after 96 of
them and rising. Requests are parts of reference cycles, so bodies stayed until Python looked for those; and
one character outside of ASCII made a text of 16 million characters take 64 MB, several times over.

Now a body is let go of when it is answered, 64 MB of large bodies are worked on at once, and texts with such
characters are refused unread. Measured: 1.7 GB while 32 bodies of 16 MB come at once, the third time as the
first time, and 0.6 GB after (with the image's MALLOC_MMAP_THRESHOLD_).
"""

import gc
import http.client
import io
import json
import os
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import msgpack
import psutil
import pytest
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections

from panapp.ports import HOST, held_port
from panapp.services import wait_until, web_command
from recipes.models import Recipe
from reports.parsing import decode_body
from tests.factories import published_recipe, published_stream
from tests.memory import peak_of
from tests.patience import PATIENCE
from tests.processes import database_url
from web import bodies
from web.problems import Problem

JSON, MESSAGEPACK = "application/json", "application/msgpack"
MEGABYTE = 1024 * 1024


def ciphertexts(size: int) -> bytes:
    """A batch whose one report is refused once it was read."""
    return msgpack.packb({"reports": [{"nonce": bytes(16), "ciphertexts": [bytes(size)]}]})


def wide(size: int) -> bytes:
    """A text of which one character needs four bytes, so that each one gets them."""
    return ('{"reports": ["\U0001f600' + "a" * size + '"]}').encode()


def escaped(size: int) -> bytes:
    return b'{"reports": ["\\ud83d\\ude00' + b"a" * size + b'"]}'


@pytest.fixture
def server() -> Iterator[Callable[..., str]]:
    """The web server without its sockets: calls the application as granian does, once for every request."""
    # As Django's own test client: the test's connection is not closed behind its back.
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    handler = WSGIHandler()

    def send(path: str, body: bytes, media_type: str) -> str:
        environ = {
            "REQUEST_METHOD": "POST",
            "PATH_INFO": path,
            "CONTENT_TYPE": media_type,
            "CONTENT_LENGTH": str(len(body)),
            "SERVER_NAME": HOST,
            "SERVER_PORT": "80",
            "HTTP_HOST": HOST,
            "wsgi.input": io.BytesIO(body),
            "wsgi.url_scheme": "http",
            "wsgi.errors": sys.stderr,
        }
        statuses: list[str] = []
        response = handler(environ, lambda status, headers: statuses.append(status))
        b"".join(response)
        response.close()
        return statuses[0]

    yield send
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["read", "refused", "unknown", "items", "upload"])
def test_a_body_is_gone_when_it_is_answered(server: Callable[..., str], kind: str) -> None:
    recipe, stream = published_recipe(), published_stream()
    here = f"/api/v1/recipes/{recipe.identifier}/reports/batch/"
    path, body, media_type = {
        "read": (here, ciphertexts(100_000), MESSAGEPACK),
        "refused": (here, wide(100_000), JSON),
        "unknown": (here.replace(str(recipe.identifier), "0" * 64), ciphertexts(100_000), MESSAGEPACK),
        "items": (f"/api/v1/recipes/{stream.identifier}/items/", b'{"items":[' + b" " * 100_000, JSON),
        "upload": (f"/leader/tasks/{'A' * 43}/reports", bytes(100_000), "application/dap-upload-req"),
    }[kind]
    server(path, body, media_type)  # what is loaded once is loaded now
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(8):
            server(path, bytes(bytearray(body)), media_type)  # each a copy of its own
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    # All 8 are 800,000 bytes; what else a request leaves until Python looks for cycles is 20,000 each.
    assert after - before < 4 * len(body)


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (wide(MEGABYTE), JSON),
        (escaped(MEGABYTE), JSON),
        (msgpack.packb({"reports": ["\U0001f600" + "a" * MEGABYTE]}), MESSAGEPACK),
    ],
    ids=["wide", "escaped", "MessagePack"],
)
def test_a_text_that_would_take_four_times_its_length_is_refused_unread(body: bytes, media_type: str) -> None:
    def refused() -> None:
        with pytest.raises(Problem) as refusal:
            decode_body(body, media_type, accepted=(JSON, MESSAGEPACK))
        assert refusal.value.status == 400

    _, peak = peak_of(refused)
    # Read, it takes 8 to 12 times its length.
    assert peak < 3 * len(body)


def test_large_bodies_that_find_no_room_wait_and_are_then_refused_and_small_ones_never(
    monkeypatch: pytest.MonkeyPatch, rf: Any
) -> None:
    monkeypatch.setattr(bodies, "PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(bodies, "_ROOM", bodies._Room(3 * MEGABYTE))

    def read(size: int) -> Any:
        request = rf.post("/", bytes(size), content_type=MESSAGEPACK)
        assert len(bodies.read_body(request, 16 * MEGABYTE)) == size
        return request

    first, second = read(MEGABYTE), read(MEGABYTE + 1)
    with pytest.raises(Problem) as refusal:
        read(MEGABYTE)
    assert refusal.value.status == 503
    assert refusal.value.response()["Retry-After"]
    read(bodies.SMALL_BYTES)
    # Whoever waits gets the room of one that is answered.
    monkeypatch.setattr(bodies, "PATIENCE_SECONDS", 30)
    answering = threading.Timer(0.2, bodies.BodiesMiddleware(lambda request: request), args=[first])
    answering.start()
    read(MEGABYTE)
    answering.join()
    assert "_body" not in vars(first)
    assert len(second.body) == MEGABYTE + 1


@pytest.fixture
def web(transactional_db: None) -> Iterator[tuple[int, psutil.Process]]:
    """A real web server on the test database: its port, and its process."""
    environment = {
        **os.environ,
        "DATABASE_URL": database_url(),
        "PANAPP_DATA_DIR": str(settings.DATA_DIR),
        "MALLOC_MMAP_THRESHOLD_": "131072",  # as in the image
    }
    with held_port() as port:
        process = subprocess.Popen(web_command(port), env=environment)
        try:
            assert wait_until(lambda: _status(port, "GET", "/health/live") == 200, PATIENCE)
            yield port, psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait()


def _status(port: int, method: str, path: str, body: bytes = b"", media_type: str = JSON) -> int | None:
    connection = http.client.HTTPConnection(HOST, port, timeout=PATIENCE)
    try:
        connection.request(method, path, body, {"Content-Type": media_type})
        return connection.getresponse().status
    except OSError:
        return None
    finally:
        connection.close()


def _resident(process: psutil.Process) -> int:
    return sum(each.memory_info().rss for each in (process, *process.children(recursive=True)))


def _send_at_once(port: int, recipe: Recipe, body: bytes, media_type: str, times: int) -> list[int | None]:
    statuses: list[int | None] = []
    path = f"/api/v1/recipes/{recipe.identifier}/reports/batch/"
    senders = [
        threading.Thread(target=lambda: statuses.append(_status(port, "POST", path, body, media_type)))
        for _ in range(times)
    ]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    return statuses


@pytest.mark.long
@pytest.mark.processes
def test_96_bodies_of_16_megabytes_leave_the_web_process_small(web: tuple[int, psutil.Process]) -> None:
    port, process = web
    recipe = published_recipe(statistic="histogram", k=100, encryption="paillier-3072")
    reports = [{"nonce": os.urandom(16), "ciphertexts": [b"\x01" * 768] * 99} for _ in range(217)]
    body = msgpack.packb({"reports": reports})
    assert len(body) > 15.5 * MEGABYTE
    for _ in range(3):
        statuses = _send_at_once(port, recipe, body, MESSAGEPACK, 32)
        assert set(statuses) <= {200, 503}
        assert 200 in statuses
    # 4.2 GB before, and rising with every body.
    assert _resident(process) < 2_000 * MEGABYTE
    assert _status(port, "POST", "/api/v1/recipes/", json.dumps({}).encode()) == 401
