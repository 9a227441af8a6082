"""Asking a server of this machine whether it answers."""

import http.client
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 10


def answers(url: str, *, host: str | None = None) -> bool:
    """Whether a server of this machine answers 200; asked under another name if `host` is given."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", parts.path, headers={} if host is None else {"Host": host})
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
