"""Reading recipes."""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import CharField, Q, QuerySet, Value
from django.db.models.functions import Cast, Concat

from panprivacy.formats.errors import FieldError
from panprivacy.planning.recipe_plan import NO_PLAN, RecipePlan
from recipes.access import recipes_visible_to
from recipes.models import AskedAgain, NamedEvent, Recipe, Tag

IDENTIFIER_LENGTH = 64


def recipes_search(
    *, user: AbstractBaseUser | AnonymousUser, text: str = "", status: str = "all"
) -> QuerySet[Recipe]:
    """Published and closed recipes that an account may know of, newest first; or drafts, which only analysts
    may see.

    Args:
        text: words of name or question, the name of one of its events, or the beginning of an identifier.
        status: `draft`, `open` (published), `closed` or `all`, which has no drafts.
    """
    statuses = {
        "draft": [Recipe.Status.DRAFT],
        "open": [Recipe.Status.PUBLISHED],
        "closed": [Recipe.Status.CLOSED],
    }
    recipes = recipes_visible_to(user).filter(
        status__in=statuses.get(status, [Recipe.Status.PUBLISHED, Recipe.Status.CLOSED])
    )
    if text:
        recipes = recipes.filter(
            Q(name__icontains=text)
            | Q(question__icontains=text)
            | Q(pk__in=NamedEvent.objects.filter(name=text).values("recipe"))
            | Q(identifier__startswith=text.lower())
        )
    return recipes


def guarantees_of(recipe: Recipe) -> list[dict[str, Any]]:
    """Every guarantee of a published recipe, as plain values, as stated when it was published."""
    stated: list[dict[str, Any]] = recipe.guarantees.stated
    return stated


def names_of(identifiers: Iterable[str]) -> dict[str, str]:
    """Identifier → name of those recipes among them that are here."""
    found = Recipe.objects.filter(identifier__in=set(identifiers)).values_list("identifier", "name")
    return {str(identifier): name for identifier, name in found}


DRAFT = "draft "
"""How the log names a draft: this, and its number."""


def recipes_of_subjects(subjects: Iterable[str]) -> dict[str, Recipe]:
    """Subject of entries of the log → recipe, for those that are recipes or drafts (published since, or not)
    which are here."""
    wanted = set(subjects)
    numbers = {
        int(subject.removeprefix(DRAFT)): subject
        for subject in wanted
        if subject.startswith(DRAFT) and subject.removeprefix(DRAFT).isdecimal()
    }
    columns = Recipe.objects.only("identifier", "name", "population").order_by()
    found = {
        str(recipe.identifier): recipe
        for recipe in columns.filter(
            identifier__in=[name for name in wanted if len(name) == IDENTIFIER_LENGTH]
        )
    }
    return found | {numbers[recipe.pk]: recipe for recipe in columns.filter(pk__in=numbers)}


def subjects_named(text: str) -> list[QuerySet[Recipe, Any]]:
    """What the log calls the recipes and drafts that have these words in name or question: their identifiers,
    and their numbers as drafts."""
    named = Recipe.objects.filter(Q(name__icontains=text) | Q(question__icontains=text)).order_by()
    numbered = Concat(Value(DRAFT), Cast("pk", CharField()))
    return [
        named.filter(identifier__isnull=False).values("identifier"),
        named.annotate(numbered=numbered).values("numbered"),
    ]


def subjects_of_population(population: str) -> QuerySet[Recipe, Any]:
    """What the log calls the recipes that were published for a population."""
    asked = Recipe.objects.filter(population=population, identifier__isnull=False)
    return asked.order_by().values("identifier")


def recipe_asked_again(recipe: Recipe) -> Recipe | None:
    """The published recipe from which this one was made; None if it was made from none."""
    row = AskedAgain.objects.select_related("origin").filter(recipe=recipe).first()
    return None if row is None else row.origin


def stated_plan(recipe: Recipe) -> RecipePlan:
    """What was expected of a recipe when it was drafted: the database refuses to change it afterwards."""
    try:
        return RecipePlan.from_members(dict(recipe.draft))
    except FieldError:  # drafted with another version
        return NO_PLAN


def event_names(user: AbstractBaseUser | AnonymousUser, most: int) -> list[str]:
    """Names of events in published recipes that an account may know of, at most this many, by name."""
    known = recipes_visible_to(user).exclude(status=Recipe.Status.DRAFT)
    named = NamedEvent.objects.filter(recipe__in=known).order_by("name")
    return list(named.values_list("name", flat=True).distinct()[:most])


def tag_names(user: AbstractBaseUser | AnonymousUser, most: int) -> list[str]:
    """Tags of recipes that an account may know of, at most this many, by name."""
    known = Tag.objects.filter(recipe__in=recipes_visible_to(user)).order_by("name")
    return list(known.values_list("name", flat=True).distinct()[:most])


def owner_names() -> list[str]:
    """Accounts that drafted a recipe, by name."""
    owners = Recipe.objects.order_by("created_by__username").exclude(created_by=None)
    return list(owners.values_list("created_by__username", flat=True).distinct())


def drafts_list() -> QuerySet[Recipe]:
    """Drafts, newest first."""
    return Recipe.objects.filter(status=Recipe.Status.DRAFT)
