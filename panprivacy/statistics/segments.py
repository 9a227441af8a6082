"""The segments by which a recipe asks: labels that a device knows, e.g. its version or its model."""

from typing import Any

from panprivacy.formats.errors import FieldError
from panprivacy.formats.lines import distinct_lines
from panprivacy.statistics.events import SEGMENTED
from panprivacy.statistics.interface import Statistic

MOST_SEGMENTS = 20
SEGMENT_LENGTH = 60

FIELD = "segments"
"""Its field in recipe files, documents and plans."""


def segments_read(value: object) -> tuple[str, ...]:
    """1 to `MOST_SEGMENTS` different labels; FieldError naming `segments` otherwise."""
    return distinct_lines(FIELD, value, most=MOST_SEGMENTS, length=SEGMENT_LENGTH)


def refusal(statistic: type[Statistic[Any]]) -> str:
    """Why the statistic cannot be asked by segment, as a clause after the field's name."""
    *first, last = SEGMENTED
    others = f"{', '.join(first)} and {last}"
    return f"must be left out: {statistic.statistic} cannot be asked by segment, but {others} can"


def segments_of(value: object, statistic: type[Statistic[Any]]) -> tuple[str, ...]:
    """The segments of a form or a plan; none if the value is None. FieldError naming `segments`: the
    statistic cannot be asked by segment, or these cannot be."""
    if value is None:
        return ()
    if not allowed(statistic):
        raise FieldError(FIELD, refusal(statistic))
    return segments_read(value)


def allowed(statistic: type[Statistic[Any]]) -> bool:
    """Whether the statistic can be asked by segment."""
    return statistic.statistic in SEGMENTED


def segments_field(segments: tuple[str, ...]) -> dict[str, Any]:
    """The field, as a plain JSON value, if there are segments."""
    return {FIELD: list(segments)} if segments else {}
