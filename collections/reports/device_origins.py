"""Pages of other origins as devices: answers that a browser lets them read (CORS, Fetch standard, 3.3).

Only what devices ask is answered so, only to origins that the operator names, and never with cookies. Any
program can send the same requests; without a list, any page on the web could have all its visitors' browsers
send them.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from django.urls import Resolver404, get_resolver

from panprivacy.protocols.attestation import KEY_HEADER
from panprivacy.protocols.oblivious_http.signed_keys import HEADER
from reports.ingest import MOST_ADDRESSES, Application, Environ, StartResponse

ALLOWED = "Access-Control-Allow-Origin"

PREFLIGHT_SECONDS = 7_200
"""For how long a browser may remember what it may ask: as long as Chromium does."""


ASKED_WITH = ("Content-Type", "Content-Digest", "Signature", "Signature-Input", KEY_HEADER)
"""Fields of requests that a browser must be allowed to send: besides the type, a device identifies itself to
an attester with them."""


class DeviceOrigins:
    """A WSGI application in front of another one.

    Args:
        application: answers everything.
        urlconf: module of its addresses.
        names: of the addresses that devices ask.
        origins: whose pages may ask them.
    """

    def __init__(
        self, application: Application, urlconf: str, names: Iterable[str], origins: Iterable[str]
    ) -> None:
        self._application = application
        self._resolve = lru_cache(maxsize=MOST_ADDRESSES)(get_resolver(urlconf).resolve)
        self._names = frozenset(names)
        self._origins = frozenset(origins)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if not self._is_asked_by_devices(environ["PATH_INFO"]):
            return self._application(environ, start_response)
        origin = environ.get("HTTP_ORIGIN")
        # A cached answer may not be handed to another origin.
        added = [("Vary", "Origin")]
        if origin in self._origins:
            added += [(ALLOWED, origin), ("Access-Control-Expose-Headers", HEADER)]
            if _is_preflight(environ):
                start_response("204 No Content", [*added, *_PREFLIGHT])
                return []

        def started(status: str, headers: Sequence[tuple[str, str]], *error: Any) -> Callable[..., Any]:
            writer: Callable[..., Any] = start_response(status, [*headers, *added], *error)
            return writer

        return self._application(environ, started)

    def _is_asked_by_devices(self, path: str) -> bool:
        try:
            return self._resolve(path).view_name in self._names
        except Resolver404:
            return False


_PREFLIGHT = (
    ("Access-Control-Allow-Methods", "GET, POST"),
    ("Access-Control-Allow-Headers", ", ".join(ASKED_WITH)),
    ("Access-Control-Max-Age", str(PREFLIGHT_SECONDS)),
)


def _is_preflight(environ: Environ) -> bool:
    return environ["REQUEST_METHOD"] == "OPTIONS" and "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in environ
