"""The optional parts of a recipe, one file each; this is the table.

`interface` has the base classes. Reading a part needs no accounting.
"""

from typing import Any

from panprivacy.recipe.parts.admission import AdmissionPart
from panprivacy.recipe.parts.event import EventPart
from panprivacy.recipe.parts.hidden_count import HiddenCountPart
from panprivacy.recipe.parts.interface import Part
from panprivacy.recipe.parts.relay import RelayPart
from panprivacy.recipe.parts.round import RoundPart
from panprivacy.recipe.parts.segments import SegmentsPart
from panprivacy.recipe.parts.target import TargetPart

__all__ = ["PARTS"]

PARTS: dict[str, Part[Any, Any]] = {
    part.name: part
    for part in (
        EventPart(),
        SegmentsPart(),
        HiddenCountPart(),
        AdmissionPart(),
        RelayPart(),
        RoundPart(),
        TargetPart(),
    )
}
"""Name → part, in the order in which documents list them."""
