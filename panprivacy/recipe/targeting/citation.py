"""How a recipe names the released result by which it shows that many devices have an attribute's value."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed
from panprivacy.recipe.parts.round import require_hash


@dataclass(frozen=True, kw_only=True)
class Citation:
    """Which result, exactly.

    Attributes:
        recipe: identifier of the recipe that it answers.
        result: SHA-256 of the signed result document (`panprivacy.recipe.signed_result.result_hash`).
    """

    recipe: str
    result: str

    def members(self) -> dict[str, str]:
        """As plain JSON values."""
        return {"recipe": self.recipe, "result": self.result}

    @classmethod
    def from_members(cls, field: str, value: object) -> Self:
        """Inverse of `members`, strict; FieldError for anything else."""
        if not isinstance(value, Mapping) or set(value) != {"recipe", "result"}:
            raise FieldError(field, f"must have the fields recipe and result, not {as_typed(value)}")
        return cls(
            recipe=require_hash(f"{field}.recipe", value["recipe"]),
            result=require_hash(f"{field}.result", value["result"]),
        )
