"""Pages on which analysts simulate a whole series. Progress and results are on the page of the series."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from log.audit.access import signed_in_user
from pages.not_found import missing
from pages.series.forms import SeriesForm
from pages.simulate.series_form import SeriesSimulationForm, has_shares
from pages.simulate.starting import awaited_start, rounded_seconds, started
from pages.simulate.views import NOT_DELETED, SimulatorsOnly
from panprivacy.formats.errors import FieldError
from recipes.errors import PartnerUnavailableError
from recipes.models import Recipe
from recipes.planner.guarantees import NotComputedError
from simulations.access import may_delete
from simulations.deletion import series_simulation_delete
from simulations.errors import SimulationRefusedError
from simulations.models import SeriesSimulation
from simulations.selectors import (
    MOST_AT_ONCE,
    seconds_expected,
    simulations_in_line,
)
from simulations.series_simulations import (
    MOST_ROUNDS,
    series_simulation_cancel,
    series_simulation_start,
)
from simulations.workloads import DEVICES
from web.htmx import htmx_of


class SimulateSeriesView(SimulatorsOnly):
    """Simulate the series that a draft and the address name, before it is published."""

    def get(self, request: HttpRequest, pk: int) -> HttpResponse:
        recipe = get_object_or_404(Recipe, pk=pk, status=Recipe.Status.DRAFT)
        review = reverse("draft-series", args=[recipe.pk])
        usual = {name: field.initial for name, field in SeriesForm.base_fields.items()}
        asked: Any = SeriesForm(usual | request.GET.dict(), members=recipe.draft)
        if not asked.is_valid():
            if htmx_of(request):
                return HttpResponse(status=204)
            return redirect(f"{review}?{urlencode(request.GET.dict() | {'preview': '1'})}")
        back = f"{review}?{urlencode({'preview': 1} | asked.repetition())}"
        try:
            if not has_shares(asked.draft.recipe):
                raise FieldError("statistic", "counts values, and only events have shares of devices")
            given = request.POST if request.method == "POST" else None
            form = SeriesSimulationForm(given, asked=asked.draft)
        except FieldError as error:
            messages.info(request, f"It cannot be simulated: {error}.")
            return redirect(back)
        awaited = False
        if form.is_bound and form.is_valid():
            try:
                simulation = series_simulation_start(
                    members=asked.members() | {"rounds": form.cleaned_data["rounds"]},
                    workload=form.workload(),
                    seed=None,
                    public=form.cleaned_data["public"],
                    actor=signed_in_user(request),
                    draft_of=recipe,
                )
            except FieldError as error:
                form.add_field_error(error)
            except NotComputedError as error:
                awaited = awaited_start(form, error)
            except (SimulationRefusedError, PartnerUnavailableError) as error:
                form.add_error(None, f"Nothing was started: {error}.")
            else:
                return started(request, reverse("series", args=[simulation.series.identifier]))
        typed = request.GET if given is None else given
        rounds = form.count("rounds", typed.get("rounds"), MOST_ROUNDS)
        devices = form.count("devices", typed.get("devices"), int(DEVICES.maximum or 0))
        every = {name: asked.cleaned_data[name] for name in ("every", "time_zone")}
        context = {
            "recipe": recipe,
            "form": form,
            "series_query": f"?{urlencode(every)}",
            "back": back,
            "rounds": rounds,
            "devices": devices,
            "counted": True,
            "about": rounded_seconds(rounds * seconds_expected(asked.draft.recipe, devices)),
            "ahead": simulations_in_line().count(),
            "at_once": MOST_AT_ONCE,
            "awaited": awaited,
        }
        htmx = htmx_of(request)
        page = "simulate/_about.html" if htmx and request.method == "GET" else "simulate/form.html"
        return render(request, page, context, status=422 if form.errors and not htmx else 200)

    post = get


class SeriesCancelView(SimulatorsOnly):
    """End the simulation of a series; the results that are there stay."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        try:
            series_simulation_cancel(simulation=_simulation(identifier), actor=signed_in_user(request))
        except SimulationRefusedError as error:
            messages.info(request, f"Nothing was changed: {error}.")
        else:
            messages.success(request, "Cancelled. No further round is simulated.")
        return redirect("series", identifier=identifier)


class SeriesDeleteView(SimulatorsOnly):
    """Delete the private simulation of a series, with all of its rounds."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        own = _simulation(identifier)
        if not may_delete(request.user, own.series):
            raise PermissionDenied(NOT_DELETED)
        try:
            series_simulation_delete(simulation=own, actor=signed_in_user(request))
        except SimulationRefusedError as error:
            messages.info(request, f"Nothing was changed: {error}.")
        else:
            messages.success(request, "Deleted, with all of its rounds and their results.")
        return redirect("series-list")


def _simulation(identifier: str) -> SeriesSimulation:
    own = SeriesSimulation.objects.select_related("series").filter(series__identifier=identifier).first()
    if own is None:
        raise missing("series")
    return own
