"""What all addresses that take in data have in common: plain views, because this is the hot path."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from panprivacy.recipe import format_time
from recipes.models import Recipe
from web.failures import FAILURES, failure_response
from web.problems import Problem, method_not_allowed, not_found


@method_decorator(csrf_exempt, name="dispatch")  # no session is read: there is nothing to forge
class ReceivingView(View):
    """POST, answered with a problem document where something is wrong."""

    http_method_names = ("post", "options")
    what: str
    """What is sent here, e.g. `reports`."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            if request.method not in {"POST", "OPTIONS"}:
                raise method_not_allowed("POST")
            return super().dispatch(request, *args, **kwargs)
        except FAILURES as failure:
            undone = f"The {self.what} were not stored. Send them again."
            return failure_response(failure, methods=("POST", "OPTIONS"), undone=undone)

    def recipe(self, identifier: str) -> Recipe:
        """The recipe of that identifier; Problem where there is none."""
        recipe = Recipe.objects.filter(identifier=identifier).first()
        if recipe is None:
            raise not_found("No recipe has this identifier.")
        return recipe

    def not_open(self, recipe: Recipe) -> Problem:
        """The answer to what came before the recipe opened, or after it closed."""
        recipe.refresh_from_db()
        ahead = recipe.status == Recipe.Status.PUBLISHED and recipe.opens_at > timezone.now()
        detail = f"It opens {format_time(recipe.opens_at)}." if ahead else "It is closed."
        return Problem("recipe-not-open", f"The recipe accepts no {self.what} now", 409, detail)
