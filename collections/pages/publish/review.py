"""The review of a draft: everything that will be public, and first what keeps it from being published."""

from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from log.audit.access import signed_in_user
from pages.awaited_numbers import Awaited
from pages.kinds import kind_of
from pages.publish.blockers import TIMES, Blockers, blockers_of
from pages.publish.changes import changes_of, origin_of_draft
from pages.publish.forms import recipe_form_class
from pages.publish.four_eyes import four_eyes_of_draft
from pages.publish.target_field import TARGET_FIELDS, at_target
from pages.trust_models import SHOWN
from pages.words.admission import who_and_how_rows
from pages.words.parameters_table import parameter_rows, part_rows
from pages.words.sentences import guarantee_texts, protection_warning, sampling_sentence
from pages.words.target import target_rows
from panprivacy.formats.display import sentence
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.catalogue import statistic_class
from panprivacy.statistics.events.cohort import CohortStatistic
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.trust_models import TRUST_MODELS
from publishing.review import review_of
from recipes.cost import Cost
from recipes.errors import ApprovalNeededError
from recipes.models import Recipe
from recipes.numbers import RecipeNumbers
from recipes.planner.guarantees import NotComputedError
from recipes.refusals import refusals_of
from recipes.sealing import with_kem

SHOWN_REFUSALS = ("admission", "relay", "hpke", *TARGET_FIELDS)
"""Fields whose refusals no blocker shows."""


def review_page(
    request: HttpRequest,
    recipe: Recipe,
    refused: Exception | None = None,
    universe: str = "",
    status: int = 200,
) -> HttpResponse:
    """The page of a draft.

    Args:
        refused: why it was just not published.
        universe: the items that were sent with that.
    """
    blockers = Blockers()
    try:
        review = review_of(recipe.draft, now=timezone.now())
    except NotComputedError as error:
        return _awaited_page(request, recipe, Awaited(error.state), refused, universe, status)
    context: dict[str, Any] = {"recipe": recipe, "universe": universe, "draft": review.draft}
    if review.draft is None or review.expected is None:
        refused = refused or review.refusal
    else:
        draft, expected = review.draft, review.expected
        statistic = expected.statistic
        form_class = recipe_form_class(type(statistic))
        context |= {
            **_asked(draft, statistic, expected.numbers),
            "needs_universe": expected.needs_universe,
            "guarantees": guarantee_texts(expected.guarantees),
            "warning": protection_warning(expected.guarantees),
            "sampling": sampling_sentence(statistic.parameters.sampling_rate),
            "effect": expected.effect,
            "opens_at": expected.opens_at,
            "closes_at": expected.closes_at,
        }
        origin = origin_of_draft(recipe)
        if origin.again:
            form = form_class(initial=form_class.initial_of(recipe.draft))
            context |= {"origin": origin, "changes": changes_of(form, origin)}
        size = draft.plan.population_size
        refused_for = refusals_of(Cost.of(draft), draft.population, size)
        blockers = blockers_of(form_class, statistic, refused_for, draft.trust, size)
        if review.over_already:
            closed = "It would have closed already; choose later times."
            problems, fixes = (*blockers.problems, closed), (*blockers.fixes, TIMES)
            blockers = replace(blockers, problems=problems, fixes=fixes, warnings=())
        if review.refusal is not None and at_target(review.refusal).field in SHOWN_REFUSALS:
            problems = (*blockers.problems, form_class.refusal(review.refusal))
            blockers = replace(blockers, problems=problems, warnings=())
        context["publishable"] = not blockers.problems
    others = bool(blockers.problems)
    four_eyes = four_eyes_of_draft(recipe, signed_in_user(request))
    context["four_eyes"] = four_eyes
    if four_eyes.missing:
        # A reviewer must not be asked to read what could not be published anyway.
        context["askable"] = four_eyes.may_ask and context.get("publishable", False)
        context["publishable"] = False
        refused = None if isinstance(refused, ApprovalNeededError) else refused
        problems = (*blockers.problems, sentence(four_eyes.missing))
        # The reviewer needs the warnings.
        blockers = replace(blockers, problems=problems)
    # A refusal of the budget or of a limit is shown there already, with what would fit.
    if refused is not None and not (isinstance(refused, FieldError) and others):
        problems = (_refusal(recipe, refused), *blockers.problems)
        blockers = replace(blockers, problems=problems, warnings=())
    return render(request, "publish/draft.html", context | {"blockers": blockers}, status=status)


def _asked(
    draft: RecipeDraft, statistic: Statistic[Any], numbers: RecipeNumbers | None = None
) -> dict[str, Any]:
    """What the page shows of a draft whatever it guarantees.

    Args:
        statistic: the draft's; calibrated if its numbers are given.
        numbers: None as long as they are computed.
    """
    kind = kind_of(type(statistic))
    trust = SHOWN[draft.trust]
    return {
        "mechanism": statistic,
        "trust": trust
        if numbers is None
        else trust.for_reports(statistic.device_input, numbers.local_epsilon),
        "kind": kind,
        "rows": parameter_rows(statistic.parameters),
        "part_rows": part_rows(with_kem(draft)),
        "admission_rows": who_and_how_rows(draft.admission, draft.relay, TRUST_MODELS[draft.trust]),
        "target_rows": target_rows(draft.target, draft.parameters),
        "plan": draft.plan,
        # No margin without a result.
        "planned": None
        if numbers is None or numbers.unlikely
        else kind.planned_with(statistic, draft.plan, numbers.margin),
        "in_rounds": isinstance(statistic, CohortStatistic) and TRUST_MODELS[draft.trust].has_rounds,
    }


def _awaited_page(
    request: HttpRequest,
    recipe: Recipe,
    awaited: Awaited,
    refused: Exception | None,
    universe: str,
    status: int,
) -> HttpResponse:
    """The page while the guarantees are computed: no decision is possible until they are there."""
    draft = RecipeDraft.from_mapping(recipe.draft)
    blockers = Blockers() if refused is None else Blockers(problems=(_refusal(recipe, refused),))
    context = {
        "recipe": recipe,
        "universe": universe,
        "needs_universe": bool(universe),
        "draft": draft,
        "awaited": awaited,
        "blockers": blockers,
        **_asked(draft, draft.plain_statistic),
    }
    page = render(request, "publish/draft.html", context, status=status)
    if request.method == "GET":
        awaited.refresh(page)
    return page


def _refusal(recipe: Recipe, error: Exception) -> str:
    """Why a draft cannot be published, as a sentence with the labels of its form."""
    try:
        form_class = recipe_form_class(statistic_class(recipe.statistic))
    except FieldError:
        return f"{error}."
    return form_class.refusal(error) if isinstance(error, FieldError) else f"{error}."
