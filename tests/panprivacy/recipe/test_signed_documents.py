"""What a site signs is read back first: nothing is signed that a device could not read."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.formats import base64_text
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.rounds.document import PublishedRounds
from panprivacy.recipe.rounds.draft import RoundsDraft
from panprivacy.recipe.rounds.public_input import RoundInput
from panprivacy.recipe.signed_documents import UnreadableDocumentError
from panprivacy.recipe.signed_result import ResultRefusedError, sign_result, verify_result
from tests.factories import recipe_members
from tests.panprivacy.recipe.test_document import published
from tests.refusals import field_refused

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def rounds() -> PublishedRounds:
    members = recipe_members(steps=1, step_seconds=1, cohort_size=20, rounds=3, round_seconds=60)
    return PublishedRounds.of(RoundsDraft.from_mapping(members), series="0" * 16)


def round_input() -> RoundInput:
    return RoundInput.made(of="0" * 64, number=1, content={"weights": [0.5]})


@pytest.mark.parametrize("document", [published(), rounds(), round_input()])
def test_sign_of_a_document_that_can_be_read_back_is_verified(document):
    read = type(document).verified(
        document.document, document.identifier, document.sign(KEY), KEY.public_key()
    )
    assert read == document


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (replace(published(), closes_at=datetime(9999, 1, 1, tzinfo=UTC)), "closes_at"),
        (replace(published(), opens_at=datetime(1969, 1, 1, tzinfo=UTC)), "opens_at"),
        (replace(published(), closes_at=published().opens_at), "closes_at"),
        (replace(published(steps=1_000), step_seconds=31 * 86_400 * 12), "step_seconds"),
        (replace(published(steps=100_000, step_seconds=60), step_seconds=31 * 86_400), "step_seconds"),
        (replace(published(), name="two\nlines"), "name"),
        (replace(published(), step_seconds=0), "step_seconds"),
        (replace(rounds(), rounds=0), "rounds"),
        (replace(rounds(), round_seconds=10**9), "round_seconds"),
        (replace(round_input(), number=0), "number"),
        (replace(round_input(), of="another"), "of"),
    ],
)
def test_sign_of_a_document_that_cannot_be_read_back_names_its_field(document, field):
    with field_refused(field):
        document.sign(KEY)


def test_sign_of_a_document_that_is_read_as_another_is_refused(monkeypatch):
    another = published(name="Another")
    monkeypatch.setattr(PublishedRecipe, "from_document", staticmethod(lambda _: another))
    with pytest.raises(UnreadableDocumentError):
        replace(another, name="One").sign(KEY)


def test_signed_result_is_what_its_readers_verify():
    content, signature = sign_result({"estimate": [1.5], "simulation": True, "truth": [1]}, KEY)
    result = {**json.loads(content), "signature": base64_text.encode(signature), "truth": [2]}
    verify_result(result, KEY.public_key())
    assert b"truth" not in content


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**60, "\ud800"])
def test_sign_of_a_result_without_a_canonical_form_is_refused(value):
    with pytest.raises(ResultRefusedError):
        sign_result({"estimate": [value]}, KEY)
