"""Reports, items and uploads in front of Django's middleware: answered as by Django, and stored together."""

import json
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import OperationalError, close_old_connections, connection, connections
from django.urls import reverse
from django_prometheus.middleware import Metrics

from publishing.publication import recipe_close
from recipes.models import Recipe
from reports.ingest import Ingest
from reports.models import ReportNonce, StoredReports
from reports.rows import WRITER
from reports.store import Submission
from reports.views import ReportView
from simulations.installation.services import wait_until
from storage import group_commit
from storage.group_commit import QueueFullError, RowHeldError
from streams.operations import BATCHES
from tests.factories import as_json, published_recipe, report_of_count
from tests.patience import PATIENCE
from tests.scenes import open_stream

pytestmark = pytest.mark.django_db
JSON = "application/json"


def passed_on(_environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Stands for Django where it must not be asked."""
    start_response("599 Passed on", [])
    return [b""]


@pytest.fixture
def ingest() -> Iterator[Ingest]:
    made = Ingest(passed_on, "panapp.ingest_urls")
    # Tests ask in the thread that holds their transaction.
    for sent in (request_started, request_finished):
        sent.disconnect(close_old_connections)
    yield made
    for sent in (request_started, request_finished):
        sent.connect(close_old_connections)


def asked(application: Any, path: str, body: bytes, **environ: Any) -> tuple[int, dict[str, str], bytes]:
    """Status, header fields and body of the answer to a POST."""
    given: list[Any] = []
    content = application(
        {
            "REQUEST_METHOD": "POST",
            "SCRIPT_NAME": "",
            "PATH_INFO": path,
            "QUERY_STRING": "",
            "CONTENT_TYPE": JSON,
            "CONTENT_LENGTH": str(len(body)),
            "SERVER_NAME": "testserver",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": "testserver",
            "wsgi.url_scheme": "http",
            "wsgi.input": BytesIO(body),
            "wsgi.errors": sys.stderr,
            **environ,
        },
        lambda status, fields, *_: given.extend((status, dict(fields))),
    )
    return int(given[0][:3]), given[1], b"".join(content)


def address(recipe: Recipe, name: str = "api-report") -> str:
    return reverse(name, args=[recipe.identifier])


def body_of(recipe: Recipe, count: int = 1) -> bytes:
    return json.dumps(as_json(report_of_count(recipe, count))).encode()


def test_answers_are_those_of_django_whatever_is_sent(ingest: Ingest) -> None:
    recipe, closed = published_recipe(), recipe_close(recipe=published_recipe(), actor=None)
    stream = open_stream(["1"])
    good = body_of(recipe)
    django = WSGIHandler()
    asked(django, address(recipe), good)  # so that from here on it is a repetition for both
    batch = json.dumps({"reports": [json.loads(good), {}]}).encode()
    cases: list[tuple[str, bytes, dict[str, Any]]] = [
        (address(recipe), good, {}),
        (address(recipe), b"{}", {}),
        (address(recipe), b"\xff", {}),
        (address(recipe), b"[" * 100_000, {}),
        (address(recipe), b"0" * 20_000_000, {}),
        (address(recipe), good, {"CONTENT_TYPE": "text/plain"}),
        (address(recipe), good, {"CONTENT_LENGTH": str(len(good) + 1)}),
        (address(recipe), good, {"HTTP_TRANSFER_ENCODING": "chunked"}),
        (address(closed), body_of(closed), {}),
        (address(stream), good, {}),
        (address(recipe).replace(str(recipe.identifier), "0" * 64), good, {}),
        (address(recipe, "api-report-batch"), batch, {}),
        (address(recipe, "api-items"), good, {}),
        (address(stream, "api-items"), b'{"batch": "00", "items": []}', {}),
        (address(stream, "api-items"), json.dumps({"batch": "0" * 32, "items": ["7"]}).encode(), {}),
        ("/leader/tasks/" + "A" * 43 + "/reports", b"", {}),
    ]
    for path, body, environ in cases:
        status, fields, content = asked(ingest, path, body, **environ)
        theirs = asked(django, path, body, **environ)
        assert (status, content) == (theirs[0], theirs[2]), path
        assert status not in (500, 599)
        # All that Django adds but what belongs to pages: a policy for scripts, and what varies with a cookie.
        of_pages = {"Content-Security-Policy", "Vary", "Content-Length"}
        assert {name: fields.get(name) for name in theirs[1] if name not in of_pages} == {
            name: value for name, value in theirs[1].items() if name not in of_pages
        }


@pytest.mark.parametrize(
    "environ",
    [
        {"REQUEST_METHOD": "GET"},
        {"QUERY_STRING": "a=1"},
        {"HTTP_HOST": "elsewhere.example"},
        {"PATH_INFO": "/api/v1/recipes/"},
        {"wsgi.url_scheme": "http"},  # where it is redirected
    ],
)
def test_what_is_unusual_is_left_to_django_unread(
    ingest: Ingest, environ: dict[str, str], settings: Any
) -> None:
    settings.SECURE_SSL_REDIRECT = True
    recipe = published_recipe()
    body, https = body_of(recipe), {"wsgi.url_scheme": "https"}
    unread = BytesIO(body)
    assert asked(ingest, address(recipe), b"", **{**https, **environ, "wsgi.input": unread})[0] == 599
    assert unread.tell() == 0
    assert asked(ingest, address(recipe), body, **https)[0] == 201


def store_fails(_jobs: object) -> None:
    raise OperationalError("the server closed the connection unexpectedly")


@pytest.mark.parametrize(
    ("store", "detail"),
    [
        (store_fails, "The reports were not stored. Send them again."),
        (
            lambda jobs: [RowHeldError() for _ in jobs],
            "The recipe is being changed. The reports were not stored. Send them again.",
        ),
    ],
)
def test_report_that_the_database_cannot_store_is_a_503(
    ingest: Ingest, monkeypatch: pytest.MonkeyPatch, store: Any, detail: str
) -> None:
    recipe = published_recipe()
    monkeypatch.setattr(WRITER, "_store", store)
    monkeypatch.setattr(group_commit, "HELD_SECONDS", 0.0)
    status, fields, content = asked(ingest, address(recipe), body_of(recipe))
    assert (status, fields["Retry-After"], json.loads(content)["detail"]) == (503, "5", detail)
    assert not ReportNonce.objects.exists()


@pytest.mark.parametrize("name", ["api-report", "api-report-batch", "api-items"])
def test_where_too_many_wait_already_it_is_a_503_and_nothing_is_stored(
    name: str, ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise QueueFullError

    recipe = open_stream(["1"]) if name == "api-items" else published_recipe()
    for group in (WRITER, BATCHES):
        monkeypatch.setattr(group, "submit", full)
    if name == "api-items":
        body = json.dumps({"batch": "0" * 32, "items": ["1"]}).encode()
    else:
        body = body_of(recipe) if name == "api-report" else b'{"reports": [%s]}' % body_of(recipe)
    status, fields, content = asked(ingest, address(recipe, name), body)
    assert (status, fields["Retry-After"]) == (503, "5")
    assert json.loads(content)["detail"].startswith("Too many ")
    assert not ReportNonce.objects.exists()


def counted(application: Any, path: str, body: bytes) -> dict[tuple[str, frozenset[Any]], float]:
    """What a request added to the counters of requests, but how long it took."""

    def samples() -> dict[tuple[str, frozenset[Any]], float]:
        # Not the whole registry: others there ask the database, and let go of its connection.
        metrics = vars(Metrics.get_instance()).values()
        families = [family for metric in metrics if hasattr(metric, "collect") for family in metric.collect()]
        return {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in families
            for sample in family.samples
            if not sample.name.endswith(("_sum", "_created"))
        }

    before = samples()
    asked(application, path, body)
    added = {key: value - before.get(key, 0.0) for key, value in samples().items()}
    # In which bin a time lies differs from one request to the next.
    timed = {key for key in added if "latency" in key[0] and key[0].endswith("_bucket")}
    return {key: value for key, value in added.items() if value and key not in timed}


def test_counters_are_those_of_django_and_items_are_not_measured(
    ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, stream = published_recipe(), open_stream(["1"])
    items = json.dumps({"batch": "0" * 32, "items": ["1"]}).encode()
    django = WSGIHandler()
    for path, body in (
        (address(recipe), body_of(recipe)),
        (address(recipe), b"{}"),
        (address(stream, "api-items"), items),
    ):
        asked(django, path, body)  # so that it is a repetition for both
        by_ingest, by_django = counted(ingest, path, body), counted(django, path, body)
        # Without cookies and a policy for scripts, what is answered is as long.
        assert by_ingest == by_django, path
    assert by_ingest
    assert not [key for key in by_ingest if "requests_body" in key[0] or "by_view_method_count" in key[0]]

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(ReportView, "read", fail)
    raised, theirs = (
        {key: value for key, value in counted(each, address(recipe), b"").items() if "exceptions" in key[0]}
        for each in (ingest, django)
    )
    assert len(raised) == 2  # by type and by view
    assert raised == theirs


@pytest.mark.django_db(transaction=True)
def test_a_thread_lets_go_of_its_connection_when_it_has_answered() -> None:
    made = Ingest(passed_on, "panapp.ingest_urls")
    recipe = published_recipe()

    def send() -> Any:
        assert asked(made, address(recipe), body_of(recipe))[0] == 201
        return connection.connection

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(send).result(PATIENCE) is None


@pytest.mark.django_db(transaction=True)
def test_reports_that_come_at_once_are_stored_together_and_each_once(
    ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = published_recipe()
    bodies = [body_of(recipe) for _ in range(32)]
    groups: list[int] = []
    writing: list[Any] = []
    given_up = threading.Event()
    store = WRITER._store

    def store_together(submissions: Sequence[Submission]) -> Sequence[Any]:
        groups.append(len(submissions))
        # The first group is held back until every other report waits behind it, or came with it.
        while sum(groups) + len(WRITER._queue) < len(bodies):
            assert not given_up.wait(0.001), "a report never came"
        writing.append(connections["default"])
        return store(submissions)

    def send(body: bytes) -> int:
        try:
            return asked(ingest, address(recipe), body)[0]
        finally:
            connection.close()

    monkeypatch.setattr(WRITER, "_store", store_together)
    # The writer gives its connection back before the database is emptied.
    monkeypatch.setattr(group_commit, "IDLE_SECONDS", 0.05)
    with ThreadPoolExecutor(len(bodies)) as pool:
        sent = [pool.submit(send, body) for body in bodies]
        try:
            assert [made.result(PATIENCE) for made in sent] == [201] * len(bodies)
        finally:
            given_up.set()
    assert sum(groups) == len(bodies)
    assert max(groups) > 1
    assert ReportNonce.objects.filter(recipe=recipe).count() == len(bodies)
    assert sum(StoredReports.objects.values_list("count", flat=True)) == len(bodies)
    assert wait_until(lambda: all(writer.connection is None for writer in writing), PATIENCE, 0.01)
