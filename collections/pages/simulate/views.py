"""Pages on which analysts simulate a recipe: choose devices, follow them, see what came out, delete it."""

import uuid
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

from log.audit.access import signed_in_user
from pages.access import AccessCheckedView
from pages.awaited_numbers import Awaited
from pages.not_found import readable
from pages.recipe.presentation import estimate_rows, headline
from pages.simulate.forms import KINDS, SimulationForm
from pages.simulate.starting import awaited_start, rounded_seconds, started
from pages.words.changes import POINTS
from pages.words.plan import margin_text
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.draft import RecipeDraft
from recipes.errors import PartnerUnavailableError
from recipes.models import Recipe
from recipes.planner.guarantees import NotComputedError
from results.models import Release
from series.models import Round
from simulations.access import may_delete, may_simulate
from simulations.deletion import simulation_delete
from simulations.errors import SimulationRefusedError
from simulations.models import Simulation
from simulations.operations import simulation_cancel, simulation_start
from simulations.selectors import (
    ENDED,
    MOST_AT_ONCE,
    Stage,
    outcome_of,
    planned_margin,
    problem_of,
    progress_of,
    seconds_expected,
    simulations_in_line,
)
from storage.answers.questions import State
from web.htmx import htmx_of
from web.paging import text_of

STAGES = {
    Stage.WAITING: "Waiting for a worker",
    Stage.RUNNING: "Devices report",
    Stage.SUMMING: "Every device has reported; the reports are added up",
    Stage.FINISHED: "Finished",
    Stage.CANCELLED: "Cancelled",
    Stage.FAILED: "Failed",
}


SOME_DEVICES = 1_000
"""For how many devices the time is shown if the form does not say how many there are."""

NOT_DELETED = "Only the owner of a private simulation and administrators may delete it."


class SimulatorsOnly(AccessCheckedView):
    """A page for those who may simulate."""

    refusal = "Only analysts may simulate recipes."

    def may_access(self, user: AbstractBaseUser | AnonymousUser) -> bool:
        return may_simulate(user)


class SimulateDraftView(SimulatorsOnly):
    """Simulate a draft before it is published."""

    def get(self, request: HttpRequest, pk: int) -> HttpResponse:
        recipe = get_object_or_404(Recipe, pk=pk)
        return _form_answer(request, recipe if recipe.status == Recipe.Status.DRAFT else readable(recipe))

    post = get


class SimulateRecipeView(SimulatorsOnly):
    """Simulate a published recipe: a copy of it, which has nothing to do with its own reports."""

    def get(self, request: HttpRequest, identifier: str) -> HttpResponse:
        return _form_answer(request, readable(get_object_or_404(Recipe, identifier=identifier)))

    post = get


class SimulationView(SimulatorsOnly):
    """One simulation: how far it is, and in the end the result compared with the truth and the plan."""

    def get(self, request: HttpRequest, simulation: uuid.UUID) -> HttpResponse:
        found = _simulation(simulation)
        readable(found.recipe)
        context = _context(request, found)
        partial = bool(htmx_of(request))
        if partial and request.GET.get("shown") == context["shown"]:
            return HttpResponse(status=204)
        template = "simulate/_progress.html" if partial else "simulate/simulation.html"
        response = render(request, template, context)
        if context["awaited"] is not None and context["ended"]:
            context["awaited"].refresh(response)
        response["Vary"] = "HX-Request, Cookie"
        return response


class CancelView(SimulatorsOnly):
    """End a simulation without a result."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, simulation: uuid.UUID) -> HttpResponse:
        try:
            simulation_cancel(simulation=_simulation(simulation), actor=signed_in_user(request))
        except SimulationRefusedError as error:
            messages.info(request, f"Nothing was changed: {error}.")
        else:
            messages.success(request, "Cancelled. Its reports are deleted.")
        return redirect("simulation", simulation=simulation)


class DeleteView(SimulatorsOnly):
    """Delete a private simulation and everything that is stored of it."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, simulation: uuid.UUID) -> HttpResponse:
        own = _simulation(simulation)
        if not may_delete(request.user, own.recipe):
            raise PermissionDenied(NOT_DELETED)
        try:
            simulation_delete(simulation=own, actor=signed_in_user(request))
        except SimulationRefusedError as error:
            messages.info(request, f"Nothing was changed: {error}.")
        else:
            messages.success(request, "Deleted, with its recipe, its reports and its result.")
        return redirect("overview")


def _simulation(key: uuid.UUID) -> Simulation:
    return get_object_or_404(Simulation.objects.select_related("recipe"), pk=key)


def _form_answer(request: HttpRequest, recipe: Recipe) -> HttpResponse:
    back = (
        redirect("recipe-draft", pk=recipe.pk)
        if recipe.status == Recipe.Status.DRAFT
        else redirect("recipe", identifier=recipe.identifier)
    )
    given = request.POST if request.method == "POST" else None
    kind = text_of(request.GET if given is None else given, "kind")
    initial = {name: request.GET[name] for name in ("devices",) if name in request.GET}
    # A copy of what is public tells nothing new.
    public = recipe.status != Recipe.Status.DRAFT and not recipe.private
    try:
        draft = RecipeDraft.from_mapping(recipe.draft)
        form = SimulationForm(given, draft=draft, kind=kind, public=public, initial=initial)
    except FieldError as error:
        messages.info(request, f"It cannot be simulated: {error}.")
        return back
    awaited = False
    if form.is_bound and form.is_valid():
        try:
            simulation = simulation_start(
                members=recipe.draft,
                workload=form.workload(),
                seed=form.cleaned_data["seed"],
                public=form.cleaned_data["public"],
                actor=signed_in_user(request),
            )
        except FieldError as error:
            form.add_field_error(error)
        except NotComputedError as error:
            awaited = awaited_start(form, error)
        except (SimulationRefusedError, PartnerUnavailableError) as error:
            form.add_error(None, f"Nothing was started: {error}.")
        else:
            return started(request, reverse("simulation", args=[simulation.pk]))
    devices = form.devices
    context = {
        "recipe": recipe,
        "form": form,
        "back": back.url,
        "kinds": [(one, KINDS[one], one == form.shown_kind) for one in form.kinds],
        "devices": devices or SOME_DEVICES,
        "counted": devices is not None,
        "about": rounded_seconds(seconds_expected(draft, devices or SOME_DEVICES)),
        "ahead": simulations_in_line().count(),
        "at_once": MOST_AT_ONCE,
        "awaited": awaited,
    }
    htmx = htmx_of(request)
    page = "simulate/_about.html" if htmx and request.method == "GET" else "simulate/form.html"
    return render(request, page, context, status=422 if form.errors and not htmx else 200)


def _context(request: HttpRequest, simulation: Simulation) -> dict[str, Any]:
    progress, recipe = progress_of(simulation, timezone.now()), simulation.recipe
    outcome, problem = outcome_of(simulation), problem_of(simulation)
    statistic = recipe.published.calibrated_statistic
    planned, counted = planned_margin(simulation), statistic.counts_devices
    # The simulation of a series is deleted as a whole.
    is_round = Round.objects.filter(recipe=recipe).exists()
    awaited = Awaited(planned) if isinstance(planned, State) else None
    context: dict[str, Any] = {
        "simulation": simulation,
        "recipe": recipe,
        "may_delete": may_delete(request.user, recipe) and not is_round,
        "workload": KINDS.get(simulation.workload["kind"], simulation.workload["kind"]),
        "stage": "In line" if progress.ahead >= MOST_AT_ONCE else STAGES[progress.stage],
        "ended": progress.stage in ENDED,
        "running": progress.stage in (Stage.RUNNING, Stage.WAITING),
        "waits_for_worker": progress.stage == Stage.WAITING and not progress.ahead,
        "ahead": progress.ahead if progress.stage == Stage.WAITING else 0,
        "seconds_left": progress.seconds_left,
        "outcome": outcome,
        "planned": margin_text(planned, POINTS if counted else statistic.unit)
        if isinstance(planned, float)
        else "",
        "awaited": awaited,
        "together": not statistic.scalar,
        "without": "" if statistic.partial_errors is None else statistic.partial_errors.without,
        "unit": statistic.unit,
        "problem": problem,
        "shown": f"{progress.stage} {progress.ahead} {simulation.done} {simulation.devices} {problem}"
        f"{'' if awaited is None else awaited.state}",
    }
    if outcome is not None and outcome.release.outcome == Release.Outcome.RELEASED:
        truth = recipe.truth
        context["headline"] = headline(recipe, outcome.release)
        context["rows"] = estimate_rows(recipe, outcome.release, truth)
    return context
