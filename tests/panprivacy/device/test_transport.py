import contextlib
import errno
import json
import pickle
import socket
import threading
from collections.abc import Iterator

import pytest

from panprivacy.device.rest_upload import RestUpload
from panprivacy.device.transport import (
    ANSWER_BYTES,
    BatchAnswer,
    Delivery,
    HttpTransport,
    ReportRejectedError,
    TransportError,
    WireReport,
)
from tests.panprivacy.device.in_process import InProcessTransport
from tests.panprivacy.device.server import AT_ONCE, Stumbling, listening


@pytest.fixture
def transport(server):
    with listening(server) as url, HttpTransport(url) as transport:
        yield transport


def test_recipes_of_all_pages_are_followed_and_handed_out_as_served(transport, server):
    found = list(transport.recipes(status="all", search="late & early"))
    assert [recipe["id"] for recipe in found] == ["0" * 64, server.recipe.identifier]
    assert transport.recipe(server.recipe.identifier) == server.served
    with pytest.raises(TransportError, match="no such page") as caught:
        transport.recipe("f" * 64)
    assert caught.value.status == 404
    assert caught.value.problem["type"] == "/problems/not-found"


def test_wire_report_size_is_never_below_the_true_one():
    for report in (WireReport(b"n" * 16, ()), WireReport(b"n" * 16, (b"c" * 66,) * 1001)):
        encoded = json.dumps(report.members("ciphertexts"))
        assert len(encoded) <= report.size <= len(encoded) + 64


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that a transport would have waited between its attempts."""
    waited: list[float] = []
    monkeypatch.setattr("urllib3.util.retry.time.sleep", waited.append)
    return waited


@pytest.mark.parametrize("status", [429, 503])
def test_http_passing_error_is_retried_and_duplicates_count_as_accepted(server, reports, status, pauses):
    with listening(Stumbling(server, "POST", [status] * 3)) as url, HttpTransport(url) as transport:
        upload = RestUpload(server.recipe.identifier, transport)
        assert upload.submit_batch(reports) == BatchAnswer(5, ())
        assert upload.submit(reports[0]) is Delivery.DUPLICATE
    assert len(server.reports) == 5
    assert pauses == [0.4, 0.8]


def test_http_retry_after_is_respected_within_bounds(server, pauses):
    for statuses, retry_after in (([429, 503], "3"), ([429], "86400")):
        stumbling = Stumbling(server, "GET", statuses, retry_after)
        with listening(stumbling) as url, HttpTransport(url) as transport:
            transport.verification_key()
    assert pauses == [3, 3, 10]


def test_http_lasting_error_gives_up_after_the_stated_attempts(server):
    application = Stumbling(server, "GET", [503] * 10)
    with (
        listening(application) as url,
        HttpTransport(url, retries=AT_ONCE.new(total=2)) as transport,
        pytest.raises(TransportError, match="503") as caught,
    ):
        transport.verification_key()
    assert caught.value.status == 503
    assert len(application.statuses) == 7


def test_http_refusal_is_not_retried(server):
    application = Stumbling(server, "GET", [404] * 2)
    with listening(application) as url, HttpTransport(url) as transport, pytest.raises(TransportError):
        transport.recipe("f" * 64)
    assert len(application.statuses) == 1


def test_http_nobody_listening_is_one_clear_error(pauses):
    with socket.socket() as placeholder:
        placeholder.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{placeholder.getsockname()[1]}"
        with HttpTransport(url) as transport, pytest.raises(TransportError) as caught:
            transport.verification_key()
    assert str(caught.value) == f"no answer from {url}: [Errno {errno.ECONNREFUSED}] Connection refused"
    assert caught.value.status is None
    assert len(pauses) == 4


def test_http_connection_dropped_before_the_answer_is_retried(server, reports):
    dropped: list[bool] = []

    def dropping_once(environ, start_response):
        if dropped:
            return server(environ, start_response)
        server(environ, lambda *_: None)
        dropped.append(True)
        raise ConnectionError("the report is stored, and its sender hears nothing")

    with listening(dropping_once) as url, HttpTransport(url) as transport:
        assert RestUpload(server.recipe.identifier, transport).submit(reports[0]) is Delivery.DUPLICATE
    assert dropped
    assert len(server.reports) == 1


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


@contextlib.contextmanager
def saying(*answers: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Say these, one in each connection, and hang up; yields the address, and the requests as they come."""
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for answer in answers:
                connection, _ = listener.accept()
                with connection, contextlib.suppress(ConnectionError):
                    requests.append(connection.recv(1 << 16))
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", requests
        thread.join()


def test_http_answer_that_breaks_off_is_asked_for_again() -> None:
    body = json.dumps({"page": 1}).encode()
    with (
        saying(HEAD % 100 + b"{", HEAD % len(body) + body) as (url, requests),
        HttpTransport(url) as transport,
    ):
        answer = transport.get("/")
    assert (answer.body, answer.attempts, len(requests)) == (body, 2, 2)


def test_http_answer_longer_than_any_is_refused_and_not_read() -> None:
    endless = HEAD % (100 * ANSWER_BYTES) + bytes(2 * ANSWER_BYTES)
    with (
        saying(endless) as (url, _),
        HttpTransport(url) as transport,
        pytest.raises(TransportError, match="is longer than 1048576 bytes"),
    ):
        transport.get("/")


def test_http_request_does_not_name_the_program() -> None:
    with saying(HEAD % 0) as (url, requests), HttpTransport(url) as transport:
        transport.get("/")
    assert requests[0].startswith(b"GET / HTTP/1.1\r\n")
    assert b"user-agent" not in requests[0].lower()


def test_http_base_url_with_a_path_keeps_it(server):
    seen = []

    def application(environ, start_response):
        seen.append(environ["PATH_INFO"])
        environ["PATH_INFO"] = environ["PATH_INFO"].removeprefix("/telemetry")
        return server(environ, start_response)

    with listening(application) as url, HttpTransport(f"{url}/telemetry/") as transport:
        assert list(transport.recipes())
    assert seen == ["/telemetry/api/v1/recipes/"] * 2


@pytest.mark.parametrize(
    "url", ["", "localhost:8000", "ftp://host", "http://", "http://host?x=1", "http://host:port"]
)
def test_http_impossible_address_is_refused(url):
    with pytest.raises(ValueError, match=r"address|Port"):
        HttpTransport(url)


@pytest.mark.parametrize(
    "body",
    [b"no json", b"[]", b"{}", b'{"algorithm":"ed25519","public_key":"?"}', b'{"algorithm":"rsa"}'],
)
def test_verification_key_undocumented_answer_is_a_clear_error(body):
    def application(environ, start_response):
        start_response("200 OK", [("Content-Type", "application/json")])
        return [body]

    with pytest.raises(TransportError):
        InProcessTransport(application).verification_key()


def test_transport_error_survives_pickling():
    error = ReportRejectedError("no", status=422, problem={"reason": "x"})
    error.add_note("noted")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  # our own bytes
    assert type(again) is ReportRejectedError
    assert (str(again), again.status, again.problem, again.__notes__) == (
        "no",
        422,
        {"reason": "x"},
        ["noted"],
    )
