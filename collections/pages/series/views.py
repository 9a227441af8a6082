"""Pages of series."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views import View

from audit.access import signed_in_user
from pages.access import PublishersOnly
from pages.charts.shown import shown_chart
from pages.series.charts import trend_chart
from pages.series.forms import SeriesForm
from pages.series.trend import trend_rows
from panprivacy.errors import FieldError
from recipes.access import may_publish
from recipes.models import Recipe
from series.models import NOTE_LENGTH, Round, Series
from series.operations import SeriesStateError, series_mark, series_publish, series_stop
from series.selectors import series_list, trend
from web.paging import page_of

SERIES = 20


class SeriesListView(View):
    """Every series."""

    def get(self, request: HttpRequest) -> HttpResponse:
        page = page_of(series_list(), request, SERIES)
        return render(request, "series/list.html", {"page": page})


class SeriesView(View):
    """One series: its rounds, and what changed from one to the next."""

    def get(self, request: HttpRequest, identifier: str) -> HttpResponse:
        return _page(request, get_object_or_404(Series, identifier=identifier))


class NewSeriesView(PublishersOnly):
    """Repeat a published recipe."""

    def get(self, request: HttpRequest, identifier: str) -> HttpResponse:
        recipe = _repeated(identifier)
        return _form_page(request, SeriesForm(recipe=recipe), recipe)

    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        recipe = _repeated(identifier)
        form = SeriesForm(request.POST, recipe=recipe)
        if form.is_valid():
            try:
                series = series_publish(members=form.members(), actor=signed_in_user(request))
            except FieldError as refusal:
                form.add_refusal(refusal)
            else:
                messages.success(request, "Published. The first round is asked within seconds.")
                return redirect("series", identifier=series.identifier)
        return _form_page(request, form, recipe, status=422)


class SeriesStopView(PublishersOnly):
    """Give up the rounds that are left."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        series = get_object_or_404(Series, identifier=identifier)
        try:
            series_stop(series=series, actor=signed_in_user(request))
        except SeriesStateError as error:
            messages.info(request, f"Nothing was changed: {error}.")
        else:
            messages.success(request, "Stopped. What was reserved for the rounds that are left is returned.")
        return redirect("series", identifier=identifier)


class SeriesMarkView(PublishersOnly):
    """Note something beside the trend, now."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        series = get_object_or_404(Series, identifier=identifier)
        note = request.POST.get("note", "")
        try:
            series_mark(series=series, at=timezone.now(), note=note, actor=signed_in_user(request))
        except FieldError as error:
            return _page(request, series, note=note, problem=f"The note {error.message}.", status=422)
        return redirect("series", identifier=identifier)


def _page(
    request: HttpRequest, series: Series, note: str = "", problem: str = "", status: int = 200
) -> HttpResponse:
    points = trend(series)
    planned = [point.round for point in points if point.round.state == Round.State.PLANNED]
    marks = list(series.marks.all())
    chart = trend_chart(series, points, marks)
    context = {
        "series": series,
        "chart": None if chart is None else shown_chart(chart, "trend"),
        "in_points": any(point.change is not None and point.change.shares is not None for point in points),
        "question": series.draft.get("question", ""),
        "rows": trend_rows([point for point in points if point.round not in planned]),
        "rounds": len(points),
        "planned": planned,
        "failing": [found for found in planned if found.failures],
        "marks": marks,
        "may_publish": may_publish(request.user),
        "note": note,
        "note_length": NOTE_LENGTH,
        "problem": problem,
    }
    return render(request, "series/series.html", context, status=status)


def _repeated(identifier: str) -> Recipe:
    return get_object_or_404(Recipe, identifier=identifier, simulation=False)


def _form_page(request: HttpRequest, form: SeriesForm, recipe: Recipe, status: int = 200) -> HttpResponse:
    return render(request, "series/form.html", {"form": form, "recipe": recipe}, status=status)
