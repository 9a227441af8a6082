"""The segments by which a recipe asks: labels that a device knows, e.g. its version or its model."""

from typing import Any

from panprivacy.formats.errors import FieldError
from panprivacy.formats.lines import distinct_lines
from panprivacy.statistics.events import SEGMENTED
from panprivacy.statistics.interface import Statistic

MOST_SEGMENTS = 20
SEGMENT_LENGTH = 60

FIELD = "segments"
"""Field of recipe files and documents that may be absent."""


def segments_of(
    members: dict[str, object], statistic: type[Statistic[Any]], *, null_is_absent: bool
) -> tuple[str, ...]:
    """Take the field out of a recipe; empty if it is absent.

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
    """The field, as a plain JSON value, if there are segments."""
    return {FIELD: list(segments)} if segments else {}
