"""What all addresses that take in data have in common: plain views, because this is the hot path."""

from typing import Any

import structlog
from django.core.exceptions import RequestDataTooBig
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from panprivacy.recipe import format_time
from recipes.models import Recipe
from web.problems import Problem, malformed_body, method_not_allowed, not_found

logger = structlog.get_logger(__name__)


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
        except Problem as problem:
            response = problem.response()
            if problem.status == 405:
                response["Allow"] = "POST, OPTIONS"
            return response
        except OperationalError:
            # Nothing was stored: the transaction is whole or not at all. Sending again is safe.
            logger.exception("database_unavailable")
            detail = f"The {self.what} were not stored. Send them again."
            response = Problem("unavailable", "The server is busy", 503, detail).response()
            response["Retry-After"] = "5"
            return response

    def recipe(self, identifier: str) -> Recipe:
        """The recipe of that identifier; Problem where there is none."""
        recipe = Recipe.objects.filter(identifier=identifier).first()
        if recipe is None:
            raise not_found("No recipe has this identifier.")
        return recipe

    def read_body(self, request: HttpRequest, most: int) -> bytes:
        """The body, of at most so many bytes; Problem where it is longer or of unknown length."""
        if "chunked" in request.headers.get("Transfer-Encoding", "").lower():
            raise Problem("length-required", "The body's length is missing", 411, "Send Content-Length.")
        try:
            # Looked at before anything is read. It is a number: the server has parsed it already.
            if int(request.headers.get("Content-Length") or 0) > most:
                raise RequestDataTooBig
            return request.body
        except RequestDataTooBig:
            detail = f"A body for this recipe is at most {most:,} bytes."
            raise Problem("body-too-large", "The body is too large", 413, detail) from None
        except (OSError, ValueError):
            raise malformed_body("The body ended early.") from None

    def not_open(self, recipe: Recipe) -> Problem:
        """The answer to what came before the recipe opened, or after it closed."""
        recipe.refresh_from_db()
        ahead = recipe.status == Recipe.Status.PUBLISHED and recipe.opens_at > timezone.now()
        detail = f"It opens {format_time(recipe.opens_at)}." if ahead else "It is closed."
        return Problem("recipe-not-open", f"The recipe accepts no {self.what} now", 409, detail)
