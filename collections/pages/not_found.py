"""404 pages by the type of what is missing: `templates/missing` has a page for each."""

from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest

from recipes.access import may_see
from recipes.models import Recipe
from web.not_found import MissingError

M = TypeVar("M", bound=Model)

KINDS = ("recipe", "series", "population", "draft", "entry", "dashboard")


def missing(kind: str) -> MissingError:
    """404 for something of one of `KINDS`."""
    return MissingError(f"There is no such {kind}.", template=f"missing/{kind}.html")


def readable(recipe: Recipe) -> Recipe:
    """The same recipe; MissingError if its document cannot be read here."""
    if recipe.unreadable:
        raise MissingError("The recipe’s document cannot be read.", template="recipe/part_unreadable.html")
    return recipe


def visible(request: HttpRequest, recipe: Recipe) -> Recipe:
    """The same recipe; MissingError, as for an unknown one, if the reader may not know of it."""
    if not may_see(request, recipe):
        raise missing("recipe")
    return recipe


def found(rows: QuerySet[M], kind: str, **wanted: Any) -> M:
    """The row; MissingError if there is none."""
    row = rows.filter(**wanted).first()
    if row is None:
        raise missing(kind)
    return row
