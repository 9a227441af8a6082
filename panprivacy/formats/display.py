"""Numbers in sentences, and values in the form they were typed."""

import json
import re
from datetime import UTC, datetime

_EXPONENT = re.compile(r"e([+-])0*(?=\d)")


def plain(value: float, form: str = "g") -> str:
    """`value` in a format of Python, with the exponent as people write it: 1e-06 → 1e-6, 2e+20 → 2e20."""
    return _EXPONENT.sub(lambda found: f"e{found[1].removeprefix('+')}", format(value, form))


_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def duration(seconds: int) -> str:
    """86400 → "1 day", 5400 → "1 hour 30 minutes", 0 → "0 seconds".

    Args:
        seconds: from 0.
    """
    parts = []
    for size, name in _UNITS:
        times, seconds = divmod(seconds, size)
        if times:
            parts.append(f"{times:,} {name}{'' if times == 1 else 's'}")
    return " ".join(parts) or "0 seconds"


def moment(at: datetime) -> str:
    """To the minute, in UTC: "2026-11-30 18:05 UTC".

    Args:
        at: with a time zone.
    """
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def duration_and_seconds(seconds: int) -> str:
    """For people who fill in seconds: 604800 → "7 days (604,800 s)", 7 → "7 seconds"."""
    return duration(seconds) if seconds < 60 else f"{duration(seconds)} ({seconds:,} s)"


def sentence(clause: str) -> str:
    """A clause as a sentence, with a capital letter and a full stop."""
    return f"{clause[:1].upper()}{clause[1:]}."


def as_typed(value: object) -> str:
    """A value in its spelling in a recipe file, shortened; what cannot be shown on one line of a terminal is
    escaped."""
    if isinstance(value, int) and abs(value) >= 10**60:
        return (
            "a number of more than 60 digits"  # writing out thousands of them is slow, and refused from 4,300
        )
    text = json.dumps(value, ensure_ascii=False, default=repr)
    if not text.isprintable():
        text = json.dumps(value, default=repr)
    return text if len(text) <= 60 else f"{text[:57]}…"
