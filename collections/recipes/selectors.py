"""Reading recipes."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from recipes.models import HelperSignature, Recipe, RecipeGuarantees, ShufflerSignature


def recipes_search(*, text: str = "", status: str = "all") -> QuerySet[Recipe]:
    """Published and closed recipes, newest first.

    Args:
        text: words of name or question, or the beginning of an identifier.
        status: `open` (published), `closed` or `all`.
    """
    statuses = {"open": [Recipe.Status.PUBLISHED], "closed": [Recipe.Status.CLOSED]}
    recipes = Recipe.objects.filter(
        status__in=statuses.get(status, [Recipe.Status.PUBLISHED, Recipe.Status.CLOSED])
    )
    if text:
        recipes = recipes.filter(
            Q(name__icontains=text) | Q(question__icontains=text) | Q(identifier__startswith=text.lower())
        )
    return recipes


def guarantees_of(recipe: Recipe) -> list[dict[str, Any]]:
    """Every guarantee of a published recipe, as plain values, as stated when it was published."""
    stated: list[dict[str, Any]] = RecipeGuarantees.objects.get(recipe=recipe).stated
    return stated


def helper_signature_of(recipe: Recipe) -> bytes | None:
    """The helper's signature of a two-server recipe; None for one of a single server."""
    row = HelperSignature.objects.filter(recipe=recipe).first()
    return None if row is None else bytes(row.signature)


def shuffler_signature_of(recipe: Recipe) -> bytes | None:
    """The shuffler's signature of a recipe; None where none takes part."""
    row = ShufflerSignature.objects.filter(recipe=recipe).first()
    return None if row is None else bytes(row.signature)


def names_of(identifiers: Iterable[str]) -> dict[str, str]:
    """Identifier → name of those recipes among them that are here."""
    found = Recipe.objects.filter(identifier__in=set(identifiers)).values_list("identifier", "name")
    return {str(identifier): name for identifier, name in found}


def drafts_list() -> QuerySet[Recipe]:
    """Drafts, newest first."""
    return Recipe.objects.filter(status=Recipe.Status.DRAFT)


def recipe_accepts_reports(recipe: Recipe, now: datetime) -> bool:
    """Whether a report is accepted at `now`. A simulation is not bound by its times."""
    if recipe.status != Recipe.Status.PUBLISHED:
        return False
    if recipe.simulation:
        return True
    return (
        recipe.opens_at is not None
        and recipe.closes_at is not None
        and recipe.opens_at <= now < recipe.closes_at
    )
