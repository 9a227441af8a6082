"""Names for what a recipe counts: its event, and the values of its answer.

They are for people and for developers of applications. No number depends on them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from panprivacy.formats.errors import FieldError
from panprivacy.formats.lines import distinct_lines, one_line
from panprivacy.formats.parameters import as_typed
from panprivacy.formats.structures import EVENT_ALLOWED, EVENT_LENGTH, EVENT_PATTERN, LABEL_LENGTH
from panprivacy.recipe.parts.interface import PartField, PartialRecipe, SimplePart, Subject
from panprivacy.statistics.interface import Statistic

DEFINITION_LENGTH = 300

MOST_LABELS = 1_001
"""The largest number of a histogram's buckets; with more values, a recipe has no labels."""


@dataclass(frozen=True, kw_only=True)
class EventNames:
    """What an application's developer must know to report the right event.

    Attributes:
        name: of the event, for programs; None if the recipe names none.
        definition: when exactly it happens, in a sentence; None if not given.
        labels: names of the answer's values, in their order; empty if not given.
    """

    name: str | None = None
    definition: str | None = None
    labels: tuple[str, ...] = ()

    def require_labels_of(self, statistic: Statistic[Any]) -> None:
        """FieldError unless there is a label for every value of the answer, or none at all."""
        if not self.labels:
            return
        values = len(statistic.labels)
        if values > MOST_LABELS:
            raise FieldError(
                "labels",
                f"must be left out: they name at most {MOST_LABELS:,} values, and there are {values:,}",
            )
        if len(self.labels) != values:
            every = f"one for each value from “{statistic.label(0)}” to “{statistic.label(values - 1)}”"
            raise FieldError("labels", f"must be {values:,}, {every}, not {len(self.labels):,}")


NO_NAMES = EventNames()


def names_events(statistic: type[Statistic[Any]]) -> bool:
    """Whether the statistic's own parameters name what happens, in place of `event`."""
    return not {"event", "events"}.isdisjoint(statistic.parameters_class.names())


class EventPart(SimplePart[EventNames]):
    """The event's name and definition, and the labels of the answer's values."""

    name = "event"
    fields = (
        PartField(
            name="event",
            label="Event",
            help="As developers call it: a-z, 0-9, dot, _ and -. For example: crash, form.opened.",
            meaning="What is counted, as applications call it.",
            length=EVENT_LENGTH,
        ),
        PartField(
            name="event_definition",
            label="Definition of the event",
            help="When exactly it happens, in one sentence.",
            meaning="When exactly it happens.",
            length=DEFINITION_LENGTH,
        ),
        PartField(
            name="labels",
            label="Labels",
            help="Names of the answer’s values, one per line, in their order: as many as there are values.",
            meaning="Names of the answer’s values, in their order.",
            length=LABEL_LENGTH,
            lines=MOST_LABELS,
        ),
    )

    def fields_of(self, subject: Subject) -> tuple[str, ...]:
        names = set(self.field_names)
        if subject.statistic.scalar:
            names.remove("labels")
        if names_events(subject.statistic):
            names.remove("event")
        return tuple(name for name in self.field_names if name in names)

    def misplaced(self, field: str, subject: Subject) -> FieldError | None:
        if field != "labels":
            return None
        return FieldError(field, f"must be left out: {subject.statistic.statistic} estimates a single number")

    def read(self, fields: Mapping[str, object]) -> EventNames:
        names: dict[str, Any] = {}
        if "event" in fields:
            names["name"] = _event(fields["event"])
        if "event_definition" in fields:
            names["definition"] = one_line("event_definition", fields["event_definition"], DEFINITION_LENGTH)
        if "labels" in fields:
            names["labels"] = distinct_lines(
                "labels", fields["labels"], most=MOST_LABELS, length=LABEL_LENGTH
            )
        return EventNames(**names)

    def written(self, value: EventNames) -> dict[str, Any]:
        texts = {"event": value.name, "event_definition": value.definition}
        fields: dict[str, Any] = {name: text for name, text in texts.items() if text is not None}
        return {**fields, "labels": list(value.labels)} if value.labels else fields

    def check(self, recipe: PartialRecipe) -> None:
        names: EventNames = recipe.parts.get(self.name, NO_NAMES)
        if names.definition and not names.name and not names_events(type(recipe.plain_statistic)):
            raise FieldError("event", "is missing: event_definition needs it")
        if names.labels:
            names.require_labels_of(recipe.plain_statistic)

    def without_names(self, value: EventNames) -> None:
        """No number depends on them."""


PART = EventPart()


def _event(value: object) -> str:
    if not isinstance(value, str) or not EVENT_PATTERN.fullmatch(value):
        raise FieldError(
            "event",
            f"must be {EVENT_ALLOWED}, not {as_typed(value)}",
        )
    return value
