"""How passwords are hashed: as Django does, but so that sign-ins leave the rest of the site its connections,
processors and threads."""

import threading

from django.contrib.auth.hashers import PBKDF2PasswordHasher

from storage.connections import connection_release
from web.busy import BusyError

AT_ONCE = 2
"""Passwords that one process hashes at a time; each takes about half a second of a processor."""

MOST_WAITING = 14
"""Further ones that wait for their turn. With `AT_ONCE` they hold half of a web process's threads."""

_turns = threading.BoundedSemaphore(AT_ONCE)
_places = threading.BoundedSemaphore(AT_ONCE + MOST_WAITING)


class SharingPasswordHasher(PBKDF2PasswordHasher):
    """PBKDF2 with Django's number of rounds.

    Without an account, a client makes this site hash by sending names and passwords. So hashing holds no
    connection to the database, unless a transaction does, and it is bounded.
    """

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """The hash, as Django's. Raises BusyError if too many passwords wait to be hashed."""
        connection_release()
        if not _places.acquire(blocking=False):
            raise BusyError
        try:
            with _turns:
                return super().encode(password, salt, iterations)
        finally:
            _places.release()
