"""`python -m panapp.probe /health/ready`: what a container's health check runs.

Exits with 0 if the server on this machine answers 200, with 1 otherwise.
"""

import os
import sys

from web.probe import answers

PORT = 8000


def accepted_host() -> str:
    """A name under which the server accepts requests."""
    return os.environ.get("PANAPP_ALLOWED_HOSTS", "").split(",")[0].strip().lstrip(".*") or "localhost"


if __name__ == "__main__":
    sys.exit(0 if answers(f"http://127.0.0.1:{PORT}{sys.argv[1]}", host=accepted_host()) else 1)
