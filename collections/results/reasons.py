"""Reasons that analysts and administrators write for decisions on a result. They are public."""

from panprivacy.formats.errors import FieldError

REASON_LENGTH = 200
"""Most characters."""


def require_reason(reason: str) -> None:
    """FieldError unless the reason has 1 to 200 printable characters."""
    if not (1 <= len(reason) <= REASON_LENGTH and reason.isprintable()):
        raise FieldError("reason", f"must have 1 to {REASON_LENGTH} printable characters")
