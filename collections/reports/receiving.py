"""What all addresses that take in data have in common: plain views, because this is the hot path."""

from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.views import View
from drf_spectacular.utils import extend_schema
from rest_framework.views import APIView

from panprivacy.formats.times import format_time
from recipes.api import published_recipe
from recipes.models import Recipe
from reports.openapi import IDENTIFIER
from storage.kept_rows import KeptRows
from web.failures import FAILURES, failure_response
from web.problems import Problem, method_not_allowed
from web.scopes import PUBLIC, Scopes

RECIPES: KeptRows[str, Recipe] = KeptRows(
    published_recipe, lambda recipe: recipe.status == Recipe.Status.PUBLISHED
)
"""Recipes that were open when they were read. Whether one still is open is checked when its reports are
stored.
"""


@extend_schema(parameters=[IDENTIFIER])
class ReceivingView(APIView):
    """POST, answered with a problem document if something is wrong.

    An APIView only to be described as one: its `dispatch` is a plain view's, which parses nothing.
    """

    scopes: ClassVar[Scopes] = {"POST": PUBLIC}
    http_method_names = ("post", "options")
    what: str
    """What is sent here, e.g. `reports`."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            if request.method == "OPTIONS":
                return View.options(self, request)
            if request.method != "POST":
                raise method_not_allowed("POST")
            return View.dispatch(self, request, *args, **kwargs)
        except FAILURES as failure:
            return failure_response(failure, methods=("POST", "OPTIONS"), undone=self.undone)

    @property
    def undone(self) -> str:
        """What the operator must know and do if the server cannot work, in sentences."""
        return f"The {self.what} were not stored. Send them again."

    def recipe(self, identifier: str) -> Recipe:
        """The recipe of that identifier, as it was at some time since it was published; Problem if there is
        none."""
        return RECIPES.get(identifier)

    def not_open(self, recipe: Recipe) -> Problem:
        """The answer to what came before the recipe opened, or after it closed."""
        identifier = recipe.published.identifier
        recipe = RECIPES.read_again(identifier)
        opens_at = recipe.published.opens_at
        ahead = recipe.status == Recipe.Status.PUBLISHED and opens_at > timezone.now()
        detail = f"It opens {format_time(opens_at)}." if ahead else "It is closed."
        return Problem("recipe-not-open", f"The recipe accepts no {self.what} now", 409, detail)
