"""One request over a real connection: what comes of it, and when it ends at the latest."""

import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from partners.client import PeerClient, PeerUnavailableError
from shuffle.shuffler.limits import PART_BYTES
from tests.certificates import certificate_written
from web import transport
from web.transport import REQUEST_SECONDS, https_transport

HOST = "127.0.0.1"
DRIP_SECONDS = 0.02
"""Between two bytes: far below any limit of one operation."""

DEADLINE = 0.5
FAR_LESS_THAN_DRIPPING = 20.0
"""Seconds; what drips here does so for minutes."""

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"

Connection = socket.socket


@contextmanager
def serving(answer: Callable[[Connection], None], tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """The base address of a server that deals so with one connection."""
    with socket.create_server((HOST, 0)) as listening:

        def serve() -> None:
            # The other side may hang up at any time.
            with suppress(OSError):
                connection, _ = listening.accept()
                with connection:
                    if tls is None:
                        answer(connection)
                    else:
                        with tls.wrap_socket(connection, server_side=True) as secured:
                            answer(secured)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"{'http' if tls is None else 'https'}://{HOST}:{listening.getsockname()[1]}/helper"
        finally:
            listening.close()
            thread.join(timeout=60)
            assert not thread.is_alive()


def some(connection: Connection) -> bytes:
    """What comes next; OSError where nothing does any more."""
    if not (piece := connection.recv(65_536)):
        raise ConnectionResetError
    return piece


def request_read(connection: Connection) -> bytes:
    """Head and body of a request."""
    got = b""
    while b"\r\n\r\n" not in got:
        got += some(connection)
    head, _, body = got.partition(b"\r\n\r\n")
    length = re.search(rb"Content-Length: (\d+)", head)
    while length and len(body) < int(length[1]):
        body += some(connection)
    return head + b"\r\n\r\n" + body


def dripping(preface: bytes, drop: bytes = b"a", *, reads: bool = True) -> Callable[[Connection], None]:
    """Says the preface, and then drop after drop until the other side hangs up."""

    def answer(connection: Connection) -> None:
        if reads:
            request_read(connection)
        connection.sendall(preface)
        for _ in range(10_000):
            time.sleep(DRIP_SECONDS)
            connection.sendall(drop)

    return answer


def reading_slowly(connection: Connection) -> None:
    while connection.recv(65_536):
        time.sleep(DRIP_SECONDS)


def silent(connection: Connection) -> None:
    request_read(connection)
    connection.recv(1)


def saying(answer: bytes) -> Callable[[Connection], None]:
    def say(connection: Connection) -> None:
        request_read(connection)
        connection.sendall(answer)

    return say


@pytest.fixture
def certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """A server's TLS, with a certificate that this machine trusts for the time being."""
    certificate_written(tmp_path, HOST)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "both.pem")
    return context


class TestAnswers:
    @pytest.mark.parametrize("secure", [False, True])
    def test_request_and_slow_answer_arrive_whole(self, certified: ssl.SSLContext, secure: bool) -> None:
        asked, content = [], bytes(range(256)) * 4

        def answer(connection: Connection) -> None:
            asked.append(request_read(connection))
            head = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/elsewhere\r\n"
            connection.sendall(head + b"Content-Length: 1024\r\n\r\n")
            for start in range(0, len(content), 64):
                time.sleep(DRIP_SECONDS)
                connection.sendall(content[start : start + 64])

        with serving(answer, certified if secure else None) as url:
            address, sent = f"{url}/jobs?step=0", {"X-Sent": "yes"}
            status, headers, body = https_transport("POST", address, sent, b"abc", seconds=60)
        assert (status, headers["Location"], body) == (302, "http://127.0.0.1:1/elsewhere", content)
        head, _, received = asked[0].partition(b"\r\n\r\n")
        assert head.startswith(b"POST /helper/jobs?step=0 HTTP/1.1\r\n")
        assert {b"X-Sent: yes", b"Host: " + url.split("/")[2].encode()} <= set(head.split(b"\r\n"))
        assert received == b"abc"

    def test_answer_without_a_length_ends_with_the_connection(self) -> None:
        with serving(saying(OK + b"\r\nall of it")) as url:
            assert https_transport("GET", url, {}, b"")[2] == b"all of it"

    def test_certificate_that_nobody_trusts_is_an_os_error(
        self, certified: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("SSL_CERT_FILE")
        with serving(silent, certified) as url, pytest.raises(ssl.SSLCertVerificationError):
            https_transport("GET", url, {}, b"")

    @pytest.mark.parametrize("url", ["http://127.0.0.1:1/helper", "https://127.0.0.1:1/helper", "https:///x"])
    def test_nobody_there_is_an_os_error(self, url: str) -> None:
        with pytest.raises(OSError, match=r"."):
            https_transport("GET", url, {}, b"")

    @pytest.mark.parametrize("answer", [b"", b"no http\r\n\r\n"])
    def test_what_is_no_answer_is_an_os_error(self, answer: bytes) -> None:
        with serving(saying(answer)) as url, pytest.raises(OSError, match=r"."):
            https_transport("GET", url, {}, b"")

    def test_answer_larger_than_any_is_not_read_to_its_end(self) -> None:
        endless = dripping(OK + b"\r\n", bytes(500))
        with serving(endless) as url, pytest.raises(OSError, match="too large"):
            https_transport("GET", url, {}, b"", largest_answer=1_000)

    def test_answer_that_nobody_wants_is_not_read_at_all(self) -> None:
        with serving(dripping(b"HTTP/1.1 202 Accepted\r\n\r\n", bytes(5_000))) as url:
            assert https_transport("GET", url, {}, b"", largest_answer=0)[::2] == (202, b"")


LONG = OK + b"Content-Length: 1000000\r\n\r\n"
RECORD = b"\x16\x03\x03\x3f\xff"
"""Of 16 KiB of a handshake."""

DRIPPING: dict[str, Callable[[Connection], None]] = {
    "nothing": silent,
    "nothing over TLS": silent,
    "status": dripping(b"HTTP/1.1 200 "),
    "header": dripping(OK + b"X-Long: "),
    "continue": dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "body": dripping(LONG),
    "body over TLS": dripping(LONG),
    "body without a length": dripping(OK + b"\r\n"),
    "chunks": dripping(CHUNKED, b"1\r\na\r\n"),
    "trailer": dripping(CHUNKED + b"0\r\n", b"X: y\r\n"),
    "handshake": dripping(RECORD, b"\0", reads=False),
    "reading": reading_slowly,
    "reading over TLS": reading_slowly,
}


class TestDeadline:
    @pytest.mark.parametrize("what", DRIPPING)
    def test_partner_that_drips_is_given_up_when_the_time_is_over(
        self, certified: ssl.SSLContext, what: str
    ) -> None:
        body = bytes(64 * 1024 * 1024) if "reading" in what else b""
        with serving(DRIPPING[what], certified if "TLS" in what else None) as url:
            address = url.replace("http:", "https:") if what == "handshake" else url
            started = time.monotonic()
            with pytest.raises(TimeoutError):
                https_transport("POST" if body else "GET", address, {}, body, seconds=DEADLINE)
            assert time.monotonic() - started < FAR_LESS_THAN_DRIPPING

    def test_silent_first_address_leaves_time_for_the_next(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(transport, "CONNECT_SECONDS", 0.2)
        with socket.create_server((HOST, 0), backlog=0) as full, serving(saying(OK + b"\r\nhere")) as url:
            # The queue of one that accepts nobody is full after one or two.
            waiting = [socket.socket() for _ in range(4)]
            for each in waiting:
                each.setblocking(False)
                each.connect_ex(full.getsockname())
            working = (HOST, int(url.split(":")[2].split("/")[0]))
            found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", at) for at in (full.getsockname(), working)]
            monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
            assert https_transport("GET", url, {}, b"", seconds=30)[2] == b"here"
            for each in waiting:
                each.close()

    def test_dripping_partner_is_one_that_gave_no_answer(self) -> None:
        key = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
        hurried = partial(https_transport, seconds=DEADLINE)
        with serving(dripping(OK + b"X-Long: ")) as url:
            client = PeerClient(url=url, verification_key=key, signing_key=bytes(32), transport=hurried)
            with pytest.raises(PeerUnavailableError, match="TimeoutError"):
                client.get("/jobs/1")

    def test_largest_part_of_a_batch_comes_in_time_over_a_slow_line(self) -> None:
        assert PART_BYTES * 8 / 300_000 < REQUEST_SECONDS
