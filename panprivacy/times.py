"""Times as text: RFC 3339, in whole seconds."""

from datetime import UTC, datetime

from panprivacy.errors import FieldError
from panprivacy.parameters import as_typed


def format_time(time: datetime) -> str:
    """RFC 3339 in UTC with whole seconds: 2026-01-31T12:00:00Z."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(field: str, value: object) -> datetime:
    """An RFC 3339 time with a zone, in UTC and whole seconds; FieldError otherwise."""
    refusal = FieldError(
        field,
        "must be a time with a zone in the years 1970 to 9998, e.g. 2026-01-31T12:00:00Z, not "
        f"{as_typed(value)}",
    )
    if not isinstance(value, str):
        raise refusal
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        raise refusal from None
    if time.tzinfo is None or not 1970 <= time.year < 9999:
        raise refusal
    return time.astimezone(UTC).replace(microsecond=0)
