"""The optional parts of a recipe, one file each; this is the table.

`interface` has the base classes. Reading a part needs no accounting.
"""

from typing import TYPE_CHECKING, Any

from panprivacy.formats.registry import Registry

if TYPE_CHECKING:
    from panprivacy.recipe.parts.interface import Part

__all__ = ["PARTS"]

PARTS: Registry["Part[Any, Any]"] = Registry(
    __name__,
    {
        "event": "event:PART",
        "segments": "segments:PART",
        "hidden_count": "hidden_count:PART",
        "admission": "admission:PART",
        "relay": "relay:PART",
        "hpke": "hpke:PART",
        "bundle": "bundle:PART",
        "round": "round:PART",
        "target": "target:PART",
    },
)
"""Name → part, in the order in which documents list them."""
