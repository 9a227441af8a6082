"""How often a device may ask, and how many requests wait for the issuer at once."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from django.conf import settings
from django.http import HttpResponse

from storage.connections import connection_release
from web.problems import Problem, unavailable

WINDOW_SECONDS = 3_600
MOST_COUNTED = 1_000_000
"""Devices that are counted at once; beyond it all counts begin anew."""

AT_ONCE = 16
"""Requests that wait for the issuer: half of a web process's threads, so that the others can report it."""

PATIENCE_SECONDS = 10.0
"""How long one waits for its turn before it is asked to retry."""

ENROLMENT_BYTES = 16 * 1024
"""Of the body with which a device enrols; a credential fits."""


class TooManyRequests(Problem):  # as its base
    """A device asked too often."""

    def __init__(self, seconds: int) -> None:
        detail = "A device that gets no answer sends the same again, less often each time."
        super().__init__("too-many-requests", "The device asks too often", 429, detail)
        self.seconds = seconds

    def response(self) -> HttpResponse:
        response = super().response()
        response["Retry-After"] = str(self.seconds)
        return response


class HourlyLimit:
    """Counts requests by pseudonym, in the memory of one process, and forgets all of them every hour.

    Hours begin for all devices together. So nothing reveals when a device asked, nor, after the hour, that it
    did; but within 60 minutes of two hours a device can ask twice as often.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._window = -1
        self._counts: Counter[bytes] = Counter()

    def claim(self, pseudonym: bytes, *, seconds: float) -> None:
        """Count a request.

        Args:
            seconds: by a steady clock.

        Raises:
            TooManyRequests: it is one more than PANAPP_DEVICE_REQUESTS.
        """
        window = int(seconds // WINDOW_SECONDS)
        with self._lock:
            if window != self._window or len(self._counts) >= MOST_COUNTED:
                self._window = window
                self._counts.clear()
            self._counts[pseudonym] += 1
            count = self._counts[pseudonym]
        if count > settings.DEVICE_REQUESTS:
            raise TooManyRequests(int(WINDOW_SECONDS - seconds % WINDOW_SECONDS) + 1)


class Turns:
    """This many at once; others wait for a while."""

    def __init__(self, at_once: int) -> None:
        self._free = threading.BoundedSemaphore(at_once)

    @contextmanager
    def turn(self, patience: float = PATIENCE_SECONDS) -> Iterator[None]:
        """One's turn. Raises Problem (503) if it does not come in time."""
        connection_release()
        if not self._free.acquire(timeout=patience):
            raise unavailable("Many devices ask at this moment. Nothing was stored. Send the same again.")
        try:
            yield
        finally:
            self._free.release()


REQUESTS = HourlyLimit()
TURNS = Turns(AT_ONCE)


def request_claim(pseudonym: bytes) -> None:
    """Count a request of a device. Raises TooManyRequests."""
    REQUESTS.claim(pseudonym, seconds=monotonic())
