"""Recipes in addresses: their identifiers, and the rows that these name."""

from recipes.models import Recipe
from web.problems import row_found


class IdentifierConverter:
    """The identifier of a published recipe: 64 hexadecimal digits."""

    regex = "[0-9a-f]{64}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


def published_recipe(identifier: str) -> Recipe:
    """The recipe of this identifier. Raises Problem if there is none."""
    return row_found(Recipe.objects.all(), "No recipe has this identifier.", identifier=identifier)
