"""What the page of a series shows while simulated devices report, and where it leads from there."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from recipes.models import Recipe
from series.models import Series
from simulations.access import may_delete, may_simulate
from simulations.models import SeriesSimulation
from simulations.selectors import ENDED, MOST_AT_ONCE, Stage, series_progress_of
from web.htmx import htmx_of

PROGRESS = "series-simulation"
"""Identifier of the part of a series' page that asks for itself."""


def series_progress(request: HttpRequest, series: Series) -> dict[str, Any]:
    """What the page of a simulated series shows of its simulation to analysts; nothing to others, or of one
    that a command runs."""
    own = SeriesSimulation.objects.select_related("series", "draft").filter(series=series).first()
    if own is None or not may_simulate(request.user):
        return {}
    progress = series_progress_of(own, timezone.now())
    return {
        "simulation": own,
        "progress": progress,
        "simulating": progress.stage not in ENDED,
        "stopped": progress.stage in (Stage.CANCELLED, Stage.FAILED),
        "waiting": progress.stage is Stage.WAITING,
        "ahead": progress.ahead if progress.ahead >= MOST_AT_ONCE else 0,
        "may_delete": may_delete(request.user, series),
        **_draft_links(own),
    }


def _draft_links(own: SeriesSimulation) -> dict[str, str]:
    """Addresses of the review that it was started from, and of the form; none once that was published."""
    draft = own.draft
    if draft is None or draft.status != Recipe.Status.DRAFT:
        return {}
    again = reverse("draft-series-simulate", args=[draft.pk])
    repetition = draft.repetition or {name: own.series.draft[name] for name in ("every", "rounds")}
    return {
        "review": f"{reverse('draft-series', args=[draft.pk])}?{urlencode({'preview': 1, **repetition})}",
        "again": f"{again}?{urlencode(repetition)}",
    }


def progress_part(request: HttpRequest, series: Series) -> HttpResponse | None:
    """The answer to that part of the page, if it alone is asked for: the whole page is loaded again with each
    new result, and at the end."""
    htmx = htmx_of(request)
    if not htmx or htmx.target != PROGRESS:
        return None
    context = series_progress(request, series)
    shown = request.GET.get("shown")
    response = render(request, "simulate/_series_progress.html", {"series": series, **context})
    if not context or not context["simulating"] or shown != str(context["progress"].done):
        response["HX-Refresh"] = "true"
    return response
