"""Strangers send the largest bodies there are, many at once, to fill the memory of the web process.

A body is let go of when it is answered, 64 MB of large bodies are worked on at once, and texts that would
grow when they are read are refused unread.
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
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
import pytest
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections

from reports.parsing import decode_body
from simulations.installation.ports import HOST, held_port
from simulations.installation.services import wait_until, web_command
from tests.factories import as_json, published_recipe, published_stream
from tests.memory import peak_of
from tests.patience import PATIENCE
from tests.processes import database_url
from web import bodies
from web.problems import Problem

JSON = "application/json"
MEGABYTE = 1024 * 1024


def ciphertexts(size: int) -> bytes:
    """A batch whose one report is refused once it was read."""
    return json.dumps({"reports": [as_json({"nonce": bytes(16), "ciphertexts": [bytes(size)]})]}).encode()


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
        "read": (here, ciphertexts(100_000), JSON),
        "refused": (here, wide(100_000), JSON),
        "unknown": (here.replace(str(recipe.identifier), "0" * 64), ciphertexts(100_000), JSON),
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


@pytest.mark.parametrize("body", [wide(MEGABYTE), escaped(MEGABYTE)], ids=["wide", "escaped"])
def test_a_text_that_would_take_four_times_its_length_is_refused_unread(body: bytes) -> None:
    def refused() -> None:
        with pytest.raises(Problem) as refusal:
            decode_body(body)
        assert refusal.value.status == 400

    _, peak = peak_of(refused)
    # Read, it takes 8 to 12 times its length.
    assert peak < 3 * len(body)


def test_large_bodies_wait_in_turn_and_small_ones_never(monkeypatch: pytest.MonkeyPatch, rf: Any) -> None:
    monkeypatch.setattr(bodies, "PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(bodies, "_ROOM", bodies._Room(3 * MEGABYTE))

    def read(size: int) -> Any:
        request = rf.post("/", bytes(size), content_type=JSON)
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


def _status(port: int, method: str, path: str, body: bytes = b"") -> int | None:
    connection = http.client.HTTPConnection(HOST, port, timeout=PATIENCE)
    try:
        connection.request(method, path, body, {"Content-Type": JSON})
        return connection.getresponse().status
    except OSError:
        return None
    finally:
        connection.close()


def _resident(process: psutil.Process) -> int:
    return sum(each.memory_info().rss for each in (process, *process.children(recursive=True)))


@pytest.mark.long
@pytest.mark.processes
def test_96_bodies_of_16_megabytes_leave_the_web_process_small(web: tuple[int, psutil.Process]) -> None:
    port, process = web
    recipe = published_recipe(statistic="histogram", k=100, encryption="paillier-3072")
    reports = [{"nonce": os.urandom(16), "ciphertexts": [b"\x01" * 768] * 99} for _ in range(161)]
    body = json.dumps({"reports": list(map(as_json, reports))}).encode()
    assert len(body) > 15.5 * MEGABYTE
    path = f"/api/v1/recipes/{recipe.identifier}/reports/batch/"
    with ThreadPoolExecutor(32) as senders:
        for _ in range(3):
            statuses = set(senders.map(lambda _: _status(port, "POST", path, body), range(32)))
            assert {200} <= statuses <= {200, 503}
    assert _resident(process) < 2_000 * MEGABYTE
    assert _status(port, "POST", "/api/v1/recipes/", json.dumps({}).encode()) == 401
