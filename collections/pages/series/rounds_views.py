"""Pages on which a draft is asked in rounds."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views import View

from pages.access import PublishersOnly
from pages.kinds import kind_of
from pages.series.publishing import published_or_asked
from pages.series.rounds_form import RoundsForm, RoundsPreview, rounds_preview
from panprivacy.catalogue import statistic_class
from panprivacy.errors import FieldError
from planner.sending import State
from recipes.approvals import approval_needed
from recipes.models import Recipe
from series.composing import rounds_state

PREVIEW = "preview"
"""Parameter of the address that shows what its other parameters promise and cost."""

REFRESH_SECONDS = 3
"""After which a page asks again for what a worker computes."""


@dataclass(frozen=True)
class Awaited:
    """A preview that a worker computes, or that none does.

    Attributes:
        state: how far it is.
    """

    state: State

    @property
    def sentence(self) -> str:
        """What to do."""
        return {
            State.BUSY: "The workers compute too much already. Ask again in a minute.",
            State.NO_WORKER: "This takes a worker to compute, and none has answered. Is one running?",
        }.get(self.state, "Being computed, which takes up to half a minute. This page asks again by itself.")


class DraftRoundsView(PublishersOnly):
    """Ask a draft in rounds. The draft stays as it is."""

    def get(self, request: HttpRequest, pk: int) -> HttpResponse:
        recipe = _draft(pk)
        if PREVIEW not in request.GET:
            return _page(request, RoundsForm(members=recipe.draft), recipe)
        form = RoundsForm(request.GET, members=recipe.draft)
        preview = _preview(form) if form.is_valid() else None
        page = _page(request, form, recipe, preview=preview)
        if isinstance(preview, Awaited) and preview.state == State.COMPUTING:
            page["Refresh"] = str(REFRESH_SECONDS)
        return page

    def post(self, request: HttpRequest, pk: int) -> HttpResponse:
        recipe = _draft(pk)
        form = RoundsForm(request.POST, members=recipe.draft)
        if not form.is_valid():
            return _page(request, form, recipe, status=422)
        if request.POST.get("action") == "preview":
            preview = _preview(form)
            if isinstance(preview, Awaited):
                # An address that the page may ask for again by itself.
                asked = {name: value for name in form.fields if (value := request.POST.get(name))}
                return redirect(f"{request.path}?{urlencode({PREVIEW: 1, **asked})}#preview")
            return _page(request, form, recipe, preview=preview)
        answer = published_or_asked(request, form, form.draft.recipe.population)
        return answer or _page(request, form, recipe, status=422)


class DraftRoundsPreviewView(PublishersOnly, View):
    """What all rounds promise and cost, for HTMX."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, pk: int) -> HttpResponse:
        recipe = _draft(pk)
        form = RoundsForm(request.POST, members=recipe.draft)
        preview = _preview(form) if form.is_valid() else None
        return render(request, "series/_rounds_preview.html", _shown(form, recipe, preview))


def _draft(pk: int) -> Recipe:
    return get_object_or_404(Recipe, pk=pk, status=Recipe.Status.DRAFT)


def _preview(form: RoundsForm) -> RoundsPreview | Awaited | None:
    """Of a valid form; None, with the reason among its errors, where there is none."""
    try:
        state = rounds_state(form.draft)
        return rounds_preview(form.draft) if state == State.COMPLETE else Awaited(state)
    except FieldError as error:
        form.add_refusal(error)
        return None


def _shown(form: RoundsForm, recipe: Recipe, preview: RoundsPreview | Awaited | None) -> dict[str, Any]:
    problems = [
        (str(form.fields[name].label) if name in form.fields else "", " ".join(map(str, messages)))
        for name, messages in form.errors.items()
    ]
    kind = kind_of(statistic_class(recipe.statistic))
    awaited = preview if isinstance(preview, Awaited) else None
    return {
        "form": form,
        "recipe": recipe,
        "preview": None if awaited else preview,
        "awaited": awaited,
        "problems": problems,
        "kind": kind,
    }


def _page(
    request: HttpRequest,
    form: RoundsForm,
    recipe: Recipe,
    *,
    preview: RoundsPreview | Awaited | None = None,
    status: int = 200,
) -> HttpResponse:
    context = _shown(form, recipe, preview)
    context["needs_approval"] = approval_needed(recipe.draft["population"])
    return render(request, "series/rounds.html", context, status=status)
