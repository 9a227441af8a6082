"""Another site's REST API, for commands with `--site`: with a token from the environment."""

import json
import os
from typing import Any
from urllib.parse import urlsplit

from panprivacy.device.transport import JSON, HttpTransport, Transport, TransportError, json_object
from panprivacy.formats.errors import FieldError

TOKEN_VARIABLE = "PANAPP_TOKEN"  # noqa: S105  # the name of a variable

SECONDS = 120.0
"""Publishing computes guarantees and asks other servers."""

ANSWER_BYTES = 64 * 1024 * 1024

LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class SiteError(RuntimeError):
    """The site did not answer, or not with what was asked; the message states why.

    Attributes:
        status: the HTTP status; None without an answer.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class RemoteSite:
    """A site, by its base address. Raises FieldError if a token would not be safe in transit."""

    def __init__(self, address: str, token: str) -> None:
        base_url = f"{address.rstrip('/')}/api/v1"
        try:
            self._transport = HttpTransport(base_url, timeout=SECONDS, largest_answer=ANSWER_BYTES)
        except ValueError:
            raise FieldError(
                "site", "must be the address of a site, e.g. https://telemetry.example"
            ) from None
        parts = urlsplit(address)
        if parts.scheme == "http" and parts.hostname not in LOOPBACK:
            raise FieldError("site", "must begin with https: the token would be readable on its way")
        if not token or not token.isascii() or not token.isprintable():
            raise FieldError(TOKEN_VARIABLE, "must be set to an API token (manage.py api_token create)")
        self._once = self._transport.once_at(base_url)
        self._fields = {"Authorization": f"Bearer {token}"}

    @classmethod
    def from_environment(cls, address: str) -> "RemoteSite":
        """With the token that the environment has."""
        return cls(address, os.environ.get(TOKEN_VARIABLE, "").strip())

    def get(self, path: str) -> dict[str, Any]:
        """The object at a path below `/api/v1`. Raises SiteError."""
        return self._ask(self._transport, "GET", path)

    def post(self, path: str, members: dict[str, Any], *, repeat: bool = True) -> dict[str, Any]:
        """The answer to an object. Raises SiteError.

        Args:
            repeat: whether it may be sent again after a lost answer, because twice does no more than once.
        """
        body = json.dumps(members).encode()
        return self._ask(self._transport if repeat else self._once, "POST", path, body)

    def _ask(self, transport: Transport, method: str, path: str, body: bytes = b"") -> dict[str, Any]:
        content_type = JSON if body else ""
        try:
            answer = transport.exchange(
                method, f"/{path}", body=body, content_type=content_type, fields=self._fields
            )
            document = json_object(answer)
        except TransportError as error:
            raise SiteError(str(error), error.status) from None
        if answer.status >= 300:
            detail = _printable(document.get("detail") or document.get("title")).rstrip(".")
            raise SiteError(f"{detail} ({answer.status})", answer.status)
        return document


def _printable(text: object) -> str:
    """Another server's text, made safe for a terminal."""
    return "".join(character for character in str(text)[:1_000] if character.isprintable())
