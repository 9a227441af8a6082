"""The page on which analysts tag a recipe or a draft."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from pages.access import PublishersOnly
from pages.not_found import found
from panprivacy.formats.errors import FieldError
from recipes.models import MOST_TAGS, TAG_LENGTH, Recipe
from recipes.operations import recipe_tag
from recipes.selectors import tag_names

OFFERED = 100


class TagsView(PublishersOnly):
    """The tags of the recipe with an identifier, or of the draft with a number."""

    def get(self, request: HttpRequest, **wanted: object) -> HttpResponse:
        recipe = _tagged(wanted)
        return _page(request, recipe, ", ".join(tag.name for tag in recipe.tags.all()))

    def post(self, request: HttpRequest, **wanted: object) -> HttpResponse:
        recipe, typed = _tagged(wanted), request.POST.get("tags", "")
        try:
            recipe_tag(recipe=recipe, tags=typed.split(","))
        except FieldError as error:
            return _page(request, recipe, typed, f"Tags {error.message}.")
        messages.success(request, "Saved.")
        if recipe.identifier is None:
            return redirect("recipe-draft", pk=recipe.pk)
        return redirect("recipe", identifier=recipe.identifier)


def _tagged(wanted: dict[str, object]) -> Recipe:
    return found(Recipe.objects.all(), "recipe" if "identifier" in wanted else "draft", **wanted)


def _page(request: HttpRequest, recipe: Recipe, typed: str, problem: str = "") -> HttpResponse:
    context = {
        "recipe": recipe,
        "typed": typed,
        "problem": problem,
        "known": tag_names(request.user, OFFERED),
        "most": MOST_TAGS,
        "length": TAG_LENGTH,
    }
    return render(request, "overview/tags.html", context, status=422 if problem else 200)
