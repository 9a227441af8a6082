import hashlib
import json
from datetime import timedelta

import pytest
import rfc8785
from cryptography.exceptions import InvalidSignature
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from audit.models import Entry
from panprivacy.encryption.sealing import SealBrokenError
from panprivacy.errors import FieldError
from panprivacy.recipe import PublishedRecipe
from panprivacy.trust_models.members import RecipeVerificationError
from recipes.errors import RecipeStateError
from recipes.models import Recipe, RecipeKey
from recipes.operations import recipe_draft_delete, recipe_draft_save, recipe_private_key
from storage.signing_key import verification_key
from tests.factories import draft_recipe, published_recipe, recipe_members
from trust_models.publishing import recipe_close, recipe_publish

pytestmark = pytest.mark.django_db

PUBLIC_PARAMETERS = {
    "format",
    "name",
    "question",
    "statistic",
    "population",
    "trust",
    "steps",
    "epsilon",
    "delta",
    "cohort_size",
    "sampling_rate",
    "encryption",
    "public_key",
    "step_seconds",
    "opens_at",
    "closes_at",
    "simulation",
}


def test_publish_makes_the_identifier_the_hash_of_every_public_parameter() -> None:
    recipe = published_recipe()
    document = json.loads(recipe.document)
    assert set(document) == PUBLIC_PARAMETERS
    assert recipe.identifier == hashlib.sha256(rfc8785.dumps(document)).hexdigest()


@pytest.mark.parametrize(
    ("statistic", "extra"),
    [
        ("histogram", {"k": 3}),
        ("mean", {"k": 3, "guarantee": "local"}),
        ("mean", {"k": 3, "guarantee": "aggregator"}),
    ],
)
def test_publish_of_every_statistic_keeps_its_parameters(statistic: str, extra: dict[str, object]) -> None:
    recipe = published_recipe(statistic=statistic, cohort_size=100, **extra)
    document = json.loads(recipe.document)
    assert {name: document[name] for name in extra} == extra
    assert PublishedRecipe.from_document(document).canonical == recipe.document.encode()


def test_publish_signs_the_document_with_the_servers_key() -> None:
    recipe = published_recipe()
    message = b"panapp-recipe-3\n" + recipe.document.encode()
    verification_key().verify(bytes(recipe.signature), message)
    with pytest.raises(InvalidSignature):
        verification_key().verify(
            bytes(recipe.signature), message.replace(b'"cohort_size":5', b'"cohort_size":1')
        )


def test_verified_recipe_refuses_a_changed_document_under_the_old_identifier() -> None:
    recipe = published_recipe()
    document = json.loads(recipe.document)
    good = PublishedRecipe.verified(
        document, str(recipe.identifier), bytes(recipe.signature), verification_key()
    )
    assert good.canonical == recipe.document.encode()
    with pytest.raises(RecipeVerificationError, match="identifier"):
        PublishedRecipe.verified(
            {**document, "epsilon": 20}, str(recipe.identifier), bytes(recipe.signature), verification_key()
        )


def test_verified_recipe_refuses_a_document_that_somebody_else_signed() -> None:
    recipe = published_recipe()
    document = {**json.loads(recipe.document), "epsilon": 20}
    forged = PublishedRecipe.from_document(document)
    with pytest.raises(RecipeVerificationError, match="signature"):
        PublishedRecipe.verified(document, forged.identifier, bytes(recipe.signature), verification_key())


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


def test_publish_twice_is_refused() -> None:
    recipe = published_recipe()
    with pytest.raises(RecipeStateError, match="published, not draft"):
        recipe_publish(recipe=recipe, actor=None)
    with pytest.raises(RecipeStateError):
        recipe_draft_save(members=recipe_members(epsilon=3.0), actor=None, recipe=recipe)
    with pytest.raises(RecipeStateError):
        recipe_draft_delete(recipe=recipe, actor=None)


def test_close_is_refused_for_a_draft_and_for_a_closed_recipe() -> None:
    with pytest.raises(RecipeStateError, match="draft, not published"):
        recipe_close(recipe=draft_recipe(), actor=None)
    recipe = published_recipe()
    recipe_close(recipe=recipe, actor=None)
    with pytest.raises(RecipeStateError, match="closed, not published"):
        recipe_close(recipe=recipe, actor=None)


@pytest.mark.parametrize(
    "assignment",
    [
        "document = 'x'",
        "cohort_size = 1",
        "identifier = 'x'",
        "signature = identifier",
        "closes_at = opens_at",
        "simulation = NOT simulation",
        "name = 'another'",
        "status = 'draft'",
        "draft = '{}'",
        "published_at = opens_at",
    ],
)
@pytest.mark.parametrize("close_first", [False, True])
def test_database_refuses_to_change_a_published_recipe(assignment: str, close_first: bool) -> None:
    recipe = published_recipe()
    if close_first:
        recipe_close(recipe=recipe, actor=None)
    if connection.vendor == "postgresql":
        assignment = assignment.replace("signature = identifier", "signature = 'x'::bytea")
    with pytest.raises(DatabaseError, match="published recipe cannot be changed"), transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(f"UPDATE recipes_recipe SET {assignment} WHERE id = %s", [recipe.pk])


@pytest.mark.parametrize("statement", ["DELETE FROM recipes_recipe"])
def test_database_refuses_to_delete_a_published_recipe(statement: str) -> None:
    published_recipe()
    with pytest.raises(DatabaseError, match="published recipe cannot be changed"), transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(statement)


def test_database_allows_to_delete_a_draft() -> None:
    recipe_draft_delete(recipe=draft_recipe(), actor=None)
    assert not Recipe.objects.exists()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"sampling_rate": 0}, "sampling_rate"),
        ({"sampling_rate": 1.01}, "sampling_rate"),
        ({"steps": 0}, "steps"),
        ({"steps": 2.5}, "steps"),
        ({"delta": 0}, "delta"),
        ({"delta": 1}, "delta"),
        ({"cohort_size": 0}, "cohort_size"),
        ({"cohort_size": None}, "cohort_size"),
        ({"name": None}, "name"),
        ({"name": ""}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"question": 7}, "question"),
        ({"statistic": "median"}, "statistic"),
        ({"statistic": ["mean"]}, "statistic"),
        ({"statistic": "histogram"}, "k"),
        ({"statistic": "histogram", "k": 0}, "k"),
        ({"statistic": "mean", "k": 3}, "guarantee"),
        ({"statistic": "mean", "k": 3, "guarantee": "central"}, "guarantee"),
        ({"statistic": "mean", "k": 3, "guarantee": "local", "noise_scale": 0.1}, "noise_scale"),
        ({"guarantee": "local"}, "guarantee"),
        ({"encryption": "rot13"}, "encryption"),
        ({"colour": "red"}, "colour"),
        ({"public_key": {}}, "public_key"),
        ({"step_seconds": 0}, "step_seconds"),
        ({"opens_at": "yesterday"}, "opens_at"),
        ({"opens_at": "2026-01-01T00:00:00"}, "opens_at"),
        ({"opens_at": "2026-01-02T00:00:00Z", "closes_at": "2026-01-01T00:00:00Z"}, "closes_at"),
        ({"closes_at": 5}, "closes_at"),
    ],
)
def test_draft_with_a_bad_field_is_refused_by_name_and_nothing_is_stored(
    changes: dict[str, object], field: str
) -> None:
    with pytest.raises(FieldError) as caught:
        draft_recipe(**changes)
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field}: ")
    assert not Recipe.objects.exists()


def test_publish_of_a_recipe_that_would_be_closed_already_is_refused() -> None:
    past = (timezone.now() - timedelta(days=1)).isoformat()
    recipe = draft_recipe(opens_at="2020-01-01T00:00:00Z", closes_at=past)
    with pytest.raises(FieldError) as caught:
        recipe_publish(recipe=recipe, actor=None)
    assert caught.value.field == "closes_at"
    recipe.refresh_from_db()
    assert recipe.status == Recipe.Status.DRAFT


def test_window_defaults_to_now_and_steps_times_length_and_a_day_of_grace() -> None:
    published = published_recipe(steps=4, step_seconds=3600).published
    assert published.closes_at - published.opens_at == timedelta(hours=4, days=1)
    assert abs(published.opens_at - timezone.now()) < timedelta(minutes=1)


def test_bucket_number_is_accepted_and_left_out_where_a_statistic_has_no_buckets() -> None:
    assert "k" not in json.loads(published_recipe(k=10).document)
    with pytest.raises(FieldError) as caught:
        draft_recipe(k=0)
    assert caught.value.field == "k"
