"""Drafts of recipes, and the private keys of published ones. Every operation is one transaction."""

from collections.abc import Mapping

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from ledger.selectors import population_named
from panprivacy.catalogue import statistic_class
from panprivacy.encryption import load_private_key
from panprivacy.encryption.interface import PrivateKey
from panprivacy.recipe import RecipeDraft
from recipes.errors import RecipeStateError as RecipeStateError
from recipes.models import Recipe, RecipeKey
from storage.sealing import secret_unseal


@transaction.atomic
def recipe_draft_save(
    *, members: Mapping[str, object], actor: AbstractBaseUser | None, recipe: Recipe | None = None
) -> Recipe:
    """Create a draft, or replace the content of one.

    Args:
        members: fields of a recipe file.
        recipe: the draft to change.

    Raises:
        FieldError: a field is unknown, missing or out of range.
        RecipeStateError: the recipe has been published.
    """
    draft = RecipeDraft.from_mapping(members)
    population_named(draft.population)
    recipe = Recipe(created_by=actor) if recipe is None else recipe_locked(recipe, Recipe.Status.DRAFT)
    recipe.name, recipe.question, recipe.statistic = draft.name, draft.question, draft.statistic
    recipe.cohort_size = statistic_class(draft.statistic)(draft.parameters).cohort_size
    recipe.draft = draft.as_dict()
    recipe.save()
    return recipe


@transaction.atomic
def recipe_draft_delete(*, recipe: Recipe) -> None:
    """Delete a draft. Raises RecipeStateError for a recipe that was published."""
    recipe_locked(recipe, Recipe.Status.DRAFT).delete()


def recipe_private_key(*, recipe: Recipe) -> PrivateKey:
    """The recipe's private key, decrypted in memory. Raises RecipeKey.DoesNotExist once it is deleted."""
    key = RecipeKey.objects.get(recipe=recipe)
    encoded = secret_unseal(key.sealed, kind=b"", owner=str(recipe.identifier).encode())
    return load_private_key(key.scheme, encoded)


def recipe_locked(recipe: Recipe, required: Recipe.Status) -> Recipe:
    """The recipe with its row locked; RecipeStateError unless it has this status."""
    locked = Recipe.objects.select_for_update().filter(pk=recipe.pk).first()
    if locked is None:
        raise RecipeStateError("the recipe does not exist any more")
    status_require(locked, required)
    return locked


def status_require(recipe: Recipe, required: Recipe.Status) -> None:
    """RecipeStateError unless the recipe has this status."""
    if recipe.status != required:
        raise RecipeStateError(
            f"the recipe is {recipe.get_status_display().lower()}, not {required.label.lower()}"
        )
