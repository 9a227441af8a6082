"""`python -m panapp.probe /health/ready`: what a container's health check runs.

Exits with 0 if the server on this machine answers 200, with 1 otherwise.
"""

import http.client
import os
import sys
from urllib.parse import urlsplit

PORT = 8000
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


def accepted_host() -> str:
    """A name under which the server accepts requests."""
    return os.environ.get("PANAPP_ALLOWED_HOSTS", "").split(",")[0].strip().lstrip(".*") or "localhost"


if __name__ == "__main__":
    sys.exit(0 if answers(f"http://127.0.0.1:{PORT}{sys.argv[1]}", host=accepted_host()) else 1)
