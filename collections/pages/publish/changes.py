"""What differs between a form and what it started from: another recipe, or the draft as it was saved."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.http import HttpRequest
from django.urls import reverse

from pages.not_found import found, missing
from pages.publish.forms import RecipeForm
from pages.publish.target_field import TargetField, in_words
from panprivacy.formats.display import moment
from panprivacy.formats.errors import FieldError
from recipes.models import Recipe
from recipes.selectors import recipe_asked_again
from web.numbers import number

EMPTY = "empty"

NOT_COMPARED = {"population_size"}
"""Fields that are no part of a recipe."""

TIMES = ("opens_at", "closes_at")


@dataclass(frozen=True)
class Origin:
    """What a form started from.

    Attributes:
        title: its name, after "Changed from".
        url: its page.
        query: what the addresses of the form and of its preview carry to name it.
        draft: its content, as in a recipe file.
        recipe: the published recipe that is asked again; None if it is the draft itself.
    """

    title: str
    url: str
    query: str
    draft: Mapping[str, Any]
    recipe: Recipe | None = None

    @property
    def query_more(self) -> str:
        """The same, after others."""
        return f"&{self.query}"

    @property
    def again(self) -> bool:
        """Whether it is a published recipe that is asked again."""
        return self.recipe is not None


@dataclass(frozen=True)
class Change:
    """A field that differs; both values as people read them."""

    name: str
    label: str
    before: str
    after: str


def origin_of_recipe(recipe: Recipe) -> Origin:
    """A published recipe that is asked again."""
    url = reverse("recipe", args=[recipe.identifier])
    return Origin(recipe.name, url, f"from={recipe.identifier}", recipe.draft, recipe)


def origin_of_draft(draft: Recipe) -> Origin:
    """The recipe that a draft asks again; else the draft itself, as it was saved."""
    again = recipe_asked_again(draft)
    if again is not None:
        return origin_of_recipe(again)
    url = reverse("recipe-draft", args=[draft.pk])
    return Origin("the saved draft", url, f"draft={draft.pk}", draft.draft)


def origin_of_query(request: HttpRequest) -> Origin | None:
    """What an address names as the origin of its form; Http404 if there is no such recipe."""
    identifier, draft = request.GET.get("from"), request.GET.get("draft", "")
    if identifier is not None:
        return origin_of_recipe(published_origin(identifier))
    if draft.isascii() and draft.isdigit() and len(draft) < 16:
        stored = Recipe.objects.filter(pk=int(draft), status=Recipe.Status.DRAFT).first()
        return None if stored is None else origin_of_draft(stored)
    return None


def published_origin(identifier: str) -> Recipe:
    """The recipe to ask again; 404 if there is none."""
    if len(identifier) != 64 or "\x00" in identifier:
        raise missing("recipe")
    return found(Recipe.objects.all(), "recipe", identifier=identifier)


def without_times(draft: Mapping[str, Any]) -> dict[str, Any]:
    """A draft's content without its times, which are over when it is asked again."""
    return {name: value for name, value in draft.items() if name not in TIMES}


def changes_of(form: RecipeForm, origin: Origin | None) -> list[Change]:
    """The fields whose values differ from the origin's, in the order of the form."""
    if origin is None or origin.draft.get("statistic") != form.mechanism.statistic:
        return []
    try:
        before = form.initial_of(dict(origin.draft))
    except FieldError:  # another version wrote it
        return []
    changed = []
    for name, field in form.fields.items():
        if name in NOT_COMPARED:
            continue
        old, new = (_normal(field, value) for value in (before.get(name), form[name].value()))
        if old != new:
            changed.append(Change(name, str(form[name].label), _shown(field, old), _shown(field, new)))
    return changed


def _normal(field: forms.Field, value: Any) -> Any:
    """A value as the field parses it; unchanged if the field refuses it."""
    if value in (None, ""):
        return None
    try:
        return field.to_python(field.prepare_value(value))
    except forms.ValidationError:
        return str(value)


def _shown(field: forms.Field, value: Any) -> str:
    if value in (None, ""):
        return EMPTY
    if isinstance(field, TargetField):
        return in_words(value)
    if isinstance(field, forms.ChoiceField):
        # Not a population's choice, whose label states its budget.
        return str(value).replace("_", " ")
    if isinstance(value, datetime):
        return moment(value)
    return number(value)
