"""`python -m panapp.probe /health/ready`: what a container's health check runs.

Exits with 0 if the server on this machine answers 200, with 1 otherwise.
"""

import http.client
import os
import sys

PORT = 8000
TIMEOUT_SECONDS = 10


def answers(path: str) -> bool:
    """Whether the server answers 200, asked under a name that it accepts."""
    host = os.environ.get("PANAPP_ALLOWED_HOSTS", "").split(",")[0].strip().lstrip(".*") or "localhost"
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", path, headers={"Host": host})
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(0 if answers(sys.argv[1]) else 1)
