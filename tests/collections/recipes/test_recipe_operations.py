import hashlib
import json
from datetime import timedelta
from typing import Any

import pytest
import rfc8785
from cryptography.exceptions import InvalidSignature
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from log.audit.models import Entry
from panprivacy.encryption.sealing import SealBrokenError
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.trust_models.members import RecipeVerificationError
from publishing.publication import recipe_close, recipe_publish
from recipes.errors import RecipeStateError
from recipes.models import Recipe, RecipeKey
from recipes.operations import recipe_draft_delete, recipe_draft_save, recipe_private_key
from storage.signing_key import verification_key
from tests.factories import draft_recipe, published_recipe, recipe_members
from tests.refusals import field_refused

pytestmark = pytest.mark.django_db


def test_publish_signs_and_hashes_every_public_parameter() -> None:
    recipe = published_recipe(k=10)  # which a statistic without buckets leaves out
    document = json.loads(recipe.document)
    assert set(document) == {
        *("format", "name", "question", "statistic", "population", "trust", "steps", "epsilon", "delta"),
        *("cohort_size", "sampling_rate", "encryption", "public_key", "step_seconds", "opens_at"),
        *("closes_at", "simulation"),
    }
    assert recipe.identifier == hashlib.sha256(rfc8785.dumps(document)).hexdigest()
    message = b"panapp-recipe-3\n" + recipe.document.encode()
    verification_key().verify(bytes(recipe.signature), message)
    with pytest.raises(InvalidSignature):
        changed = message.replace(b'"cohort_size":5', b'"cohort_size":1')
        verification_key().verify(bytes(recipe.signature), changed)
    # Times are from now on by default: steps times their length, and a day of grace.
    published = published_recipe(steps=4, step_seconds=3600).published
    assert published.closes_at - published.opens_at == timedelta(hours=4, days=1)
    assert abs(published.opens_at - timezone.now()) < timedelta(minutes=1)


def test_changed_document_verifies_under_no_identifier() -> None:
    recipe = published_recipe()
    document, signature = json.loads(recipe.document), bytes(recipe.signature)
    key, identifier = verification_key(), str(recipe.identifier)
    good = PublishedRecipe.verified(document, identifier, signature, key)
    assert good.canonical == recipe.document.encode()
    changed = {**document, "epsilon": 20}
    with pytest.raises(RecipeVerificationError, match="identifier"):
        PublishedRecipe.verified(changed, identifier, signature, key)
    forged = PublishedRecipe.from_document(changed).identifier
    with pytest.raises(RecipeVerificationError, match="signature"):
        PublishedRecipe.verified(changed, forged, signature, key)


def test_publish_writes_its_audit_entry_in_the_same_transaction() -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        published_recipe()
        raise ZeroDivisionError
    assert not Entry.objects.exists()
    recipe = published_recipe()
    assert [entry.action for entry in Entry.objects.filter(subject=recipe.identifier)] == ["recipe_published"]


def test_private_key_at_rest_is_sealed_for_its_recipe_alone() -> None:
    first, second = published_recipe(), published_recipe()
    secret = recipe_private_key(recipe=first).to_bytes()
    assert secret not in bytes(first.key.sealed)
    RecipeKey.objects.filter(recipe=second).update(sealed=first.key.sealed)
    with pytest.raises(SealBrokenError):
        recipe_private_key(recipe=second)


def test_published_and_closed_recipes_and_drafts_stay_what_they_are() -> None:
    recipe = published_recipe()
    with pytest.raises(RecipeStateError, match="published, not draft"):
        recipe_publish(recipe=recipe, actor=None)
    with pytest.raises(RecipeStateError):
        recipe_draft_save(members=recipe_members(epsilon=3.0), actor=None, recipe=recipe)
    with pytest.raises(RecipeStateError):
        recipe_draft_delete(recipe=recipe, actor=None)
    with pytest.raises(RecipeStateError, match="draft, not published"):
        recipe_close(recipe=draft_recipe(), actor=None)
    recipe_close(recipe=recipe, actor=None)
    with pytest.raises(RecipeStateError, match="closed, not published"):
        recipe_close(recipe=recipe, actor=None)


@pytest.mark.parametrize("close_first", [False, True])
def test_database_refuses_to_change_a_published_recipe(close_first: bool) -> None:
    recipe = published_recipe()
    if close_first:
        recipe_close(recipe=recipe, actor=None)
    other_signature = "x'00'" if connection.vendor == "sqlite" else "'x'::bytea"
    changes = [
        *("document = 'x'", "cohort_size = 1", "identifier = 'x'", f"signature = {other_signature}"),
        *("closes_at = opens_at", "simulation = NOT simulation", "name = 'another'"),
        *("status = 'draft'", "draft = '{}'", "published_at = opens_at"),
    ]
    statements = [f"UPDATE recipes_recipe SET {change} WHERE id = %s" for change in changes]
    for statement in (*statements, "DELETE FROM recipes_recipe WHERE id = %s"):
        with pytest.raises(DatabaseError, match="published recipe cannot be changed"), transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(statement, [recipe.pk])
    recipe_draft_delete(recipe=draft_recipe(), actor=None)  # as it may


MEAN = {"statistic": "mean", "k": 3}
BAD: dict[str, list[Any]] = {
    "epsilon": [0, -1.0, float("nan"), "1", True],
    "sampling_rate": [0, 1.01],
    "steps": [0, 2.5],
    "delta": [0, 1],
    "cohort_size": [0, None],
    "name": [None, "", "a\x00b"],
    "question": [7],
    "statistic": ["median", ["mean"]],
    "k": [{"statistic": "histogram"}, {"statistic": "histogram", "k": 0}],
    "guarantee": ["local", MEAN, {**MEAN, "guarantee": "central"}],
    "noise_scale": [{**MEAN, "guarantee": "local", "noise_scale": 0.1}],
    "encryption": ["rot13"],
    "colour": ["red"],
    "public_key": [[]],
    "step_seconds": [0],
    "opens_at": ["yesterday", "2026-01-01T00:00:00"],
    "closes_at": [5, {"opens_at": "2026-01-02T00:00:00Z", "closes_at": "2026-01-01T00:00:00Z"}],
}
"""By the field that is refused: values of it, or members that are wrong together."""


@pytest.mark.parametrize("field", BAD)
def test_draft_with_a_bad_field_is_refused_by_name_and_nothing_is_stored(field: str) -> None:
    for bad in BAD[field]:
        with pytest.raises(FieldError) as caught:
            draft_recipe(**bad if isinstance(bad, dict) else {field: bad})
        assert caught.value.field == field
        assert str(caught.value).startswith(f"{field}: ")
    assert not Recipe.objects.exists()


def test_publish_of_a_recipe_that_would_be_closed_already_is_refused() -> None:
    past = (timezone.now() - timedelta(days=1)).isoformat()
    recipe = draft_recipe(opens_at="2020-01-01T00:00:00Z", closes_at=past)
    with field_refused("closes_at"):
        recipe_publish(recipe=recipe, actor=None)
    recipe.refresh_from_db()
    assert recipe.status == Recipe.Status.DRAFT
