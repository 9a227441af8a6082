"""Pages on which analysts make recipes: choose, draft, preview, review, publish."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from log.audit.access import signed_in_user
from pages.access import PublishersOnly
from pages.awaited_numbers import SENTENCES
from pages.kinds import KINDS, Kind, kind_of
from pages.not_found import found
from pages.publish.blockers import Blockers, blockers_of
from pages.publish.changes import (
    Change,
    Origin,
    changes_of,
    origin_of_draft,
    origin_of_query,
    without_times,
)
from pages.publish.forms import RecipeForm, recipe_form_class
from pages.publish.four_eyes import decided
from pages.publish.promise import Promised, promised_of
from pages.publish.review import review_page
from pages.publish.target_field import TARGET_FIELDS
from pages.series.forms import SeriesForm
from pages.words.target import expected_sentence
from panprivacy.formats.errors import FieldError
from panprivacy.statistics.catalogue import statistic_class
from panprivacy.statistics.interface import Statistic
from panprivacy.statistics.intervals.difference import widening
from publishing.approvals import approval_of_content, draft_approval_ask
from publishing.publication import recipe_publish
from recipes.errors import RecipeStateError
from recipes.item_lists import typed_universe
from recipes.models import Recipe
from recipes.operations import recipe_draft_delete, recipe_draft_save
from storage.answers.questions import State
from web.numbers import significant

LOOKS = [str(number) for number in range(12)]
"""How often a page polls again by itself while it waits for answers."""


class NewRecipeView(PublishersOnly):
    """Choose a statistic, then fill in its form; or ask a recipe again, in the form filled in from it."""

    def get(self, request: HttpRequest) -> HttpResponse:
        origin = origin_of_query(request)
        if origin is None and "statistic" not in request.GET:
            return render(
                request,
                "publish/choose.html",
                {"kinds": [_offered(kind) for kind in KINDS.values() if kind.statistics]},
            )
        if origin is not None:
            return _asked_again_page(request, origin)
        form_class = recipe_form_class(_mechanism(request))
        initial, refused = form_class.initial_of_query(request.GET)
        if refused:
            messages.info(request, f"Not taken over, because it cannot be: {', '.join(refused)}.")
        return form_page(request, form_class(initial=initial), filled_in(form_class, initial), Shown())

    def post(self, request: HttpRequest) -> HttpResponse:
        shown = Shown(origin=origin_of_query(request))
        return form_answer(request, recipe_form_class(_mechanism(request)), shown)


class DraftEditView(PublishersOnly):
    """The same form, for a draft. An address can name values to fill in, which are not saved yet."""

    def get(self, request: HttpRequest, pk: int) -> HttpResponse:
        recipe = found(Recipe.objects.all(), "draft", pk=pk)
        if recipe.status != Recipe.Status.DRAFT:
            return redirect("recipe", identifier=recipe.identifier)
        try:
            form_class = recipe_form_class(statistic_class(recipe.statistic))
            initial = form_class.initial_of(recipe.draft)
        except FieldError:
            # Drafted with another version. The review shows what is wrong with it, and can delete it.
            return redirect("recipe-draft", pk=pk)
        taken, refused = form_class.initial_of_query(request.GET)
        if refused:
            messages.info(request, f"Not taken over, because it cannot be: {', '.join(refused)}.")
        initial |= taken
        shown = Shown(draft=recipe, origin=origin_of_draft(recipe))
        return form_page(request, form_class(initial=initial), filled_in(form_class, initial), shown)

    def post(self, request: HttpRequest, pk: int) -> HttpResponse:
        recipe = found(Recipe.objects.all(), "draft", pk=pk)
        try:
            form_class = recipe_form_class(statistic_class(recipe.statistic))
        except FieldError:
            return redirect("recipe-draft", pk=pk)
        origin = origin_of_draft(recipe) if recipe.status == Recipe.Status.DRAFT else None
        return form_answer(request, form_class, Shown(draft=recipe, origin=origin))


class PreviewView(PublishersOnly):
    """The preview alone, for HTMX. A form that has errors leaves the last figures standing."""

    def post(self, request: HttpRequest) -> HttpResponse:
        form = recipe_form_class(_mechanism(request))(request.POST)
        preview = _preview(form)
        if preview is None:
            again = _again_figures(form, origin_of_query(request), _next_look(request))
            problem = {"problems": form.preview_errors(), "late": _late(form), "again_figures": again}
            response = render(request, "publish/_preview_problem.html", problem)
            response["HX-Retarget"] = "#preview-problem"
            response["HX-Reswap"] = "innerHTML"
            return response
        origin = origin_of_query(request)
        changes = changes_of(form, origin)
        context = {
            "preview": preview,
            **_moves(form, preview),
            "mechanism": _presented(form.mechanism),
            "unadmitted": form.admission_errors(),
            "made_at": timezone.now(),
            "origin": origin,
            "changes": changes,
            "marks": _marks(form, changes),
        }
        return render(request, "publish/_preview.html", context)


class PromiseView(PublishersOnly):
    """What is promised, what it does to the budget and what keeps it from being published, for HTMX: it takes
    longer than the figures."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest) -> HttpResponse:
        form = recipe_form_class(_mechanism(request))(request.POST)
        form.is_valid()
        look = _next_look(request)
        context = {
            **_promised(form),
            "kind": kind_of(form.mechanism),
            "target": _target(form),
            "again": f"{request.path}?statistic={form.mechanism.statistic}&look={look}" if look else "",
        }
        return render(request, "publish/_promised.html", context)


class DraftView(PublishersOnly):
    """Review of a draft: everything that will be public, before it is."""

    def get(self, request: HttpRequest, pk: int) -> HttpResponse:
        recipe = found(Recipe.objects.select_related("created_by"), "draft", pk=pk)
        if recipe.status != Recipe.Status.DRAFT:
            return redirect("recipe", identifier=recipe.identifier)
        return review_page(request, recipe)


class PublishView(PublishersOnly):
    """Draft → published."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, pk: int) -> HttpResponse:
        recipe = found(Recipe.objects.all(), "draft", pk=pk)
        universe = request.POST.get("universe", "")
        try:
            published = recipe_publish(
                recipe=recipe,
                reviewed=request.POST.get("reviewed", ""),
                universe=typed_universe(universe) if universe.strip() else None,
                actor=signed_in_user(request),
            )
        except (FieldError, RecipeStateError) as error:
            recipe.refresh_from_db()
            if recipe.status != Recipe.Status.DRAFT:
                messages.info(request, f"Nothing was changed: {error}.")
                return redirect("recipe", identifier=recipe.identifier)
            return review_page(request, recipe, refused=error, universe=universe, status=422)
        kind = kind_of(type(published.published.calibrated_statistic))
        messages.success(request, f"Published. {kind.published}")
        return redirect("recipe", identifier=published.identifier)


class ApprovalView(PublishersOnly):
    """Ask for the approval of a draft, approve it or decline it."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, pk: int) -> HttpResponse:
        recipe = found(Recipe.objects.all(), "draft", pk=pk)
        user, reviewed = signed_in_user(request), request.POST.get("reviewed", "")
        try:
            if request.POST.get("decision") == "ask":
                universe = request.POST.get("universe", "")
                draft_approval_ask(
                    recipe=recipe,
                    reviewed=reviewed,
                    universe=typed_universe(universe) if universe.strip() else None,
                    actor=user,
                )
                messages.success(request, "Asked. Other analysts find it on their home page.")
            else:
                messages.success(request, decided(request, approval_of_content(recipe, reviewed)))
        except (FieldError, RecipeStateError) as error:
            recipe.refresh_from_db()
            if recipe.status == Recipe.Status.DRAFT:
                return review_page(request, recipe, refused=RecipeStateError(str(error)), status=422)
            messages.info(request, f"Nothing was changed: {error}.")
        return redirect("recipe-draft", pk=pk)


class DraftDeleteView(PublishersOnly):
    """Drop a draft."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, pk: int) -> HttpResponse:
        recipe = found(Recipe.objects.all(), "draft", pk=pk)
        try:
            recipe_draft_delete(recipe=recipe, actor=signed_in_user(request))
        except RecipeStateError as error:
            messages.info(request, f"Nothing was changed: {error}.")
        else:
            messages.success(request, f"The draft “{recipe.name}” is deleted.")
        return redirect("overview")


def _mechanism(request: HttpRequest) -> type[Statistic[Any]]:
    try:
        return statistic_class(request.GET.get("statistic"))
    except FieldError as error:
        raise Http404(str(error)) from None


def _presented(mechanism: type[Statistic[Any]]) -> dict[str, Any]:
    # A template would call the class itself.
    shown = ("statistic", "title", "description", "unit", "hypothesis_test")
    return {name: getattr(mechanism, name) for name in shown}


def _offered(kind: Kind) -> dict[str, Any]:
    statistics = [_presented(statistic) for statistic in kind.statistics.values()]
    return {"key": kind.key, "title": kind.title, "summary": kind.summary, "statistics": statistics}


@dataclass(frozen=True)
class Shown:
    """What a form is about.

    Attributes:
        draft: the stored draft that it changes; None for a new one.
        origin: what it started from; None if it started empty.
        title, lead: of the page, if they are not those of the statistic.
        review: the draft that was saved, and its form → the address that follows.
    """

    draft: Recipe | None = None
    origin: Origin | None = None
    title: str = ""
    lead: str = ""
    review: Callable[[Recipe, RecipeForm], str] = lambda draft, _: reverse("recipe-draft", args=[draft.pk])


def _asked_again_page(request: HttpRequest, origin: Origin) -> HttpResponse:
    try:
        form_class = recipe_form_class(statistic_class(origin.draft.get("statistic")))
        initial = form_class.initial_of(without_times(origin.draft))
    except FieldError as error:
        messages.info(request, f"It cannot be asked again with this version: {error}.")
        return redirect(origin.url)
    return form_page(
        request, form_class(initial=initial), filled_in(form_class, initial), Shown(origin=origin)
    )


def form_page(
    request: HttpRequest, form: RecipeForm, filled: RecipeForm, shown: Shown, status: int = 200
) -> HttpResponse:
    """The page with the form, and with everything to expect of the values filled in."""
    preview = _preview(filled)
    changes = changes_of(form, shown.origin)
    form.mark(_marks(form, changes))
    context = {
        "form": form,
        "title": shown.title,
        "lead": shown.lead,
        "mechanism": _presented(form.mechanism),
        "preview": preview,
        **_moves(filled, preview),
        "late_figures": _late(filled),
        "again_figures": _again_figures(filled, shown.origin, 1),
        "unadmitted": filled.admission_errors(),
        **({"promise": None, "blockers": None} if preview is None else _promised(filled)),
        "target": _target(filled),
        "kind": kind_of(form.mechanism),
        "inline": True,
        "again": f"{reverse('recipe-promise')}?statistic={form.mechanism.statistic}",
        "problems": form.preview_errors() if form.is_bound else [],
        "made_at": timezone.now(),
        "recipe": shown.draft,
        "origin": shown.origin,
        "changes": changes,
    }
    return render(request, "publish/form.html", context, status=status)


def form_answer(request: HttpRequest, form_class: type[RecipeForm], shown: Shown) -> HttpResponse:
    form = form_class(form_class.with_taken(request.POST))
    valid = form.is_valid()
    if "take" in request.POST or request.POST.get("action") == "preview":
        return form_page(request, form, form, shown)
    if not valid or form.draft is None:
        return form_page(request, form, form, shown, status=422)
    origin = shown.origin
    try:
        saved = recipe_draft_save(
            members=form.draft.as_dict(),
            actor=signed_in_user(request),
            recipe=shown.draft,
            origin=origin.recipe if origin is not None and shown.draft is None else None,
        )
    except RecipeStateError as error:
        messages.info(request, f"Nothing was changed: {error}.")
        return redirect("overview")
    return redirect(shown.review(saved, form))


def _marks(form: RecipeForm, changes: Iterable[Change]) -> dict[str, str]:
    """Notes at fields of the form: the previous value, if it differs."""
    before = {change.name: f"Changed; it was {change.before}." for change in changes}
    return {name: before.get(name, "") for name in form.fields}


def _preview(form: RecipeForm) -> Any:
    """The preview of a bound form; None with the reasons among the form's errors, or while it is computed."""
    form.is_valid()
    if form.parameters is None or {"population_size", "segments"} & form.errors.keys():
        return None
    if isinstance(form.figures, State):
        return None
    if form.figures.obstacle is not None:
        form.add_field_error(form.figures.obstacle)
    return form.figures.preview


def _next_look(request: HttpRequest) -> int:
    """The number of the next poll; 0 if a page has polled often enough."""
    looks = request.GET.get("look", "0")
    return int(looks) + 1 if looks in LOOKS[:-1] else 0


def _again_figures(form: RecipeForm, origin: Origin | None, look: int) -> str:
    """The address at which a form asks again by itself for its figures; empty if nothing computes them."""
    if form.figures is not State.COMPUTING or not look:
        return ""
    more = "" if origin is None else origin.query_more
    return f"{reverse('recipe-preview')}?statistic={form.mechanism.statistic}{more}&look={look}"


def _late(form: RecipeForm) -> str:
    """Why a form that was validated has no figures yet; empty if it has, or its values are wrong."""
    return LATE[form.figures] if form.parameters is not None and isinstance(form.figures, State) else ""


LATE = {
    State.COMPUTING: "Being computed, which takes some seconds. “Preview” asks again.",
    **{state: SENTENCES[state] for state in (State.BUSY, State.NO_WORKER, State.TOO_LONG)},
}


def _promised(form: RecipeForm) -> dict[str, Any]:
    """What the values of a form that was validated promise, and what keeps their recipe from being published:
    as far as it is computed."""
    nothing = {"promise": None, "blockers": None}
    if form.parameters is None:
        return nothing
    cleaned = form.cleaned_data
    try:
        cost = form.cost(form.trust_model)
        rate, size = form.parameters.sampling_rate, cleaned.get("population_size")
        found = promised_of(cost, rate, cleaned.get("population"), size, _rounds(form))
    except FieldError:
        return nothing
    return {
        "promise": found.promise,
        "late": LATE.get(found.state, ""),
        "awaited": found.state is State.COMPUTING,
        "blockers": _blockers(form, found),
    }


def _rounds(form: RecipeForm) -> int:
    """How often it is asked: a goal that is asked by the clock also sends how often, and how many times."""
    if "every" not in form.data:
        return 1
    try:
        return int(SeriesForm.base_fields["rounds"].clean(form.data.get("rounds")))
    except ValidationError:
        return 1


def _moves(form: RecipeForm, preview: Any) -> dict[str, Any]:
    """By how many points segments must differ to show: in one result, or from one of several rounds to
    another, whose intervals all hold together."""
    segments = preview and preview.get("segments")
    if not segments:
        return {}
    rounds = _rounds(form)
    wider = widening(0.05, 1, 2 * rounds) if rounds > 1 else 1.0
    return {"rounds": rounds, "moves": significant(2 * wider * segments["margin_points"])}


def _blockers(form: RecipeForm, found: Promised) -> Blockers | None:
    """What keeps the recipe of a form that was validated from being published."""
    if found.refusals is None:
        return None
    size = form.cleaned_data.get("population_size")
    blockers = blockers_of(type(form), form.statistic(), found.refusals, form.trust_model, size)
    wrong = [(name, error) for name in TARGET_FIELDS for error in form.errors.get(name, [])]
    told = [f"{form.fields[name].label}: {error}" for name, error in wrong]
    return replace(blockers, problems=(*blockers.problems, *told))


def _target(form: RecipeForm) -> str:
    """What the cited results show about the target of a form that was validated; empty without one."""
    if form.targeted is None:
        return ""
    return expected_sentence(form.targeted.at_least, form.targeted.cited.smallest)


def filled_in(form_class: type[RecipeForm], initial: dict[str, Any]) -> RecipeForm:
    """The form as if it were submitted with its initial values."""
    shown = form_class(initial=initial)
    values = initial | {name: initial.get(name, field.initial) for name, field in shown.fields.items()}
    return form_class({name: value for name, value in values.items() if value is not None})
