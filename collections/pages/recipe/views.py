"""Public pages: the overview, and one recipe with its progress and result."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth import get_user_model
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.http import quote_etag
from django.views import View
from django_htmx.http import HttpResponseClientRefresh

from audit.access import may_read_log, signed_in_user
from audit.selectors import entries_of_recipe
from ledger.selectors import spending_balances
from pages.access import PublishersOnly
from pages.kinds import kind_of
from pages.recipe.charts import MOST_DRAWN, release_figure
from pages.recipe.details import details_of
from pages.recipe.presentation import (
    Headline,
    Status,
    error_sentence,
    estimate_rows,
    headline,
    is_below_cohort,
    percent,
    release_of,
    says_nothing,
    status_of,
)
from pages.recipe.troubles import TroubleShown, troubles_of
from pages.trust_models import SHOWN
from pages.words.parameters_table import parameter_rows
from pages.words.sentences import (
    guarantee_from_mapping,
    guarantee_texts,
    protection_warning,
    sampling_sentence,
)
from panprivacy.coarse import coarse
from recipes.access import may_publish
from recipes.errors import RecipeStateError
from recipes.models import Recipe
from recipes.selectors import drafts_list, guarantees_of
from releases.exports import file_version, release_csv, release_document, release_json
from releases.models import NUMBERS, Release, SimulatedTruth
from releases.progress import progress_text
from releases.selectors import (
    bounds_of,
    excerpt_of,
    joint_bounds_of,
    overview_search,
    shown_interval_of,
    verdict_of,
    with_release,
)
from releases.servers import (
    ServerShown,
    counts_differ,
    servers_of,
    stated_servers,
)
from trust_models import trust_model_of
from trust_models.publishing import recipe_close
from web.htmx import htmx_of
from web.paging import page_of, text_of

PAGE_SIZE = 20

STRIPS = 4
"""How many populations the overview shows; their own page has all."""

STATUSES = (
    ("all", "All"),
    ("open", "Open"),
    ("closed", "Closed"),
    ("released", "Released"),
    ("withheld", "Withheld"),
)


@dataclass(frozen=True)
class Card:
    """One recipe on the overview."""

    recipe: Recipe
    status: Status
    latest: Headline | None
    below_cohort: bool


class OverviewView(View):
    """Every published recipe, newest first; search, filter and page stand in the address."""

    def get(self, request: HttpRequest) -> HttpResponse:
        text, status = text_of(request.GET, "q"), text_of(request.GET, "status") or "all"
        page = page_of(overview_search(text=text, status=status), request, PAGE_SIZE)
        context: dict[str, Any] = {
            "cards": [_card(recipe) for recipe in page.rows],
            "page": page,
            "text": text,
            "status": status,
            "statuses": STATUSES,
            "filtered": bool(text) or status != "all" or bool(page.newest),
            "drafts": drafts_list()[:PAGE_SIZE] if may_publish(request.user) else [],
        }
        htmx = htmx_of(request)
        partial = htmx and not htmx.history_restore_request
        if not partial:
            context["balances"] = spending_balances(STRIPS)
        if not context["cards"]:
            context["nobody_yet"] = not get_user_model().objects.exists()
        response = render(request, "overview/_cards.html" if partial else "overview/overview.html", context)
        patch_vary_headers(response, ("HX-Request",))
        return response


class RecipeView(View):
    """One recipe: what is asked, what protects the answers, how far it is, what came out."""

    def get(self, request: HttpRequest, identifier: str) -> HttpResponse:
        recipe = _recipe(identifier)
        release = release_of(recipe)
        published = recipe.published
        kind = kind_of(type(published.calibrated_statistic))
        stated = guarantees_of(recipe) if release is None else release.guarantees
        guarantees = [guarantee_from_mapping(members) for members in stated]
        context: dict[str, Any] = {
            "recipe": recipe,
            "published": published,
            "mechanism": published.calibrated_statistic,
            "status": status_of(recipe, release, timezone.now()),
            "rows": parameter_rows(published.parameters),
            "guarantees": guarantee_texts(guarantees),
            "warning": protection_warning(guarantees),
            "sampling": sampling_sentence(published.parameters.sampling_rate),
            "about_population": kind.about_population,
            "senders": kind.senders,
            "about_encryption": kind.help.get("encryption", ""),
            "join": f"recipe/join/{kind.key}.html",
            "entries": entries_of_recipe(identifier),
            "server": request.build_absolute_uri("/").rstrip("/"),
            "may_close": may_publish(request.user) and recipe.status == Recipe.Status.PUBLISHED,
            "release": release,
            **_servers_context(recipe),
            **(_progress_context(request, recipe) if release is None else _release_context(recipe, release)),
        }
        if release is not None and may_read_log(request.user):
            # What decrypting found is for those who watch over the collection, and only after its end.
            context["servers"] = servers_of(recipe, trust_model_of(recipe).progress(recipe), everything=True)
            context |= {"everything": True, "coarse_counts": False}
        context["counts_differ"] = counts_differ(context["servers"])
        context |= kind.section(request, recipe)
        return render(request, "recipe/recipe.html", context)


class ProgressView(View):
    """The progress alone, polled by HTMX; nothing is sent where nothing has changed."""

    def get(self, request: HttpRequest, identifier: str) -> HttpResponse:
        recipe = _recipe(identifier)
        context = _progress_context(request, recipe)
        shown = text_of(request.GET, "shown")
        if release_of(recipe) is not None or not shown.startswith(f"{context['status'].key} "):
            return HttpResponseClientRefresh()
        if shown == context["shown"]:
            return HttpResponse(status=204)
        return render(request, "recipe/_progress.html", context)


class CloseView(PublishersOnly):
    """Published → closed, after a page that says what this means."""

    def get(self, request: HttpRequest, identifier: str) -> HttpResponse:
        recipe = _recipe(identifier)
        if recipe.status != Recipe.Status.PUBLISHED:
            return redirect("recipe", identifier=identifier)
        return render(request, "recipe/close.html", _progress_context(request, recipe))

    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        recipe = _recipe(identifier)
        try:
            recipe_close(recipe=recipe, actor=signed_in_user(request))
        except RecipeStateError as error:
            messages.info(request, f"Nothing was changed: {error}.")
        else:
            kind = kind_of(type(recipe.published.calibrated_statistic))
            messages.success(request, f"Closed. {kind.closed}")
        return redirect("recipe", identifier=identifier)


class ResultCsvView(View):
    """The result as CSV, exact."""

    def get(self, request: HttpRequest, identifier: str) -> HttpResponseBase:
        recipe, release = _with_release(identifier)
        if release.outcome != Release.Outcome.RELEASED:
            raise Http404("Nothing was released.")
        return _file(
            request,
            recipe,
            lambda: release_csv(recipe, release, _truth(recipe)),
            name=f"result-{identifier[:12]}.csv",
            content_type="text/csv; charset=utf-8",
        )


class ResultJsonView(View):
    """The result as JSON, exact, with the recipe and the guarantees."""

    def get(self, request: HttpRequest, identifier: str) -> HttpResponseBase:
        recipe, release = _with_release(identifier)
        return _file(
            request,
            recipe,
            lambda: release_json(release_document(recipe, release, _truth(recipe))),
            name=f"result-{identifier[:12]}.json",
            content_type="application/json",
        )


def _recipe(identifier: str) -> Recipe:
    return get_object_or_404(with_release(Recipe.objects.all()), identifier=identifier)


def _with_release(identifier: str) -> tuple[Recipe, Release]:
    recipe = _recipe(identifier)
    release = release_of(recipe)
    if release is None:
        raise Http404("There is no result yet.")
    return recipe, release


def _file(
    request: HttpRequest, recipe: Recipe, pieces: Callable[[], Iterable[str]], *, name: str, content_type: str
) -> HttpResponseBase:
    """The file made of these pieces; nothing, and no number is loaded, where the browser has it already."""
    etag = quote_etag(f"{file_version(recipe)}-{name}")
    response: HttpResponseBase | None = get_conditional_response(request, etag=etag)
    if response is None:
        recipe.release.refresh_from_db(fields=NUMBERS)
        response = StreamingHttpResponse(pieces(), content_type=content_type)
        response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["ETag"] = etag
    # To be kept, but asked for again: the answer to that is cheap.
    response["Cache-Control"] = "no-cache"
    return response


def _truth(recipe: Recipe) -> SimulatedTruth | None:
    return SimulatedTruth.objects.filter(recipe=recipe).first()


def _card(recipe: Recipe) -> Card:
    release = release_of(recipe)
    released = release is not None and release.outcome == Release.Outcome.RELEASED
    latest = headline(recipe, release) if release is not None and released else None
    status = status_of(recipe, release, timezone.now())
    return Card(recipe, status, latest, is_below_cohort(release))


def _progress_context(request: HttpRequest, recipe: Recipe) -> dict[str, Any]:
    so_far = trust_model_of(recipe).progress(recipe)
    status = status_of(recipe, release_of(recipe), timezone.now())
    shown = coarse(so_far.received, recipe.cohort_size)
    servers = [server.live(recipe) for server in servers_of(recipe, so_far)]
    troubles = troubles_of(recipe, so_far, everything=may_read_log(request.user))
    return {
        "recipe": recipe,
        "status": status,
        **_servers_context(recipe),
        "progress": progress_text(so_far.received, recipe.cohort_size),
        "progress_value": shown,
        "servers": servers,
        "troubles": troubles,
        # What the page shows, in short: the poll compares it.
        "shown": f"{status.key} {shown} {_in_short(servers, troubles)}",
    }


def _servers_context(recipe: Recipe) -> dict[str, Any]:
    shown, servers = SHOWN[recipe.published.trust], recipe.published.servers
    return {
        "trust": shown,
        "partner": shown.partner_shown(servers),
        "digests": shown.digests_shown(servers),
    }


def _in_short(servers: Sequence[ServerShown], troubles: Sequence[TroubleShown]) -> str:
    counts = [sum(sum(server.rejected.values()) for server in servers)]
    counts += [server.counted for server in servers if server.counted is not None]
    for trouble in troubles:
        counts += [int(trouble.since.timestamp()), *([] if trouble.waiting is None else [trouble.waiting])]
        counts += [] if trouble.next_attempt is None else [int(trouble.next_attempt.timestamp())]
    return " ".join(str(count) for count in counts)


def _release_context(recipe: Recipe, release: Release) -> dict[str, Any]:
    servers = stated_servers(release)
    if release.outcome != Release.Outcome.RELEASED:
        return {"servers": servers, "coarse_counts": True, "below_cohort": is_below_cohort(release)}
    truth, excerpt = _truth(recipe), excerpt_of(release)
    rows, bounds = estimate_rows(recipe, release, truth), bounds_of(excerpt)
    return {
        "servers": servers,
        "truth": truth,
        "excerpt": excerpt,
        "estimates": rows,
        "details": details_of(release),
        "verdict": verdict_of(release),
        "intervals": shown_interval_of(excerpt) is not None,
        "joint": joint_bounds_of(excerpt) is not None,
        "most_drawn": MOST_DRAWN,
        "says_nothing": says_nothing(recipe, release),
        "bounds_level": "" if bounds is None else percent(bounds.level),
        "headline": headline(recipe, release),
        "error_sentence": error_sentence(recipe, release),
        "figure": release_figure(recipe, release, truth),
    }
