"""Documents that were published, and that this version cannot read."""

from collections.abc import Mapping
from typing import Any

import pytest

from panprivacy.formats.errors import FieldError
from panprivacy.recipe.document import PublishedRecipe, recipe_of
from panprivacy.recipe.rounds.document import PublishedRounds


def make_unreadable(monkeypatch: pytest.MonkeyPatch, name: str | None = None) -> None:
    """From here on, documents of recipes and rounds with this name, or all, are of another version."""
    for kind in (PublishedRecipe, PublishedRounds):
        read = kind.from_document

        def refuse(document: Mapping[str, object], read: Any = read) -> Any:
            if name in (None, document["name"]):
                raise FieldError("closes_at", "is of another version")
            return read(document)

        monkeypatch.setattr(kind, "from_document", staticmethod(refuse))
    recipe_of.cache_clear()
