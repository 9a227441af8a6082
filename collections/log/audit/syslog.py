"""Syslog (RFC 5424) over TCP (RFC 6587, octet counting) or TLS (RFC 5425), as a receiver of entries."""

import socket
import ssl
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from log.audit.models import Entry
from log.audit.stream import NotSentError, line_of
from panprivacy.formats.errors import FieldError
from web.remote_site import LOOPBACK

SECONDS = 10.0
"""For connecting, for sending a batch, and for the receiver to end the connection."""

MESSAGE_BYTES = 8_192
"""Receivers should take messages of this length (RFC 5425, section 4.3.1)."""

PRIORITY = 13 * 8 + 5
"""Facility “log audit”, severity “notice”."""

PLAIN, SECURED = "syslog", "syslog+tls"


class SyslogReceiver:
    """A receiver at an address. Each batch has a connection of its own.

    Syslog has no receipts. A batch counts as sent when the receiver, after this side has ended the
    connection, ends it too: it has then read everything. One that ended it first may have read nothing.
    """

    def __init__(self, host: str, port: int, context: ssl.SSLContext | None) -> None:
        self._host, self._port, self._context = host, port, context
        self._name = socket.gethostname()

    @classmethod
    def at(cls, address: str, *, ca: Path | None, certificate: Path | None) -> "SyslogReceiver":
        """The receiver at `syslog://HOST:PORT` (this machine only) or `syslog+tls://HOST:PORT`.

        Args:
            ca: certificates of the authorities to trust; None for those of the system.
            certificate: this side's own certificate and private key; None if it shows none.

        Raises:
            FieldError: names what is wrong.
        """
        try:
            parts = urlsplit(address)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise FieldError("to", "is no address") from None
        if parts.scheme not in (PLAIN, SECURED):
            raise FieldError("to", f"must be stdout, or begin with {SECURED}:// or {PLAIN}://")
        if not host or not port or not address.isascii() or address != f"{parts.scheme}://{parts.netloc}":
            raise FieldError("to", f"must be {parts.scheme}://HOST:PORT, with a port from 1 to 65535")
        if "@" in parts.netloc:
            raise FieldError("to", "must not have a user or a password")
        if parts.scheme == SECURED:
            return cls(host, port, _context(ca, certificate))
        if host not in LOOPBACK:
            raise FieldError("to", f"must begin with {SECURED}:// unless the receiver is on this machine")
        if ca is not None or certificate is not None:
            raise FieldError("ca" if ca is not None else "certificate", f"is for {SECURED}:// only")
        return cls(host, port, None)

    def send(self, entries: Sequence[Entry]) -> None:
        """Send these entries over one connection. Raises NotSentError."""
        try:
            with socket.create_connection((self._host, self._port), timeout=SECONDS) as connection:
                if self._context is None:
                    self._write(connection, entries)
                    _require_open(connection)
                    connection.shutdown(socket.SHUT_WR)
                    _await_end(connection)
                    return
                with self._context.wrap_socket(connection, server_hostname=self._host) as secured:
                    self._write(secured, entries)
                    _require_open(secured)
                    # Sends a closing alert and waits for the receiver's: an attacker cannot forge it.
                    secured.unwrap()
        except (OSError, UnicodeError) as error:
            raise NotSentError(f"{self._host}:{self._port} did not take entries: {error}") from None

    def _write(self, connection: socket.socket, entries: Sequence[Entry]) -> None:
        connection.sendall(b"".join(framed(message(entry, self._name)) for entry in entries))


def message(entry: Entry, host: str) -> bytes:
    """An entry as a message, of at most `MESSAGE_BYTES`.

    Args:
        host: name of this machine.
    """
    header = f"<{PRIORITY}>1 {entry.at.isoformat()} {_printable(host, 255)} panapp - "
    header += f"{_printable(entry.action, 32)} - "
    return (header + line_of(entry, most=MESSAGE_BYTES - len(header))).encode()


def framed(sent: bytes) -> bytes:
    """A message after its length (octet counting)."""
    return b"%d %s" % (len(sent), sent)


def _printable(text: str, most: int) -> str:
    """A field of the header: printable ASCII without spaces, or "-" for none."""
    return "".join(each for each in text if "!" <= each <= "~")[:most] or "-"


def _require_open(connection: socket.socket) -> None:
    """ConnectionError if the receiver has ended the connection. What it has sent until now is dropped."""
    connection.settimeout(0)
    try:
        for _ in range(64):
            # TLS has messages of its own, such as tickets, and stops at each.
            with suppress(ssl.SSLWantReadError):
                if not connection.recv(4_096):
                    raise ConnectionError("it ended the connection first")
    except BlockingIOError:
        pass
    finally:
        connection.settimeout(SECONDS)


def _await_end(connection: socket.socket) -> None:
    """Wait until the receiver ends the connection. What it sends in between is dropped."""
    until = time.monotonic() + SECONDS
    while connection.recv(4_096):
        if time.monotonic() > until:
            raise TimeoutError("it does not end the connection")


def _context(ca: Path | None, certificate: Path | None) -> ssl.SSLContext:
    """Verifies certificate and name of the receiver."""
    try:
        context = ssl.create_default_context(cafile=ca)
    except OSError as error:  # errors of TLS are among them
        raise FieldError("ca", f"cannot be used: {error.strerror or error}") from None
    if certificate is not None:
        try:
            context.load_cert_chain(certificate)
        except OSError as error:
            raise FieldError("certificate", f"cannot be used: {error.strerror or error}") from None
    return context
