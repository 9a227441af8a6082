"""The document of all rounds of a recipe, as other servers get it.

It is stored by a package above this one: `rounds_declare` sets how it is read.
"""

from collections.abc import Callable

from panprivacy.formats.errors import FieldError
from panprivacy.recipe.parts.round import FIELD, RoundPlace

Documents = Callable[[str], bytes | None]
"""From a document's identifier to its canonical JSON; None if there is none."""

_DECLARED: list[Documents] = []


def rounds_declare(documents: Documents) -> None:
    """Set how documents of rounds are read: once, when the site starts."""
    _DECLARED[:] = [documents]


def rounds_document_of(place: RoundPlace) -> bytes:
    """Canonical JSON of the document that a round names; FieldError named `round` if there is none."""
    found = next((found for read in _DECLARED if (found := read(place.of)) is not None), None)
    if found is None:
        raise FieldError(FIELD, "must be of a recipe in rounds of this site")
    return found
