"""Whether what a result states is what was recomputed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from panprivacy.formats.display import as_typed
from panprivacy.protocols.transparency.findings import CheckError

TOLERANCE: Final = 1e-9
"""Relative: other machines round the last digits of logarithms otherwise."""

_LEAST: Final = 1e-12
"""Absolute, for a difference of two numbers that should be 0."""


@dataclass(frozen=True)
class Difference:
    """The first place at which two JSON values differ.

    Attributes:
        place: a path, such as `interval.low[0]`.
        stated, recomputed: what is there; None if nothing is.
    """

    place: str
    stated: object
    recomputed: object

    def __str__(self) -> str:
        return f"{self.place} is stated as {as_typed(self.stated)}, but is {as_typed(self.recomputed)}"


def difference(place: str, stated: object, recomputed: object) -> Difference | None:
    """The first difference of two JSON values; None if they agree, with numbers equal up to `TOLERANCE`.

    Args:
        place: path of both.
        stated: of an untrusted document.
        recomputed: may have tuples for lists. A whole number must be stated exactly.
    """
    found = Difference(place, stated, recomputed)
    if isinstance(recomputed, Mapping):
        if not isinstance(stated, Mapping) or set(stated) != set(recomputed):
            return found
        inner = (difference(f"{place}.{name}", stated[name], value) for name, value in recomputed.items())
        return next((one for one in inner if one is not None), None)
    if isinstance(recomputed, list | tuple):
        if not isinstance(stated, list) or len(stated) != len(recomputed):
            return found
        pairs = enumerate(zip(stated, recomputed, strict=True))
        inner = (difference(f"{place}[{number}]", *pair) for number, pair in pairs)
        return next((one for one in inner if one is not None), None)
    if type(recomputed) is float:
        # ε and δ may be tiny, and are no differences.
        least = 0.0 if place.startswith("guarantees") else _LEAST
        return None if is_near(stated, recomputed, least) else found
    # `True` equals 1.
    same = isinstance(stated, bool) == isinstance(recomputed, bool) and stated == recomputed
    return None if same else found


def is_near(stated: object, recomputed: float, least: float = _LEAST) -> bool:
    """Whether it is a number that equals this one up to `TOLERANCE`, or up to `least`."""
    if isinstance(stated, bool) or not isinstance(stated, int | float):
        return False
    try:
        return math.isclose(stated, recomputed, rel_tol=TOLERANCE, abs_tol=least)
    except OverflowError:  # more digits than a float can have
        return False


@dataclass
class Comparison:
    """A result as it is stated, compared field by field.

    Attributes:
        stated: the document.
        compared: names of the fields that were recomputed.
    """

    stated: Mapping[str, Any]
    compared: set[str] = field(default_factory=set)

    def require(self, recomputed: Mapping[str, object]) -> None:
        """CheckError that names the first of these fields that the document has otherwise."""
        for name, value in recomputed.items():
            self.compared.add(name)
            if name not in self.stated:
                raise CheckError(f"result.json has no field {name}")
            found = difference(name, self.stated[name], value)
            if found is not None:
                raise CheckError(str(found))

    @property
    def others(self) -> list[str]:
        """The fields that were not recomputed, by name."""
        return sorted(set(self.stated) - self.compared)
