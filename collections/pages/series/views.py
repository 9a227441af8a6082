"""Pages of series."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views import View

from log.audit.access import signed_in_user
from pages.access import PublishersOnly
from pages.all_rounds import guarantees_together, main_of
from pages.awaited_numbers import Awaited
from pages.charts.shown import shown_chart
from pages.not_found import found, readable
from pages.notifications.rules import rules_context
from pages.publish.four_eyes import decided, four_eyes_of
from pages.recipe.presentation import headline
from pages.series.by_segment import SINCE, movement, newest_with_result, segment_rows
from pages.series.charts import segments_chart, trend_chart
from pages.series.forms import CHOICES, SeriesForm
from pages.series.publishing import published_or_asked
from pages.series.simulation import progress_part, series_progress
from pages.series.trend import trend_rows
from pages.trust_models import SHOWN
from pages.words.parameters_table import parameter_rows
from pages.words.sentences import guarantee_texts
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.rounds.draft import RoundsDraft
from panprivacy.recipe.series import DEFAULT_ZONE, repetition_of
from publishing.approvals import approval_needed, content_approval_missing
from recipes.access import may_publish
from recipes.errors import RecipeStateError
from recipes.models import Approval, Recipe
from recipes.planner.guarantees import Guaranteed, guaranteed
from series.errors import SeriesStateError
from series.models import NOTE_LENGTH, Round, RoundsDocument, Series
from series.operations import series_is_running, series_mark, series_publish, series_stop
from series.selectors import (
    MOST_ON_PAGE,
    changes_since,
    fitting,
    newest_results,
    rounds_in_all,
    rounds_of,
    segment_to_follow,
    segments_of,
    series_list,
    series_visible_to,
    trend,
    trends,
)
from storage.answers.questions import State
from web.paging import page_of

SERIES = 20

SOON = timedelta(minutes=1)
"""How long before the first round opens the page of its series begins to poll for it."""

NEWEST = 10
"""Rounds that tables show before they are unfolded."""


class SeriesListView(View):
    """Every series, with its newest result."""

    def get(self, request: HttpRequest) -> HttpResponse:
        page = page_of(series_list(request.user), request, SERIES)
        newest = newest_results(page.rows)
        latest = {
            series: headline(recipe, recipe.release)
            for series, recipe in newest.items()
            if not recipe.unreadable
        }
        listed = [(series, latest.get(series.pk)) for series in page.rows]
        return render(request, "series/list.html", {"page": page, "listed": listed})


class SeriesView(View):
    """One series: its rounds, and what changed from one to the next."""

    def get(self, request: HttpRequest, identifier: str) -> HttpResponse:
        series = found(series_visible_to(request.user), "series", identifier=identifier)
        return progress_part(request, series) or _page(request, series)


class NewSeriesView(PublishersOnly):
    """Repeat a published recipe."""

    def get(self, request: HttpRequest, identifier: str) -> HttpResponse:
        recipe = _repeated(identifier)
        return _form_page(request, SeriesForm(members=recipe.draft), recipe)

    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        recipe = _repeated(identifier)
        form = SeriesForm(request.POST, members=recipe.draft)
        if form.is_valid() and (
            answer := published_or_asked(request, form, str(recipe.published.population))
        ):
            return answer
        return _form_page(request, form, recipe, status=422)


class ProposalView(PublishersOnly):
    """A series that needs the approval of another analyst: what is asked about, and what came of it."""

    def get(self, request: HttpRequest, pk: int) -> HttpResponse:
        return _proposal_page(request, _proposal(pk))

    def post(self, request: HttpRequest, pk: int) -> HttpResponse:
        approval = _proposal(pk)
        try:
            if request.POST.get("decision") == "publish":
                series = series_publish(members=approval.document, actor=signed_in_user(request))
                messages.success(request, "Published. The first round is asked within seconds.")
                return redirect("series", identifier=series.identifier)
            messages.success(request, decided(request, approval))
        except (FieldError, RecipeStateError) as error:
            approval.refresh_from_db()
            return _proposal_page(request, approval, problem=f"{error}.", status=422)
        return redirect("series-proposal", pk=pk)


class SeriesStopView(PublishersOnly):
    """Give up the rounds that are left."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        series = found(series_visible_to(request.user), "series", identifier=identifier)
        try:
            series_stop(series=series, actor=signed_in_user(request))
        except SeriesStateError as error:
            messages.info(request, f"Nothing was changed: {error}.")
        else:
            messages.success(request, "Stopped. What was reserved for the rounds that are left is returned.")
        return redirect("series", identifier=identifier)


class SeriesMarkView(PublishersOnly):
    """Add a note to the trend at the present time."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        series = found(series_visible_to(request.user), "series", identifier=identifier)
        note = request.POST.get("note", "")
        try:
            series_mark(series=series, at=timezone.now(), note=note, actor=signed_in_user(request))
        except FieldError as error:
            return _page(request, series, note=note, problem=f"The note {error.message}.", status=422)
        except SeriesStateError as error:
            messages.info(request, f"Nothing was changed: {error}.")
        return redirect("series", identifier=identifier)


def _page(
    request: HttpRequest, series: Series, note: str = "", problem: str = "", status: int = 200
) -> HttpResponse:
    try:
        segment = segment_to_follow(series, request.GET.get("segment", ""))
    except FieldError as error:
        raise Http404(f"The segment {error.message}.") from None
    page = page_of(rounds_of(series), request, MOST_ON_PAGE, fits=fitting(series))
    by_segment = {} if segment else _by_segment(series, page.rows, request.GET.get("baseline", ""))
    points = trend(series, page.rows, segment)
    signed = RoundsDocument.objects.filter(series=series).first()
    guarantees = [] if signed is None else guarantees_together(signed)
    planned = list(series.rounds.filter(state=Round.State.PLANNED).order_by("number"))
    known = series.rounds.count()
    marks = list(series.marks.all())
    chart = trend_chart(series, points, marks, segment)
    input_is_there = bool(planned) and series.inputs.filter(number=planned[0].number).exists()
    context = {
        **by_segment,
        "series": series,
        "chart": None if chart is None else shown_chart(chart, "trend"),
        "joint": any(len(point.values) == 1 for point in points),
        "in_points": any(point.change is not None and point.change.shares is not None for point in points),
        "question": series.draft.get("question", ""),
        "zone": series.draft.get("time_zone", DEFAULT_ZONE),
        "rows": _folded(
            trend_rows([point for point in points if point.round.state != Round.State.PLANNED], segment)
        ),
        "page": page,
        "segment": segment,
        "segments": segments_of(series),
        "rounds": rounds_in_all(series),
        "signed": signed,
        "guarantees": guarantees,
        "main": None if signed is None else main_of(signed),
        "input_is_there": input_is_there,
        "begins": _begins(series, planned, known, waits_for_input=bool(signed) and not input_is_there),
        "running": series_is_running(series),
        "unasked": len(planned)
        if signed is None
        else signed.rounds - series.rounds.filter(state=Round.State.PUBLISHED).count(),
        "planned": planned,
        "failing": [each for each in planned if each.failures],
        "marks": marks,
        "may_publish": may_publish(request.user),
        "note": note,
        "note_length": NOTE_LENGTH,
        "problem": problem,
        **rules_context(request, series=series),
        **series_progress(request, series),
    }
    return render(request, "series/series.html", context, status=status)


def _by_segment(series: Series, rounds: Sequence[Round], baseline: str) -> dict[str, Any]:
    """What the page shows of all segments; nothing if there are none, or a result has several numbers."""
    labels = segments_of(series)
    if not labels or not rounds:
        return {}
    found = trends(series, rounds, labels)
    newest = newest_with_result(point for points in found.values() for point in points)
    if newest is None or len(newest.values) > 1:
        return {}
    at_newest = {
        label: point
        for label, points in found.items()
        for point in points
        if point.round.pk == newest.round.pk
    }
    rows, unit = segment_rows(found)
    every = str(series.draft.get("every"))
    changes = {label: point.change for label, point in at_newest.items()}
    movements = [movement(changes, newest, SINCE.get(every, "since the round before"))]
    earlier = [row.round.number for row in rows if row.round.number < newest.round.number and row.has_result]
    problem = ""
    if baseline:
        if baseline in map(str, earlier):
            changes = changes_since(series, int(baseline), at_newest)
            movements.append(movement(changes, newest, f"since round {baseline}"))
        else:
            problem = "Choose a round with a result before the newest one."
    chart = segments_chart(series, found)
    return {
        "labels": labels,
        "movements": [one for one in movements if one is not None],
        "newest": newest.round,
        "segment_rows": _folded(rows),
        "segment_unit": unit,
        "segments_chart": None if chart is None else shown_chart(chart, "by-segment"),
        "earlier": earlier,
        "baseline": baseline,
        "baseline_problem": problem,
    }


def _folded(rows: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """Rows of a table, the newest first: those that show, and those that are unfolded."""
    return {"newest": rows[:NEWEST], "older": rows[NEWEST:]}


def _begins(series: Series, planned: list[Round], rounds: int, *, waits_for_input: bool) -> bool:
    """Whether the first round is about to be asked, so that the page is old within seconds."""
    if series.stopped_at is not None or not planned or len(planned) < rounds:
        return False
    waits = bool(series.draft.get("public_input")) and waits_for_input
    return not waits and planned[0].opens_at <= timezone.now() + SOON


def _proposal(pk: int) -> Approval:
    return get_object_or_404(Approval.objects.exclude(state=Approval.State.VOID), pk=pk, recipe=None)


def _proposal_page(
    request: HttpRequest, approval: Approval, problem: str = "", status: int = 200
) -> HttpResponse:
    reader = signed_in_user(request)
    try:
        draft = repetition_of(approval.document)
        statistic, trust = draft.recipe.plain_statistic, SHOWN[draft.recipe.trust]
        missing = content_approval_missing(approval)
        computed = guaranteed(asked=draft if isinstance(draft, RoundsDraft) else draft.recipe)
        if isinstance(computed, Guaranteed):
            computed.require_kept()
            statistic = computed.settled(draft.recipe).calibrated
            trust = trust.for_reports(statistic.device_input, computed.numbers.local_epsilon)
    except FieldError as error:
        raise Http404(str(error)) from None
    awaited = Awaited(computed) if isinstance(computed, State) else None
    stated = computed.guarantees if isinstance(computed, Guaranteed) else ()
    context = {
        "proposal": approval,
        "draft": draft,
        "every": dict(CHOICES).get(str(approval.document.get("every")), approval.document.get("every")),
        "time_zone": approval.document.get("time_zone"),
        "round_seconds": approval.document.get("round_seconds"),
        "rounds": approval.document.get("rounds") or approval.document.get("donation_rounds"),
        "mechanism": statistic,
        "trust": trust,
        "rows": parameter_rows(statistic.parameters),
        "awaited": awaited,
        "guarantees": guarantee_texts(stated),
        "in_rounds": isinstance(draft, RoundsDraft),
        "four_eyes": four_eyes_of(approval, missing, reader),
        "may_publish": not missing and reader == approval.asked_by,
        "problem": problem,
        "raw": json.dumps(approval.document, indent=2, ensure_ascii=False),
    }
    page = render(request, "series/proposal.html", context, status=status)
    if awaited is not None:
        awaited.refresh(page)
    return page


def _repeated(identifier: str) -> Recipe:
    return readable(get_object_or_404(Recipe, identifier=identifier, simulation=False))


def _form_page(request: HttpRequest, form: SeriesForm, recipe: Recipe, status: int = 200) -> HttpResponse:
    context = {"form": form, "recipe": recipe, "needs_approval": approval_needed(recipe.published.population)}
    return render(request, "series/form.html", context, status=status)
