"""The page on which an administrator decides about a held result."""

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from log.audit.access import signed_in_user
from pages.access import AdministratorsOnly
from pages.not_found import found, visible
from panprivacy.formats.display import sentence
from panprivacy.formats.errors import FieldError
from recipes.errors import RecipeStateError
from recipes.models import Recipe
from results.operations import result_withhold
from results.rates import held_of, result_allow
from results.reasons import REASON_LENGTH


class DecisionForm(forms.Form):
    """The decision, and why."""

    reason = forms.CharField(max_length=REASON_LENGTH, help_text="It is public.")


class HeldView(AdministratorsOnly):
    """Release a held result anyway, or withhold it for good."""

    refusal = "Only administrators may decide about a held result."

    def get(self, request: HttpRequest, identifier: str) -> HttpResponse:
        return self._page(request, identifier, DecisionForm())

    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        recipe, form = _recipe(request, identifier), DecisionForm(request.POST)
        if not form.is_valid():
            return self._page(request, identifier, form, status=422)
        reason, actor = form.cleaned_data["reason"], signed_in_user(request)
        try:
            if request.POST.get("decision") == "withhold":
                result_withhold(recipe=recipe, reason=reason, actor=actor)
                messages.success(request, "Withheld. Reports and keys are deleted.")
            else:
                result_allow(recipe=recipe, reason=reason, actor=actor)
                messages.success(request, "The result will be released within a minute.")
        except FieldError as error:
            form.add_error("reason", sentence(error.message))
            return self._page(request, identifier, form, status=422)
        except RecipeStateError as error:
            messages.info(request, f"Nothing was changed: {error}.")
        return redirect("recipe", identifier=identifier)

    def _page(
        self, request: HttpRequest, identifier: str, form: DecisionForm, status: int = 200
    ) -> HttpResponse:
        recipe = _recipe(request, identifier)
        held = held_of(recipe)
        if held is None:
            messages.info(request, "The result is not held.")
            return redirect("recipe", identifier=identifier)
        return render(
            request, "recipe/held.html", {"recipe": recipe, "held": held, "form": form}, status=status
        )


def _recipe(request: HttpRequest, identifier: str) -> Recipe:
    return visible(request, found(Recipe.objects.all(), "recipe", identifier=identifier))
