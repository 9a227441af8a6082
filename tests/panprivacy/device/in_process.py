"""A transport to servers in the same process."""

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from urllib.parse import unquote, urlsplit
from wsgiref.util import setup_testing_defaults

from panprivacy.device.transport import JSON, Answer, Transport, TransportError

Application = Callable[..., Iterable[bytes]]
"""A WSGI application (PEP 3333)."""


class InProcessTransport(Transport):
    """Calls a WSGI application (PEP 3333) directly: no socket, no retries.

    `prefix` precedes the path of every request; `others` are base address → application.
    """

    def __init__(
        self,
        application: Application,
        *,
        host: str = "localhost",
        prefix: str = "",
        others: Mapping[str, Application] | None = None,
    ) -> None:
        self._application = application
        self._host = host
        self._prefix = prefix
        self._others = dict(others or {})

    def at(self, base_url: str) -> "InProcessTransport":
        if base_url not in self._others:
            raise ValueError(f"there is no server {base_url} in this process")
        parts = urlsplit(base_url)
        return InProcessTransport(
            self._others[base_url], host=parts.netloc, prefix=parts.path, others=self._others
        )

    def exchange(
        self,
        method: str,
        target: str,
        *,
        body: bytes = b"",
        content_type: str = "",
        accept: str = JSON,
        fields: Mapping[str, str] | None = None,
    ) -> Answer:
        parts = urlsplit(self._prefix + target)
        environ = {
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": "",
            "PATH_INFO": unquote(parts.path, "latin-1"),
            "QUERY_STRING": parts.query,
            "SERVER_NAME": self._host,
            "HTTP_HOST": self._host,
            "HTTP_ACCEPT": accept,
            "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.input": io.BytesIO(body),
        } | ({"CONTENT_TYPE": content_type} if content_type else {})
        setup_testing_defaults(environ)  # everything else that PEP 3333 asks for
        environ |= {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in (fields or {}).items()}
        started: list[tuple[int, dict[str, str]]] = []
        written: list[bytes] = []

        def start_response(
            status: str, headers: Sequence[tuple[str, str]], _exc_info: object = None
        ) -> Callable[[bytes], None]:
            started.append((int(status.split(" ", 1)[0]), {name.lower(): value for name, value in headers}))
            return written.append

        chunks = self._application(environ, start_response)
        try:
            written.extend(chunks)
        finally:
            close = getattr(chunks, "close", None)
            if close is not None:
                close()
        if not started:
            raise TransportError("the application did not start a response")
        status, answer_headers = started[-1]
        return Answer(status, answer_headers, b"".join(written))
