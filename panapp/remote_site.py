"""Another site's REST API, for commands with `--site`: with a token from the environment."""

import json
import os
from typing import Any
from urllib.parse import urlsplit

import urllib3

from panprivacy.errors import FieldError

TOKEN_VARIABLE = "PANAPP_TOKEN"  # noqa: S105  # the name of a variable

SECONDS = 120.0
"""Publishing computes guarantees and asks other servers."""

ANSWER_BYTES = 64 * 1024 * 1024

LOOPBACK = {"localhost", "127.0.0.1", "::1"}

_REPEATED = urllib3.Retry(
    total=4,
    allowed_methods=None,
    status_forcelist=(502, 503, 504),
    raise_on_status=False,
    redirect=False,
    backoff_factor=0.5,
    retry_after_max=10,
)
_ONCE = urllib3.Retry(total=0, redirect=False, raise_on_status=False)


class SiteError(RuntimeError):
    """The site did not answer, or not with what was asked; the message says why.

    Attributes:
        status: the HTTP status; None without an answer.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class RemoteSite:
    """A site, by its base address. Raises FieldError where a token would not be safe on its way there."""

    def __init__(self, address: str, token: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise FieldError("site", "must be the address of a site, e.g. https://telemetry.example")
        if parts.scheme == "http" and parts.hostname not in LOOPBACK:
            raise FieldError("site", "must begin with https: the token would be readable on its way")
        if not token or not token.isascii() or not token.isprintable():
            raise FieldError(TOKEN_VARIABLE, "must be set to an API token (manage.py api_token create)")
        self._base = f"{address.rstrip('/')}/api/v1"
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._connections = urllib3.PoolManager(timeout=SECONDS)

    @classmethod
    def from_environment(cls, address: str) -> "RemoteSite":
        """With the token that the environment has."""
        return cls(address, os.environ.get(TOKEN_VARIABLE, "").strip())

    def get(self, path: str) -> dict[str, Any]:
        """The object at a path below `/api/v1`. Raises SiteError."""
        return self._ask("GET", path, None, _REPEATED)

    def post(self, path: str, members: dict[str, Any], *, repeat: bool = True) -> dict[str, Any]:
        """The answer to an object. Raises SiteError.

        Args:
            repeat: whether it may be sent again after a lost answer, because twice does no more than once.
        """
        return self._ask("POST", path, json.dumps(members).encode(), _REPEATED if repeat else _ONCE)

    def _ask(self, method: str, path: str, body: bytes | None, retries: urllib3.Retry) -> dict[str, Any]:
        headers = {**self._headers, **({} if body is None else {"Content-Type": "application/json"})}
        try:
            answer = self._connections.request(
                method,
                f"{self._base}/{path}",
                body=body,
                headers=headers,
                retries=retries,
                redirect=False,
                preload_content=False,
            )
            content = answer.read(ANSWER_BYTES + 1)
            answer.release_conn()
        except urllib3.exceptions.HTTPError as error:
            raise SiteError(f"the site does not answer: {type(error).__name__}") from None
        if len(content) > ANSWER_BYTES:
            raise SiteError(f"the answer is larger than {ANSWER_BYTES:,} bytes", answer.status)
        try:
            document = json.loads(content)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise SiteError(f"the answer ({answer.status}) is not the API's", answer.status)
        if answer.status >= 300:
            detail = _printable(document.get("detail") or document.get("title")).rstrip(".")
            raise SiteError(f"{detail} ({answer.status})", answer.status)
        return document


def _printable(text: object) -> str:
    """What another server says, as it can stand on a terminal."""
    return "".join(character for character in str(text)[:1_000] if character.isprintable())
