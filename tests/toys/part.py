"""A toy of an optional part of recipes: a text, which no number depends on."""

from collections.abc import Mapping
from typing import Any

from panprivacy.formats.lines import one_line
from panprivacy.recipe.parts.interface import PartField, SimplePart, Subject


class ToyPart(SimplePart[str]):
    name = "toy"
    fields = (
        PartField(
            name="toy",
            label="Favourite toy",
            help="Which toy children bring.",
            meaning="The toy that children bring.",
            length=20,
        ),
    )

    def fields_of(self, subject: Subject) -> tuple[str, ...]:
        return self.field_names if subject.servers.report_format is not None else ()

    def read(self, fields: Mapping[str, object]) -> str:
        return one_line("toy", fields["toy"], 20)

    def written(self, value: str) -> dict[str, Any]:
        return {"toy": value}

    def without_names(self, value: str) -> None:
        """No number depends on it."""
