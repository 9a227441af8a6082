"""One request over a connection of its own, which ends by a deadline whatever the other side does."""

import http.client
import io
import socket
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from storage.connections import connection_release

REQUEST_SECONDS = 120.0
"""For a request as a whole: connecting, sending, the other side's work, the answer. The largest answer that
any caller needs, a part of a shuffled batch (4 MiB), comes in time over a line of 300 kbit/s. And two
requests, the most that a task sends to a slow server, end well before its time limit, so that their failure
is noted."""

SILENCE_SECONDS = 60.0
"""For which nothing may come or be taken, of these: the other side does its work meanwhile."""

CONNECT_SECONDS = 10.0
"""For one address of the other side, of these; then its next one is tried."""

LARGEST_ANSWER = 64 * 1024 * 1024
"""Bytes; an answer is never larger than its request by much."""

Transport = Callable[[str, str, Mapping[str, str], bytes], tuple[int, Mapping[str, str], bytes]]
"""Sends method, url, headers and body; returns status, headers and body. OSError if nothing came back."""


Addresses = Sequence[tuple[Any, ...]]
"""Of a host, as `socket.getaddrinfo` returns them."""


def _every_address(host: str, port: int) -> Addresses:
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)


def https_transport(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    seconds: float = REQUEST_SECONDS,
    addresses_of: Callable[[str, int], Addresses] = _every_address,
    largest_answer: int = LARGEST_ANSWER,
) -> tuple[int, dict[str, str], bytes]:
    """One request over a connection of its own. Redirects are not followed: they are not signed for.

    Meanwhile other threads have this thread's connection to the database.

    Args:
        seconds: after which it ends, however little is missing. Looking up the host's name precedes it, and
            takes as long as the resolver of this machine lets it.
        addresses_of: those of a host and port that may be connected to; it raises OSError if none may.
        largest_answer: bytes of the body; with 0 it is not read at all.

    Raises:
        OSError: no answer; TimeoutError, which is one, if the time was over.
    """
    parts = urlsplit(url)
    if parts.hostname is None:
        raise OSError("no host in the address")
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        context = ssl.create_default_context()
        connection = http.client.HTTPSConnection(parts.hostname, parts.port, context=context)
    else:
        context = None
        connection = http.client.HTTPConnection(parts.hostname, parts.port)
    connection_release()
    addresses = addresses_of(connection.host, connection.port)
    deadline = _Deadline(seconds)
    try:
        # Its own socket has a limit for each operation only, which a server that drips bytes never reaches.
        connection.sock = _TimedSocket(_connected(addresses, deadline), deadline)
        if context is not None:
            connection.sock.secure(context, parts.hostname)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target, body=body or None, headers=dict(headers))
        with connection.getresponse() as response:
            content = response.read(largest_answer + 1) if largest_answer else b""
            if len(content) > largest_answer:
                raise OSError("the answer is too large")
            return response.status, dict(response.getheaders()), content
    except http.client.HTTPException as error:
        raise OSError(f"not an answer: {type(error).__name__}") from error
    finally:
        connection.close()


class _Deadline:
    """A moment, this many seconds from now."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def limit(self, sock: socket.socket, most: float = SILENCE_SECONDS) -> None:
        """Have the next operation end by then, and after `most` seconds; TimeoutError if it is too late."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the time for the request is over")
        sock.settimeout(min(left, most))


def _connected(addresses: Addresses, deadline: _Deadline) -> socket.socket:
    """A socket connected to the first address that answers; OSError if none does."""
    failure = OSError("the host has no address")
    for family, kind, protocol, _, address in addresses:
        sock = socket.socket(family, kind, protocol)
        try:
            deadline.limit(sock, CONNECT_SECONDS)
            sock.connect(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            sock.close()
            failure = error
        else:
            return sock
    raise failure


class _TimedSocket:
    """The part of a socket that http.client uses, with one deadline for all operations together."""

    def __init__(self, sock: socket.socket, deadline: _Deadline) -> None:
        self._sock = sock
        self._deadline = deadline

    def secure(self, context: ssl.SSLContext, hostname: str) -> None:
        """Start TLS. The limit of one operation holds for the whole handshake."""
        self._deadline.limit(self._sock)
        self._sock = context.wrap_socket(self._sock, server_hostname=hostname)

    def sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            self._deadline.limit(self._sock)
            rest = rest[self._sock.send(rest) :]

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self._sock, self._deadline))

    def close(self) -> None:
        self._sock.close()


class _TimedReader(io.RawIOBase):
    """The receiving half; it keeps the connection open until it is closed itself, as http.client expects."""

    def __init__(self, sock: socket.socket, deadline: _Deadline) -> None:
        self._sock = sock
        self._raw = sock.makefile("rb", buffering=0)
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._deadline.limit(self._sock)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()
