"""An event that wraps another one: checking it, and carrying it through plain data."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.errors import FieldError
from panprivacy.parameters import described, description_of, kind_of


@dataclass(frozen=True, kw_only=True)
class NestedEvent(PrivacyEvent):
    """A privacy event over `event`, another one, whose relation and proof it shares."""

    event: PrivacyEvent = described(  # noqa: RUF009  # makes a field, not a default
        label="Event", help="The event that this one is made of."
    )

    def __post_init__(self) -> None:
        """FieldError naming a field that is out of range."""
        if not isinstance(self.event, PrivacyEvent):
            raise FieldError("event", "must be a privacy event")
        for field in dataclasses.fields(self):
            if field.name != "event":
                checked = description_of(field).check(field.name, kind_of(field), getattr(self, field.name))
                object.__setattr__(self, field.name, checked)

    @property
    def quick(self) -> bool:
        return self.event.quick

    @property
    def neighbours(self) -> Relation:
        return self.event.neighbours

    @property
    def proved(self) -> bool:
        return self.event.proved

    def as_dict(self) -> dict[str, Any]:
        rest = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name != "event"
        }
        return {"kind": self.kind, "event": self.event.as_dict(), **rest}

    @classmethod
    def from_members(cls, members: Mapping[str, object]) -> Self:
        fields = dataclasses.fields(cls)
        if "event" not in members:
            raise FieldError("event", "is missing; it must be a privacy event")
        # A field that is missing or unknown is refused below, before anything of the inner event.
        if isinstance(members["event"], Mapping) and {field.name for field in fields} == set(members):
            # Imported here: the registry holds the classes that are made of this one.
            from panprivacy.accounting.registry import event_from_mapping

            members = {**members, "event": event_from_mapping(members["event"])}
        return super().from_members(members)
