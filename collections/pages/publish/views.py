"""Pages on which analysts make recipes: choose, draft, preview, review, publish."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from audit.access import signed_in_user
from pages.access import PublishersOnly
from pages.kinds import KINDS, Kind, kind_of
from pages.publish.forms import RecipeForm, recipe_form_class, trust_unavailable
from pages.publish.promise import Promise, promise_of
from pages.trust_models import SHOWN
from pages.words.parameters_table import parameter_rows
from pages.words.sentences import guarantee_texts, protection_warning, sampling_sentence
from panprivacy.catalogue import statistic_class
from panprivacy.errors import FieldError
from panprivacy.recipe import RecipeDraft
from panprivacy.statistic import Statistic
from panprivacy.streams.parameters import LISTED
from panprivacy.trust_models import trust_named, trusts_of, under_trust
from recipes.budget import effect_of
from recipes.errors import RecipeStateError
from recipes.item_lists import typed_universe
from recipes.models import Recipe
from recipes.operations import recipe_draft_delete, recipe_draft_save
from trust_models import configured_partners
from trust_models.publishing import recipe_publish


class NewRecipeView(PublishersOnly):
    """Choose a statistic, then fill in its form."""

    def get(self, request: HttpRequest) -> HttpResponse:
        if "statistic" not in request.GET:
            return render(
                request,
                "publish/choose.html",
                {"kinds": [_offered(kind) for kind in KINDS.values() if kind.statistics]},
            )
        mechanism = _mechanism(request)
        form_class = recipe_form_class(mechanism)
        initial, refused = form_class.initial_of_query(request.GET)
        if refused:
            messages.info(request, f"Not taken over, because it cannot be: {', '.join(refused)}.")
        return _form_page(request, form_class(initial=initial), _filled_in(form_class, initial), None)

    def post(self, request: HttpRequest) -> HttpResponse:
        return _form_answer(request, recipe_form_class(_mechanism(request))(request.POST), None)


class DraftEditView(PublishersOnly):
    """The same form, for a draft."""

    def get(self, request: HttpRequest, pk: int) -> HttpResponse:
        recipe = get_object_or_404(Recipe, pk=pk)
        if recipe.status != Recipe.Status.DRAFT:
            return redirect("recipe", identifier=recipe.identifier)
        try:
            form_class = recipe_form_class(statistic_class(recipe.statistic))
            initial = form_class.initial_of(recipe.draft)
        except FieldError:
            # Drafted with another version. The review says what is wrong with it, and can delete it.
            return redirect("recipe-draft", pk=pk)
        return _form_page(request, form_class(initial=initial), _filled_in(form_class, initial), recipe)

    def post(self, request: HttpRequest, pk: int) -> HttpResponse:
        recipe = get_object_or_404(Recipe, pk=pk)
        try:
            form_class = recipe_form_class(statistic_class(recipe.statistic))
        except FieldError:
            return redirect("recipe-draft", pk=pk)
        return _form_answer(request, form_class(request.POST), recipe)


class PreviewView(PublishersOnly):
    """The preview alone, for HTMX. A form that has errors leaves the last figures standing."""

    def post(self, request: HttpRequest) -> HttpResponse:
        form = recipe_form_class(_mechanism(request))(request.POST)
        preview = _preview(form)
        if preview is None:
            response = render(request, "publish/_preview_problem.html", {"problems": form.preview_errors()})
            response["HX-Retarget"] = "#preview-problem"
            response["HX-Reswap"] = "innerHTML"
            return response
        mechanism = _presented(form.mechanism)
        context = {"preview": preview, "mechanism": mechanism, "made_at": timezone.now()}
        return render(request, "publish/_preview.html", context)


class PromiseView(PublishersOnly):
    """What is promised and what it does to the budget, for HTMX: it takes longer than the figures."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest) -> HttpResponse:
        form = recipe_form_class(_mechanism(request))(request.POST)
        form.is_valid()
        return render(
            request, "publish/_promise.html", {"promise": _promise(form), "kind": kind_of(form.mechanism)}
        )


class DraftView(PublishersOnly):
    """Review of a draft: everything that will be public, before it is."""

    def get(self, request: HttpRequest, pk: int) -> HttpResponse:
        recipe = get_object_or_404(Recipe.objects.select_related("created_by"), pk=pk)
        if recipe.status != Recipe.Status.DRAFT:
            return redirect("recipe", identifier=recipe.identifier)
        return _review_page(request, recipe)


class PublishView(PublishersOnly):
    """Draft → published."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, pk: int) -> HttpResponse:
        recipe = get_object_or_404(Recipe, pk=pk)
        universe = request.POST.get("universe", "")
        try:
            published = recipe_publish(
                recipe=recipe,
                universe=typed_universe(universe) or None,
                actor=signed_in_user(request),
                partners=configured_partners(),
            )
        except (FieldError, RecipeStateError) as error:
            recipe.refresh_from_db()
            if recipe.status != Recipe.Status.DRAFT:
                messages.info(request, f"Nothing was changed: {error}.")
                return redirect("recipe", identifier=recipe.identifier)
            return _review_page(
                request, recipe, problem=_refusal(recipe, error), universe=universe, status=422
            )
        kind = kind_of(type(published.published.calibrated_statistic))
        messages.success(request, f"Published. {kind.published}")
        return redirect("recipe", identifier=published.identifier)


class DraftDeleteView(PublishersOnly):
    """Drop a draft."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, pk: int) -> HttpResponse:
        recipe = get_object_or_404(Recipe, pk=pk)
        try:
            recipe_draft_delete(recipe=recipe)
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
    shown = ("statistic", "title", "description", "unit", "gives_verdict")
    return {name: getattr(mechanism, name) for name in shown}


def _offered(kind: Kind) -> dict[str, Any]:
    statistics = [_presented(statistic) for statistic in kind.statistics.values()]
    return {"key": kind.key, "title": kind.title, "summary": kind.summary, "statistics": statistics}


def _form_page(
    request: HttpRequest, form: RecipeForm, filled_in: RecipeForm, recipe: Recipe | None, status: int = 200
) -> HttpResponse:
    """The page with the form, and with everything that is to be expected of the values filled in."""
    preview = _preview(filled_in)
    context = {
        "form": form,
        "mechanism": _presented(form.mechanism),
        "preview": preview,
        "promise": None if preview is None else _promise(filled_in),
        "kind": kind_of(form.mechanism),
        "inline": True,
        "problems": form.preview_errors() if form.is_bound else [],
        "made_at": timezone.now(),
        "recipe": recipe,
    }
    return render(request, "publish/form.html", context, status=status)


def _form_answer(request: HttpRequest, form: RecipeForm, recipe: Recipe | None) -> HttpResponse:
    valid = form.is_valid()
    if request.POST.get("action") == "preview":
        return _form_page(request, form, form, recipe)
    if not valid or form.draft is None:
        return _form_page(request, form, form, recipe, status=422)
    try:
        actor = signed_in_user(request)
        saved = recipe_draft_save(members=form.draft.as_dict(), actor=actor, recipe=recipe)
    except RecipeStateError as error:
        messages.info(request, f"Nothing was changed: {error}.")
        return redirect("overview")
    return redirect("recipe-draft", pk=saved.pk)


def _preview(form: RecipeForm) -> Any:
    """The preview of a bound form, or None with the reasons among the form's errors."""
    form.is_valid()
    if form.parameters is None or "population_size" in form.errors:
        return None
    try:
        statistic = form.mechanism(form.parameters)
        return kind_of(form.mechanism).preview(statistic, form.cleaned_data.get("population_size"))
    except FieldError as error:
        form.add_field_error(error)
        return None


def _promise(form: RecipeForm) -> Promise | None:
    """The promise of a form that was validated, or None where it cannot be computed."""
    if form.parameters is None:
        return None
    try:
        # Not cleaned where it cannot be had here: what it would promise can be said all the same.
        trust = trust_named(form.cleaned_data.get("trust") or trusts_of(form.mechanism)[0])
        return promise_of(form.mechanism(form.parameters), form.cleaned_data.get("population"), trust)
    except FieldError:
        return None


def _filled_in(form_class: type[RecipeForm], initial: dict[str, Any]) -> RecipeForm:
    """The form as it were sent back with what it shows before anything is entered."""
    shown = form_class(initial=initial)
    values = {name: initial.get(name, field.initial) for name, field in shown.fields.items()}
    return form_class({name: value for name, value in values.items() if value is not None})


def _refusal(recipe: Recipe, error: Exception) -> str:
    """Why a draft cannot be published, as a sentence with the labels of its form."""
    try:
        form_class = recipe_form_class(statistic_class(recipe.statistic))
    except FieldError:
        return f"{error}."
    return form_class.refusal(error) if isinstance(error, FieldError) else f"{error}."


def _review_page(
    request: HttpRequest, recipe: Recipe, problem: str = "", universe: str = "", status: int = 200
) -> HttpResponse:
    context: dict[str, Any] = {"recipe": recipe, "problem": problem, "universe": universe}
    try:
        # Another version may have accepted what this one does not.
        context["draft"] = draft = RecipeDraft.from_mapping(recipe.draft)
        parameters = draft.parameters.calibrated()
        mechanism = statistic_class(draft.statistic)(parameters)
        guarantees = under_trust(mechanism.guarantees(), draft.trust)
        opens_at, closes_at = draft.window(timezone.now())
        context |= {
            "mechanism": mechanism,
            "trust": SHOWN[draft.trust],
            "kind": kind_of(type(mechanism)),
            "needs_universe": getattr(parameters, "items", "") == LISTED,
            "rows": parameter_rows(parameters),
            "guarantees": guarantee_texts(guarantees),
            "warning": protection_warning(guarantees),
            "sampling": sampling_sentence(parameters.sampling_rate),
            "effect": (effect := effect_of(mechanism, draft.population)),
            "opens_at": opens_at,
            "closes_at": closes_at,
        }
        draft.calibrated_statistic()  # whether it keeps what it states, and else what would
        unavailable = trust_unavailable(draft.trust, type(mechanism))
        if unavailable and not problem:
            refused = FieldError("trust", f"cannot be {draft.trust.value} here: {unavailable}")
            context["problem"] = _refusal(recipe, refused)
        closed_already = closes_at <= timezone.now()
        if closed_already and not context["problem"]:
            context["problem"] = "it would have closed already; choose later times."
        context["publishable"] = not (effect.exceeds or unavailable or closed_already)
    except FieldError as error:
        context["problem"] = problem or _refusal(recipe, error)
    return render(request, "publish/draft.html", context, status=status)
