"""The document of all rounds of a recipe, as other servers are told of it.

It is stored by a room above this one: `rounds_declare` says how it is read.
"""

from collections.abc import Callable

from panprivacy.asked_round import FIELD, AskedRound
from panprivacy.errors import FieldError

Documents = Callable[[str], bytes | None]
"""From a document's identifier to its canonical JSON; None where there is none."""

_DECLARED: list[Documents] = []


def rounds_declare(documents: Documents) -> None:
    """Say how documents of rounds are read: once, when the site starts."""
    _DECLARED[:] = [documents]


def rounds_document_of(place: AskedRound) -> bytes:
    """Canonical JSON of the document that a round names; FieldError named `round` where there is none."""
    found = next((found for read in _DECLARED if (found := read(place.of)) is not None), None)
    if found is None:
        raise FieldError(FIELD, "must be of a recipe in rounds of this site")
    return found
