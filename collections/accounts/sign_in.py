"""Signing in with a password: a few at a time from each address."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from axes.helpers import get_client_ip_address
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.http import HttpRequest

from web.busy import BusyError
from web.request_counts import counted_as

MOST_OF_ONE = 3
"""Passwords of one address that a process checks or keeps waiting: one who sends many leaves places to
others."""

_under_way: Counter[str] = Counter()
_lock = threading.Lock()


class SharingBackend(ModelBackend):
    """Django's own, with few sign-ins at a time from one address."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **credentials: Any,
    ) -> User | None:
        """As Django's. Raises BusyError if `MOST_OF_ONE` sign-ins of this address are under way."""
        with _place(request):
            return super().authenticate(request, username, password, **credentials)


@contextmanager
def _place(request: HttpRequest | None) -> Iterator[None]:
    asker = counted_as(get_client_ip_address(request) or "") if request is not None else ""
    with _lock:
        if _under_way[asker] >= MOST_OF_ONE:
            raise BusyError
        _under_way[asker] += 1
    try:
        yield
    finally:
        with _lock:
            _under_way[asker] -= 1
            if not _under_way[asker]:
                del _under_way[asker]
