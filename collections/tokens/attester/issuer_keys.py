"""The issuer's keys for capsules: every device gets the same list here, signed by the issuer and kept for a
while.

An attester that handed out a list of its own could open what devices seal. So devices check the issuer's
signature, and so do we, before anything is kept.
"""

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from urllib.parse import urlsplit

from django.conf import settings

from panprivacy.protocols.ed25519 import public_key_of
from panprivacy.protocols.oblivious_http import signed_keys
from panprivacy.protocols.oblivious_http.keys import GATEWAY_PATH
from panprivacy.protocols.oblivious_http.signed_keys import UnsignedKeysError
from partners.required_settings import required
from web.problems import Problem, unavailable
from web.transport import Transport, https_transport

SECONDS = 30.0
LARGEST_LIST = 16 * 1024
LONGEST_KEPT = 3_600
"""Seconds for which a list is kept, whatever the issuer allows: then a new key is seen within the hour."""

_MAX_AGE = re.compile(r"max-age=([0-9]{1,9})")


@dataclass(frozen=True)
class KeyList:
    """A list that the issuer signed.

    Attributes:
        encoded: `application/ohttp-keys`.
        signature: value of its header.
        until: by a steady clock, in seconds.
    """

    encoded: bytes
    signature: str
    until: float


class IssuerKeys:
    """The list, fetched when it is needed and not kept any more."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._kept: KeyList | None = None

    def current(self, fetch: Callable[[], tuple[bytes, str, int]]) -> tuple[KeyList, int]:
        """The list, and for how many seconds it may be kept.

        Args:
            fetch: gets the list, its signature, and for how many seconds it is good. Asked by one at a time.
        """
        with self._lock:
            now = self._clock()
            if self._kept is None or self._kept.until <= now:
                encoded, signature, seconds = fetch()
                self._kept = KeyList(encoded, signature, now + min(seconds, LONGEST_KEPT))
            return self._kept, max(0, int(self._kept.until - now))

    def forget(self) -> None:
        """Fetch anew next time: the issuer does not have a key of the list any more."""
        with self._lock:
            self._kept = None


ISSUER_KEYS = IssuerKeys()


def keys_fetch(transport: Transport | None = None) -> tuple[bytes, str, int]:
    """The issuer's list, its signature, which was checked, and for how many seconds it is good.

    Raises:
        Problem: no answer (503), or one that is not the issuer's (502).
    """
    parts = urlsplit(required(settings.ISSUER_URL, "PANAPP_ISSUER_URL"))
    url = f"{parts.scheme}://{parts.netloc}{GATEWAY_PATH}"
    try:
        status, headers, body = (
            transport("GET", url, {}, b"")
            if transport is not None
            else https_transport("GET", url, {}, b"", seconds=SECONDS, largest_answer=LARGEST_LIST)
        )
    except OSError:
        raise unavailable("The issuer does not answer. Ask again.") from None
    named = {name.lower(): value for name, value in headers.items()}
    signature = named.get(signed_keys.HEADER.lower(), "")
    key = public_key_of(required(settings.ISSUER_KEY, "PANAPP_ISSUER_KEY"))
    try:
        if status != 200:
            raise UnsignedKeysError(f"status {status}")
        signed_keys.verified(body, signature, key)
    except UnsignedKeysError:
        detail = "What answers there is not the issuer. Ask again later."
        raise Problem("issuer-failed", "The issuer's answer cannot be used", 502, detail) from None
    found = _MAX_AGE.search(named.get("cache-control", ""))
    return body, signature, int(found[1]) if found else 0
