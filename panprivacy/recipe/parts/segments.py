"""The segments by which a recipe asks: each device knows in which of them it is."""

from collections.abc import Mapping
from typing import Any

from panprivacy.formats.errors import FieldError
from panprivacy.recipe.parts.interface import PartField, PartialRecipe, SimplePart, Subject
from panprivacy.statistics.segments import (
    FIELD,
    MOST_SEGMENTS,
    SEGMENT_LENGTH,
    allowed,
    refusal,
    segments_field,
    segments_read,
)


class SegmentsPart(SimplePart[tuple[str, ...]]):
    """1 to 20 labels, each a part of the population."""

    name = FIELD
    fields = (
        PartField(
            name=FIELD,
            label="Segments",
            help="Parts of the population to compare, one per line: labels that a device knows of itself, "
            "as its version. Two are an A/B test. The first is what others are compared with.",
            meaning="Each device reports its segment with noise.",
            length=SEGMENT_LENGTH,
            lines=MOST_SEGMENTS,
        ),
    )

    def fields_of(self, subject: Subject) -> tuple[str, ...]:
        return self.field_names if allowed(subject.statistic) and subject.servers.has_segments else ()

    def misplaced(self, field: str, subject: Subject) -> FieldError:
        if not subject.servers.has_segments:
            return FieldError(field, f"must be left out under {subject.servers.trust}: a report is one bit")
        return FieldError(field, refusal(subject.statistic))

    def read(self, fields: Mapping[str, object]) -> tuple[str, ...]:
        return segments_read(fields[FIELD])

    def written(self, value: tuple[str, ...]) -> dict[str, Any]:
        return segments_field(value)

    def check(self, recipe: PartialRecipe) -> None:
        if FIELD in recipe.parts:
            # The statistic refuses segments that are too many for it.
            _ = recipe.plain_statistic

    def without_names(self, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(str(number) for number, _ in enumerate(value, start=1))


PART = SegmentsPart()
