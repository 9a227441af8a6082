"""An event that wraps another one: checking it, and writing it as plain data."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from panprivacy.accounting.guarantees import Relation
from panprivacy.accounting.interface import PrivacyEvent
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import described, description_of, kind_of


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
    def largest_loss(self) -> float:
        return self.event.largest_loss

    @property
    def dots_apart(self) -> float:
        return self.event.dots_apart

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
