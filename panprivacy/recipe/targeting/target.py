"""Which devices a recipe asks: those with certain values of at most three attributes (SAA, 5.5).

Only the device knows its attributes, so only the device can decide whether it is asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed
from panprivacy.recipe.targeting.attributes import Attributes, require_name, require_value

FIELD = "target"

MOST_CONDITIONS = 3


@dataclass(frozen=True)
class Target:
    """All of these conditions together. Without any, all devices are asked.

    Attributes:
        where: by the attribute's name, the value that a device must have; at most `MOST_CONDITIONS`.
    """

    where: Mapping[str, str]

    @classmethod
    def from_members(cls, value: object) -> Self:
        """Read e.g. `{"os": "linux", "region": "eu"}`; FieldError named `target` for anything else."""
        if not isinstance(value, Mapping) or not 1 <= len(value) <= MOST_CONDITIONS:
            raise FieldError(
                FIELD,
                f"must be an object with 1 to {MOST_CONDITIONS} attributes and a value of each, "
                f"not {as_typed(value)}",
            )
        return cls({require_name(FIELD, name): require_value(FIELD, of) for name, of in value.items()})

    def __str__(self) -> str:
        return " and ".join(f"{name} = {value}" for name, value in self.where.items()) or "all devices"

    @property
    def example(self) -> str:
        """Attributes of a device in the target, in the form of a device's own: `os=linux,region=eu`."""
        return ",".join(f"{name}={value}" for name, value in self.where.items())

    def require_declared(self, attributes: Attributes) -> None:
        """FieldError named `target.NAME` for what the population has not declared."""
        for name, value in self.where.items():
            if name not in attributes.values:
                declared = ", ".join(attributes.values) or "none"
                raise FieldError(
                    f"{FIELD}.{name}", f"is not an attribute of this population: it has {declared}"
                )
            if value not in attributes.values[name]:
                raise FieldError(
                    f"{FIELD}.{name}", f"must be one of {', '.join(attributes.values[name])}, not {value}"
                )

    def fits(self, own: Mapping[str, str]) -> bool:
        """Whether a device with these attributes is asked; one that lacks an attribute is not."""
        return all(own.get(name) == value for name, value in self.where.items())

    def narrows(self, other: "Target") -> bool:
        """Whether every device of this target is one of the other's, whatever devices there are."""
        return other.where.items() <= self.where.items()

    def excludes(self, other: "Target") -> bool:
        """Whether no device can be in both: they ask for two values of one attribute."""
        return any(self.where.get(name, value) != value for name, value in other.where.items())


ALL_DEVICES = Target({})
