"""The planner's page: parse the query, answer, present."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views import View

from pages.plan.charts import charts_of
from pages.plan.forms import PlanForm, plan_form_class
from pages.plan.sentences import (
    headline,
    learned,
    margin_text,
    rest_sentence,
    segments_sentence,
    solution_sentence,
)
from pages.words.sentences import (
    guarantee_texts,
    protection_warning,
    sampling_sentence,
)
from panprivacy.formats.errors import FieldError
from panprivacy.planning.plan import Question
from panprivacy.planning.proposal import planned_class, planned_names
from panprivacy.statistics.catalogue import STATISTICS, statistic_class
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.segments import FIELD
from recipes.planner.guarantees import guarantee_from_mapping
from recipes.planner.operations import Planned, plan_answer, plan_begun, plan_state
from storage.answers.questions import State
from web.busy import BusyError
from web.numbers import significant

BEGUN = "begun"
"""In the address of a poll: the page shows the first part of the answer already."""

STOP_POLLING = 286
"""HTMX takes this status as: do not ask again."""


class PlanView(View):
    """The page, and for HTMX the figures alone. A form with errors leaves the last figures standing."""

    http_method_names = ("get", "head")

    def get(self, request: HttpRequest) -> HttpResponse:
        statistic = _statistic(request)
        if statistic.planning_obstacle:
            return render(request, "plan/plan.html", _choices(request, statistic))
        form = _form(request)
        context = _figures(form)
        if getattr(request, "htmx", False):
            if "problems" in context:
                response = render(request, "plan/_problem.html", context)
                response["HX-Retarget"] = "#plan-problem"
                response["HX-Reswap"] = "innerHTML"
                return response
            return render(request, "plan/_answer.html", context)
        page = {**context, "form": form, **_choices(request, statistic)}
        return render(request, "plan/plan.html", page, status=422 if "problems" in context else 200)


class PlanRestView(View):
    """What the page asks until the answer is complete."""

    http_method_names = ("get", "head")

    def get(self, request: HttpRequest) -> HttpResponse:
        form = _form(request)
        if not form.is_valid() or form.question is None:
            raise Http404
        state = plan_state(question=form.question)
        if state == State.COMPUTING and (BEGUN in request.GET or not plan_begun(question=form.question)):
            return HttpResponse(status=204)
        if state == State.NO_WORKER:
            context = {"rest": rest_sentence(state)}
            return render(request, "plan/_rest_missing.html", context, status=STOP_POLLING)
        response = render(request, "plan/_answer.html", _figures(form))
        # The figures as a whole, in place of the ones that had a gap.
        response["HX-Retarget"] = "#plan-figures"
        response["HX-Reswap"] = "innerHTML"
        return response


def _statistic(request: HttpRequest) -> type[Statistic[Any]]:
    try:
        return statistic_class(request.GET.get("statistic", planned_names()[0]))
    except FieldError as error:
        raise Http404(str(error)) from None


def _form(request: HttpRequest) -> PlanForm:
    try:
        mechanism = planned_class(_statistic(request).statistic)
    except FieldError as error:
        raise Http404(str(error)) from None
    return plan_form_class(mechanism).of_query(request.GET)


def _choices(request: HttpRequest, chosen: type[Statistic[Any]]) -> dict[str, Any]:
    """The chosen statistic, those that can be planned, and those that cannot."""
    shown = ("statistic", "title", "description", "planning_obstacle")
    every = [
        {
            # A template would call the class itself.
            **{name: getattr(statistic, name) for name in shown},
            "current": statistic is chosen,
            "query": _query_for(request, statistic.statistic),
        }
        for statistic in STATISTICS.values()
    ]
    return {
        "mechanism": next(choice for choice in every if choice["current"]),
        "planned": [choice for choice in every if not choice["planning_obstacle"]],
        "unplanned": [choice for choice in every if choice["planning_obstacle"]],
    }


def _figures(form: PlanForm) -> dict[str, Any]:
    """What the figures' template shows, or `problems`."""
    if not form.is_valid() or form.question is None:
        return {"problems": form.problems()}
    try:
        answer = plan_answer(question=form.question)
    except FieldError as error:
        form.add_field_error(error)
        return {"problems": form.problems()}
    except BusyError:
        return {"problems": [("", "The server is computing many other plans. Try again in a moment.")]}
    return _presented_answer(form, form.question, answer)


def _presented_answer(form: PlanForm, question: Question, answer: Planned) -> dict[str, Any]:
    mechanism, plan = form.mechanism, answer.plan
    expectation, solution = plan["expectation"], plan["solution"]
    guarantees = [guarantee_from_mapping(members) for members in plan["guarantees"] or ()]
    reports = expectation["reports"]
    rest = _given(form) | ({BEGUN: 1} if answer.begun else {})
    return {
        "headline": headline(mechanism, plan),
        "unlikely": bool(expectation["warning"]),
        "learned": learned(plan, question.proposal.parameters.delta),
        "margin": margin_text(mechanism, expectation),
        "standard_error": significant(expectation["standard_error"]),
        "unit": mechanism.unit,
        "note": expectation["note"],
        "reports": {**reports, "mean": round(reports["mean"])},
        "cohort_size": question.proposal.parameters.cohort_size,
        "cohort_reached": _reached(reports["cohort_probability"]),
        "bytes": expectation["bytes"],
        "segments": segments_sentence(expectation, len(question.proposal.segments)),
        "guarantees": guarantee_texts(guarantees),
        "warning": protection_warning(map(guarantee_from_mapping, answer.local_guarantees)),
        "sampling": sampling_sentence(question.proposal.parameters.sampling_rate),
        "asked": question.unknown is not None,
        "solution": None if solution is None else solution_sentence(mechanism, question, solution),
        "solution_found": solution is not None and solution["found"],
        "recipe_query": None
        if solution is None
        else _recipe_query(form, solution["closest"], stating_target=solution["found"]),
        "own_query": _recipe_query(form, question.proposal.as_dict(), stating_target=False),
        "plan_query": None if solution is None else _plan_query(form, solution["closest"]),
        "charts": charts_of(mechanism, question.proposal, plan),
        "computing": answer.state == State.COMPUTING,
        "rest": rest_sentence(answer.state),
        "rest_url": f"{reverse('plan-rest')}?{urlencode(rest)}",
        "made_at": timezone.now(),
    }


def _given(form: PlanForm) -> dict[str, Any]:
    return {"statistic": form.mechanism.statistic, **form.data}


def _recipe_query(form: PlanForm, proposal: dict[str, Any], *, stating_target: bool) -> str:
    """For the address of the form of a new recipe that begins with these numbers."""
    # Segments are named in that form.
    members = {name: value for name, value in proposal.items() if name not in ("parameters", FIELD)}
    if stating_target and form.cleaned_data.get("aggregator_epsilon") is not None:
        members["aggregator_epsilon"] = form.cleaned_data["aggregator_epsilon"]
    if form.cleaned_data.get("margin") is not None:
        # Found or not: the page of the recipe compares it with what comes out.
        members["target_margin"] = form.cleaned_data["margin"]
    derived = form.mechanism.parameters_class.derived_names()
    parameters = {name: value for name, value in proposal["parameters"].items() if name not in derived}
    return urlencode({**members, **parameters})


def _plan_query(form: PlanForm, proposal: dict[str, Any]) -> str:
    """For the address of the plan with the solution filled in."""
    members = {**proposal["parameters"], **{n: v for n, v in proposal.items() if n != "parameters"}}
    if FIELD in members:
        members[FIELD] = len(members[FIELD])
    return urlencode({**_given(form), **members})


def _query_for(request: HttpRequest, statistic: str) -> str:
    query = request.GET.copy()
    query["statistic"] = statistic
    # Its unit is another one.
    query.pop("margin", None)
    return query.urlencode()


def _reached(probability: float) -> str:
    """How likely the cohort size is reached, in a sentence."""
    if probability == 1:
        return "Reached if every participating device sends."
    if probability > 0.9995:
        said = "Practically certain to be reached"
    elif probability < 0.0005:
        said = "Practically impossible to reach"
    else:
        said = f"Reached with a probability of {significant(100 * probability, 3)}%"
    return f"{said}, if every participating device sends."
