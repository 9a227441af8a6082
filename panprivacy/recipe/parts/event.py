"""Names for what a recipe counts: its event, and the values of its answer.

They are for people and for developers of applications. No number depends on them.
"""

import re
from dataclasses import dataclass
from typing import Any

from panprivacy.formats.errors import FieldError
from panprivacy.formats.lines import distinct_lines, one_line
from panprivacy.formats.parameters import as_typed
from panprivacy.statistics.interface import Statistic

EVENT_LENGTH = 60
EVENT_PATTERN = re.compile(rf"[a-z0-9._-]{{1,{EVENT_LENGTH}}}")

DEFINITION_LENGTH = 300
LABEL_LENGTH = 60

MOST_LABELS = 1_001
"""The largest number of a histogram's buckets; with more values, a recipe has no labels."""

EVENT_FIELDS = ("event", "event_definition", "labels")
"""Fields of recipe files and documents that may be absent."""


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

    @classmethod
    def from_members(
        cls, members: dict[str, object], statistic: type[Statistic[Any]], *, null_is_absent: bool
    ) -> "EventNames":
        """Take the fields `EVENT_FIELDS` out of a recipe. The number of labels is not checked.

        Args:
            null_is_absent: as in a file that people write; in a signed document null is refused.

        Raises:
            FieldError: names the value that is out of range.
        """
        given = {name: members.pop(name) for name in EVENT_FIELDS if name in members}
        if null_is_absent:
            given = {name: value for name, value in given.items() if value is not None}
        if "event_definition" in given and "event" not in given:
            raise FieldError("event", "is missing: event_definition says when it happens")
        return cls(
            name=_event(given["event"]) if "event" in given else None,
            definition=one_line("event_definition", given["event_definition"], DEFINITION_LENGTH)
            if "event_definition" in given
            else None,
            labels=_labels(given["labels"], statistic) if "labels" in given else (),
        )

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

    def members(self) -> dict[str, Any]:
        """The given fields, as plain JSON values."""
        given = {"event": self.name, "event_definition": self.definition}
        named: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        return {**named, "labels": list(self.labels)} if self.labels else named


NOTHING_NAMED = EventNames()


def _event(value: object) -> str:
    if not isinstance(value, str) or not EVENT_PATTERN.fullmatch(value):
        raise FieldError(
            "event",
            f"must be 1 to {EVENT_LENGTH} of the characters a-z, 0-9, dot, _ and -, not {as_typed(value)}",
        )
    return value


def _labels(value: object, statistic: type[Statistic[Any]]) -> tuple[str, ...]:
    if statistic.scalar:
        raise FieldError("labels", f"must be left out: {statistic.statistic} estimates a single number")
    return distinct_lines("labels", value, most=MOST_LABELS, length=LABEL_LENGTH)
