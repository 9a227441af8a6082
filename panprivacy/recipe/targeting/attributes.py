"""Coarse attributes that devices know of themselves, e.g. their system or region, with all allowed values."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed

FIELD = "attributes"

MOST_ATTRIBUTES = 20
MOST_VALUES = 20
"""Of a population, and of one attribute: they are meant to be coarse."""

LENGTH = 30
_NAME = re.compile(rf"[a-z0-9_]{{1,{LENGTH}}}")
_VALUE = re.compile(rf"[a-z0-9._-]{{1,{LENGTH}}}")


@dataclass(frozen=True)
class Attributes:
    """The public declaration of a population.

    Attributes:
        values: by the attribute's name, its allowed values in their order; a device has one of them.
    """

    values: Mapping[str, tuple[str, ...]]

    @classmethod
    def from_members(cls, value: object) -> Self:
        """Read e.g. `{"os": ["linux", "other"]}`.

        Raises:
            FieldError: named `attributes` or `attributes.NAME`: not of this form, more than
                `MOST_ATTRIBUTES`, or an attribute without 2 to `MOST_VALUES` different values.
        """
        if not isinstance(value, Mapping) or len(value) > MOST_ATTRIBUTES:
            raise FieldError(FIELD, f"must be an object of at most {MOST_ATTRIBUTES} attributes")
        # In the order of the names, so that equal declarations have equal text.
        named = sorted((require_name(FIELD, name), of) for name, of in value.items())
        return cls({name: _values(name, of) for name, of in named})

    def members(self) -> dict[str, list[str]]:
        """Inverse of `from_members`."""
        return {name: list(values) for name, values in self.values.items()}

    def require_extends(self, before: "Attributes") -> None:
        """FieldError unless all previous declarations are unchanged; values may be added at the end.

        A recipe names values by which a result was labelled: they never come to mean something else.
        """
        for name, values in before.values.items():
            if self.values.get(name, ())[: len(values)] != values:
                raise FieldError(
                    f"{FIELD}.{name}", f"must begin with {', '.join(values)}: what was declared stays"
                )


NO_ATTRIBUTES = Attributes({})


def own_attributes(text: str) -> dict[str, str]:
    """A device's own attributes from text, e.g. `os=linux,region=eu`; none for an empty text.

    Raises:
        FieldError: named `attributes`: not of this form, or an attribute occurs twice.
    """
    own: dict[str, str] = {}
    for part in text.split(",") if text.strip() else ():
        name, _, value = part.strip().partition("=")
        require_name(FIELD, name)
        require_value(FIELD, value)
        if name in own:
            raise FieldError(FIELD, f"must have each attribute once: {name} is repeated")
        own[name] = value
    return own


def require_name(field: str, name: object) -> str:
    """FieldError unless it can name an attribute."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise FieldError(
            field, f"must have names of 1 to {LENGTH} of the characters a-z, 0-9 and _, not {as_typed(name)}"
        )
    return name


def require_value(field: str, value: object) -> str:
    """FieldError unless it can be the value of an attribute."""
    if not isinstance(value, str) or not _VALUE.fullmatch(value):
        raise FieldError(
            field,
            f"must have values of 1 to {LENGTH} of the characters a-z, 0-9, dot, _ and -, "
            f"not {as_typed(value)}",
        )
    return value


def _values(name: str, listed: object) -> tuple[str, ...]:
    field = f"{FIELD}.{name}"
    if not isinstance(listed, Sequence) or isinstance(listed, str) or not 2 <= len(listed) <= MOST_VALUES:
        raise FieldError(field, f"must be a list of 2 to {MOST_VALUES} values")
    values = tuple(require_value(field, value) for value in listed)
    if len(set(values)) < len(values):
        raise FieldError(field, "must have each value once")
    return values
