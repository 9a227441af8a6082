"""Values that count once: each call returns those that were new."""

import pytest

from recipes.models import Recipe
from reports.models import ReportNonce
from storage.claims import values_claim
from tests.factories import published_recipe

pytestmark = pytest.mark.django_db


def claimed(recipe: Recipe, *values: bytes) -> set[bytes]:
    return values_claim(
        ReportNonce._meta.db_table, owner_column="recipe_id", owner=recipe.pk, column="nonce", values=values
    )


def test_a_value_is_new_once_for_each_owner() -> None:
    recipe, other = published_recipe(), published_recipe()
    a, b, c = b"\x00" * 16, b"'\\%s\xff\x00" + b"\x01" * 10, b"\xff" * 16
    assert claimed(recipe) == set()
    assert claimed(recipe, b, a, a) == {a, b}
    assert claimed(recipe, c, b, a) == {c}
    assert claimed(other, a) == {a}
    kept = ReportNonce.objects.filter(recipe=recipe).values_list("nonce", flat=True)
    assert sorted(bytes(nonce) for nonce in kept) == [a, b, c]


def test_values_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        claimed(published_recipe(), b"\x00" * 16, b"\x00" * 15)
