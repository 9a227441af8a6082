"""The segments by which a recipe asks: labels that a device knows of itself, as its version or its model."""

from typing import Any

from panprivacy.errors import FieldError
from panprivacy.lines import distinct_lines
from panprivacy.mechanisms import SEGMENTED
from panprivacy.statistic import Statistic

MOST_SEGMENTS = 20
SEGMENT_LENGTH = 60

FIELD = "segments"
"""Member of recipe files and documents that may be absent."""


def segments_of(
    members: dict[str, object], statistic: type[Statistic[Any]], *, null_is_absent: bool
) -> tuple[str, ...]:
    """Take the member out of a recipe's; empty where it is absent.

    Args:
        null_is_absent: as in a file that people write; in a signed document null is refused.

    Raises:
        FieldError: naming `segments`: the statistic cannot be asked by segment, or these cannot be.
    """
    if FIELD not in members:
        return ()
    value = members.pop(FIELD)
    if value is None and null_is_absent:
        return ()
    if not allowed(statistic):
        raise FieldError(
            FIELD,
            f"must be left out: {statistic.statistic} cannot be asked by segment, but "
            f"{' and '.join(SEGMENTED)} can",
        )
    return distinct_lines(FIELD, value, most=MOST_SEGMENTS, length=SEGMENT_LENGTH)


def allowed(statistic: type[Statistic[Any]]) -> bool:
    """Whether the statistic can be asked by segment."""
    return statistic.statistic in SEGMENTED


def members(segments: tuple[str, ...]) -> dict[str, Any]:
    """The member, as a plain JSON value, where there are any."""
    return {FIELD: list(segments)} if segments else {}
