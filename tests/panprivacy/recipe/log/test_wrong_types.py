"""What strangers wrote is refused with an error of its own kind, whatever stands at any of its members."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from panprivacy.formats import base64_text
from panprivacy.formats.canonical_json import NoCanonicalFormError, canonical_json
from panprivacy.protocols.transparency.findings import CheckError
from panprivacy.protocols.transparency.policy import Policy
from panprivacy.recipe.log.checks import check_file
from panprivacy.recipe.signed_result import CONTEXT, signed_bytes
from tests.panprivacy.device.public_log import WITHOUT_WITNESSES, MemoryLog
from tests.panprivacy.device.server import SIGNING_KEY
from tests.panprivacy.recipe.targeting.results import categories_recipe, result_of

POLICY = Policy.parse(WITHOUT_WITNESSES.encode())
RECIPE = categories_recipe()
RESULT = {
    **result_of(RECIPE, (70, 30, 20), 100),
    "servers": [{"name": "Server", "signature": None}],
    "signature": "",
}
SERVED = {
    "id": RECIPE.identifier,
    "document": RECIPE.document,
    "signature": base64_text.encode(SIGNING_KEY.sign(RECIPE.signed_message)),
}
ROUNDS = {"id": "x", "document": {"format": "panapp-rounds-1", "rounds": 2}, "signature": "x"}
WRONG = (None, True, -1, 1e300, "", "\ud800", [], [[]], {}, {"a": []})


def changed(value: Any) -> Iterator[Any]:
    """A document with something else at each of its members, one at a time."""
    yield from WRONG
    if isinstance(value, dict):
        for name, member in value.items():
            yield from ({**value, name: other} for other in changed(member))
    if isinstance(value, list):
        for place, member in enumerate(value):
            yield from ([*value[:place], other, *value[place + 1 :]] for other in changed(member))


def consistent(document: Any) -> Any:
    """With the identifier and the signature that go with it, where it can have them: more is looked at."""
    if not isinstance(document, dict):
        return document
    found = dict(document)
    for name in ("recipe", "document"):
        if isinstance(found.get(name), dict):
            with suppress(NoCanonicalFormError):
                found["id"] = hashlib.sha256(canonical_json(found[name])).hexdigest()
    if "outcome" in found:
        with suppress(ValueError):
            found["signature"] = base64_text.encode(SIGNING_KEY.sign(CONTEXT + signed_bytes(found)))
    return found


@pytest.mark.parametrize("document", [RESULT, SERVED, ROUNDS], ids=["result", "recipe", "rounds"])
def test_a_wrong_type_at_any_member_is_refused_or_told_and_nothing_else(document: Any) -> None:
    for wrong in changed(document):
        for content in (wrong, consistent(wrong)):
            for policy in (None, POLICY):
                with suppress(CheckError):
                    check_file(json.dumps(content).encode(), None, policy)


def test_an_entry_that_browsers_cannot_read_is_no_entry_here_either() -> None:
    assert check_file(MemoryLog([b'{"a": 1}'], 0).proof(), None, POLICY).sentences
    with pytest.raises(CheckError, match="the entry in the proof is not a JSON object"):
        check_file(MemoryLog([b'{"a": NaN}'], 0).proof(), None, POLICY)
