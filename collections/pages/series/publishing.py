"""Publishing a series or a recipe in rounds from a page, and the page that follows."""

from typing import Any, Protocol

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from log.audit.access import signed_in_user
from panprivacy.formats.errors import FieldError
from publishing.approvals import approval_needed
from recipes.errors import RecipeStateError
from series.operations import series_approval_ask, series_publish


class RepeatingForm(Protocol):
    """A valid form of a file of several rounds."""

    def members(self) -> dict[str, Any]:
        """The file."""

    def add_refusal(self, error: FieldError) -> None:
        """Show a refusal at its field."""

    def add_error(self, field: str | None, error: str) -> None:
        """Show an error."""


def published_or_asked(request: HttpRequest, form: RepeatingForm, population: str) -> HttpResponse | None:
    """Publish, or ask another analyst first if the population needs it.

    Returns:
        the page that follows; None if it is refused, with the reason among the form's errors.
    """
    members, user = form.members(), signed_in_user(request)
    try:
        if approval_needed(population):
            return redirect("series-proposal", pk=series_approval_ask(members=members, actor=user).pk)
        series = series_publish(members=members, actor=user)
    except FieldError as refusal:
        form.add_refusal(refusal)
        return None
    except RecipeStateError as error:
        form.add_error(None, f"{error}.")
        return None
    messages.success(request, "Published. The first round is asked within seconds.")
    return redirect("series", identifier=series.identifier)
