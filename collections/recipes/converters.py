"""Recipes in addresses: their identifiers, and the rows that these name."""

from django.http import HttpRequest

from recipes.access import may_see
from recipes.models import Recipe
from web.problems import not_found, row_found

UNKNOWN = "No recipe has this identifier."


class IdentifierConverter:
    """The identifier of a published recipe: 64 hexadecimal digits."""

    regex = "[0-9a-f]{64}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


def published_recipe(request: HttpRequest, identifier: str) -> Recipe:
    """The recipe of this identifier. Raises Problem if there is none, or none for the client."""
    recipe = stored_recipe(identifier)
    if not may_see(request, recipe):
        raise not_found(UNKNOWN)
    return recipe


def stored_recipe(identifier: str) -> Recipe:
    """The recipe of this identifier, for a caller that asks `may_see`. Raises Problem if there is none."""
    return row_found(Recipe.objects.all(), UNKNOWN, identifier=identifier)
