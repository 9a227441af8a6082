"""Requests to other installations that failed: each is a row, which holds the time of the next attempt."""

from datetime import datetime, timedelta
from typing import Any, Protocol

from django.db.models import F, QuerySet

from storage.waits import wait_after

LONGEST_WAIT = timedelta(minutes=5)
"""Between two attempts at a request that keeps failing, or at an answer that is not there yet."""

ERROR_LENGTH = 300
"""Characters of an error that are kept."""


class FailedRequest(Protocol):
    """A row of a request. It also has `last_error`, and `send_after`."""

    @property
    def pk(self) -> Any: ...

    @property
    def attempts(self) -> int:
        """That failed, one after the other."""

    @property
    def failing_since(self) -> datetime | None: ...


def request_failed(
    rows: QuerySet[Any], row: FailedRequest, *, error: str, now: datetime, **changes: Any
) -> None:
    """Store the error, and when to try again: soon at first, then every five minutes, for ever.

    Args:
        rows: among which the row must still be. A row that another process has finished in the meantime must
            stay unchanged, or deleted.
        changes: to further columns.
    """
    wait = wait_after(row.attempts, first=timedelta(seconds=1), longest=LONGEST_WAIT)
    rows.filter(pk=row.pk).update(
        attempts=F("attempts") + 1,
        failing_since=row.failing_since or now,
        last_error=error[:ERROR_LENGTH],
        send_after=now + wait,
        **changes,
    )
