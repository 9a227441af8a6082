"""Documents that others wrote: a canonical form, or one error, whatever stands in them."""

from typing import Any

import pytest

from panprivacy.formats.canonical_json import NoCanonicalFormError, canonical_json
from panprivacy.recipe.rounds.public_input import RoundInput
from panprivacy.recipe.signed_documents import require_signed
from panprivacy.statistics.trust_models.members import RecipeVerificationError
from tests.refusals import field_refused


def nested(levels: int) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for _ in range(levels):
        document = {"a": document}
    return document


HOSTILE: dict[str, dict[Any, Any]] = {
    "half a surrogate pair in a name": {"\ud800": 1},
    "half a surrogate pair in a text": {"a": "\ud800"},
    "a name that is no text": {1: 1},
    "no number": {"a": float("nan")},
    "beyond what doubles tell apart": {"a": 10**400},
    "a hundred thousand levels": nested(100_000),
}


@pytest.mark.parametrize("document", HOSTILE.values(), ids=HOSTILE)
def test_what_has_no_canonical_form_is_refused_by_whoever_reads_it(document: dict[str, Any]) -> None:
    with pytest.raises(NoCanonicalFormError):
        canonical_json(document)
    with field_refused("input"):
        RoundInput.made(of="0" * 64, number=1, content=document)
    with pytest.raises(RecipeVerificationError, match="no canonical form"):
        # Refused before a key is looked at.
        require_signed({"format": "x", **document}, "", b"", None, format_="x")


def test_members_are_in_the_order_of_the_standard() -> None:
    assert canonical_json({"b": [1.0, "\u20ac"], "a": None}) == '{"a":null,"b":[1,"\u20ac"]}'.encode()
