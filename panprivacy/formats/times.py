"""Times as text: RFC 3339, in whole seconds."""

import re
from datetime import UTC, datetime, timedelta

from panprivacy.formats.display import as_typed
from panprivacy.formats.errors import FieldError

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(2999, 12, 31, 23, 59, 59, tzinfo=UTC)
"""The first and the last time that documents name. The last is so far from the last that Python knows that
nothing which is added to a time of a document overflows."""


_RFC_3339 = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
"""Python reads other forms of ISO 8601 too, such as weeks."""


def format_time(time: datetime) -> str:
    """RFC 3339 in UTC with whole seconds: 2026-01-31T12:00:00Z."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(field: str, value: object) -> datetime:
    """An RFC 3339 time with a zone, in UTC and whole seconds, from `EARLIEST` to `LATEST`; FieldError
    otherwise."""
    refusal = FieldError(
        field,
        f"must be a time with a zone in the years {EARLIEST.year} to {LATEST.year} (UTC), e.g. "
        f"2026-01-31T12:00:00Z, not {as_typed(value)}",
    )
    if not isinstance(value, str) or not _RFC_3339.fullmatch(value):
        raise refusal
    try:
        time = datetime.fromisoformat(value.upper())
        # Checked first: the offset may lead to another year, or out of the range.
        time = time.astimezone(UTC).replace(microsecond=0)
    except (ValueError, OverflowError):
        raise refusal from None
    if not EARLIEST <= time <= LATEST:
        raise refusal
    return time


def time_after(time: datetime, span: timedelta) -> datetime | None:
    """`time` + `span`, which may be negative; None if no document can express that time."""
    try:
        found = time + span
    except OverflowError:
        return None
    return found if EARLIEST <= found <= LATEST else None
