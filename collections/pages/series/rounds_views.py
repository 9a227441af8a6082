"""Pages on which a draft is asked again and again: in rounds, or as a series by the clock."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views import View

from pages.access import PublishersOnly
from pages.awaited_numbers import Awaited
from pages.kinds import kind_of
from pages.series.forms import SeriesForm
from pages.series.publishing import published_or_asked
from pages.series.rounds_form import RoundsForm, RoundsPreview, rounds_preview
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.catalogue import statistic_class
from publishing.approvals import approval_needed
from recipes.models import Recipe
from recipes.operations import draft_repetition_keep
from storage.answers.questions import State

PREVIEW = "preview"
"""Parameter of the address that shows what its other parameters promise and cost."""


class DraftRoundsView(PublishersOnly):
    """Ask a draft in rounds. The draft stays as it is."""

    form_class: type[RoundsForm | SeriesForm] = RoundsForm

    def get(self, request: HttpRequest, pk: int) -> HttpResponse:
        recipe = _draft(pk)
        asked = request.GET if PREVIEW in request.GET else self.kept(recipe)
        if not asked:
            return _page(request, self.form_class(members=recipe.draft), recipe)
        form = self.form_class(asked, members=recipe.draft)
        preview = _preview(form) if form.is_valid() else None
        page = _page(request, form, recipe, preview=preview)
        if isinstance(preview, Awaited):
            preview.refresh(page)
        return page

    def kept(self, recipe: Recipe) -> dict[str, Any]:
        """The values of the form that are stored with the draft."""
        return {}

    def post(self, request: HttpRequest, pk: int) -> HttpResponse:
        recipe = _draft(pk)
        form = self.form_class(request.POST, members=recipe.draft)
        if not form.is_valid():
            return _page(request, form, recipe, status=422)
        if isinstance(form, SeriesForm):
            draft_repetition_keep(recipe=recipe, repetition=form.repetition())
        if request.POST.get("action") == "simulate" and isinstance(form, SeriesForm):
            address = reverse("draft-series-simulate", args=[recipe.pk])
            return redirect(f"{address}?{urlencode(form.repetition())}")
        if request.POST.get("action") == "preview":
            preview = _preview(form)
            if isinstance(preview, Awaited):
                # An address that the page may ask for again by itself.
                asked = {name: value for name in form.fields if (value := request.POST.get(name))}
                return redirect(f"{request.path}?{urlencode({PREVIEW: 1, **asked})}#preview")
            return _page(request, form, recipe, preview=preview)
        answer = published_or_asked(request, form, form.draft.recipe.population)
        return answer or _page(request, form, recipe, status=422)


class DraftSeriesView(DraftRoundsView):
    """Ask a draft every day, week or month. The draft stays as it is."""

    form_class = SeriesForm

    def kept(self, recipe: Recipe) -> dict[str, Any]:
        repetition: dict[str, Any] = recipe.repetition
        return repetition


class DraftRoundsPreviewView(PublishersOnly, View):
    """What all rounds promise and cost, for HTMX."""

    http_method_names = ("post",)
    form_class: type[RoundsForm | SeriesForm] = RoundsForm

    def post(self, request: HttpRequest, pk: int) -> HttpResponse:
        recipe = _draft(pk)
        form = self.form_class(request.POST, members=recipe.draft)
        preview = _preview(form) if form.is_valid() else None
        return render(request, "series/_rounds_preview.html", _shown(form, recipe, preview))


class DraftSeriesPreviewView(DraftRoundsPreviewView):
    """What all rounds of a series promise and cost, for HTMX."""

    form_class = SeriesForm


def _draft(pk: int) -> Recipe:
    return get_object_or_404(Recipe, pk=pk, status=Recipe.Status.DRAFT)


def _preview(form: RoundsForm | SeriesForm) -> RoundsPreview | Awaited | None:
    """Of a valid form; None, with the reason among its errors, if there is none."""
    try:
        preview = rounds_preview(form.draft)
        return Awaited(preview) if isinstance(preview, State) else preview
    except FieldError as error:
        form.add_refusal(error)
        return None


def _shown(
    form: RoundsForm | SeriesForm, recipe: Recipe, preview: RoundsPreview | Awaited | None
) -> dict[str, Any]:
    problems = [
        (str(form.fields[name].label) if name in form.fields else "", " ".join(map(str, messages)))
        for name, messages in form.errors.items()
    ]
    kind = kind_of(statistic_class(recipe.statistic))
    awaited = preview if isinstance(preview, Awaited) else None
    by_clock = isinstance(form, SeriesForm)
    return {
        "form": form,
        "recipe": recipe,
        "preview": None if awaited else preview,
        "awaited": awaited,
        "problems": problems,
        "kind": kind,
        "by_clock": by_clock,
        "preview_address": reverse(
            "draft-series-preview" if by_clock else "draft-rounds-preview", args=[recipe.pk]
        ),
    }


def _page(
    request: HttpRequest,
    form: RoundsForm | SeriesForm,
    recipe: Recipe,
    *,
    preview: RoundsPreview | Awaited | None = None,
    status: int = 200,
) -> HttpResponse:
    context = _shown(form, recipe, preview)
    context["needs_approval"] = approval_needed(recipe.draft["population"])
    return render(request, "series/rounds.html", context, status=status)
