"""The public page of one recipe, with its progress and result."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from django.views import View
from django_htmx.http import HttpResponseClientRefresh

from ledger.access import may_change_populations
from log.audit.access import may_read_log, signed_in_user
from log.audit.selectors import entries_of_recipe
from pages.access import PublishersOnly
from pages.all_rounds import beside_round
from pages.charts.shown import ShownChart, shown_chart
from pages.kinds import kind_of
from pages.not_found import found, missing, readable, visible
from pages.notifications.rules import rules_context
from pages.recipe.charts import MOST_DRAWN, draws_all, release_chart
from pages.recipe.cohort_progress import Standing, standing_of
from pages.recipe.counters import signers_sentence
from pages.recipe.derived import derived_rows
from pages.recipe.details import details_of
from pages.recipe.device_options import device_options
from pages.recipe.embedding import result_picture, result_text
from pages.recipe.presentation import (
    HELD,
    error_sentence,
    estimate_rows,
    headline,
    is_below_cohort,
    level_percent,
    name_of,
    percent_of,
    release_of,
    status_of,
    uninformative,
    whole_text,
)
from pages.recipe.rarely import rarely_address
from pages.recipe.record import record_of
from pages.recipe.segments import segments_shown
from pages.recipe.troubles import TroubleShown, troubles_of
from pages.series.charts import trend_chart
from pages.transparency.checks import commands_for, recompute_commands, verification_context
from pages.trust_models import SHOWN
from pages.words.admission import admission_rows, admission_sentence, issuer_key
from pages.words.parameters_table import parameter_rows, part_rows
from pages.words.sentences import (
    guarantee_texts,
    protection_warning,
    sampling_sentence,
)
from pages.words.target import target_rows, target_sentence
from panprivacy.formats.rounded_counts import rounded_beyond
from publishing.publication import recipe_close
from recipes.access import may_publish
from recipes.errors import RecipeStateError
from recipes.models import Recipe
from recipes.numbers import numbers_of
from recipes.planner.guarantees import guarantee_from_mapping
from recipes.selectors import guarantees_of, stated_plan
from results.bundles import has_bundle, is_bundle_public
from results.excerpt import excerpt_of, intervals_of, verdict_of
from results.exports import file_version, release_csv, release_document, release_json
from results.models import NUMBERS, Release, SimulatedTruth
from results.progress import progress_text
from results.rates import held_of
from results.selectors import with_release
from results.servers import (
    ServerShown,
    counts_differ,
    servers_of,
    stated_servers,
)
from results.trust_models import collection_model_of
from results.verdicts import verdicts_of
from series.models import Round
from series.selectors import rounds_of, trend
from simulations.access import may_simulate
from simulations.selectors import simulation_of
from tokens.admission.selectors import issued_of
from web.paging import text_of

ROUNDS_SHOWN = 12
"""Of a series, on the page of one of its rounds."""

PICTURE_KEPT = "public, max-age=3600"
"""For how long a browser or a proxy shows a picture without asking."""


class TabView(View):
    """A part of a recipe's page, which has an address of its own."""

    tab: ClassVar[str]
    """Name of its address and, below `recipe/`, of its template."""

    of_private: ClassVar[bool] = True
    """Whether a private simulation has it."""

    def get(self, request: HttpRequest, identifier: str) -> HttpResponse:
        recipe = _stored_recipe(request, identifier)
        if recipe.private and not self.of_private:
            raise missing("recipe")
        if recipe.unreadable:
            return _unreadable_page(request, recipe)
        release = release_of(recipe)
        statistic, numbers = recipe.published.calibrated_statistic, numbers_of(recipe)
        context = {
            "tab": self.tab,
            "recipe": recipe,
            "published": recipe.published,
            "mechanism": statistic,
            "numbers": numbers,
            "status": status_of(recipe, release, timezone.now()),
            "release": release,
            "senders": kind_of(type(statistic)).senders,
            "server": request.build_absolute_uri("/").rstrip("/"),
            **_servers_context(recipe),
        }
        context |= self.context(request, recipe, release)
        page = render(request, f"recipe/{self.tab.removeprefix('recipe-')}.html", context)
        _refresh(page, context)
        return page

    def context(self, request: HttpRequest, recipe: Recipe, release: Release | None) -> dict[str, Any]:
        """What this part shows besides."""
        raise NotImplementedError


class ResultView(TabView):
    """How far a recipe is, and then what came out."""

    tab = "recipe"

    def context(self, request: HttpRequest, recipe: Recipe, release: Release | None) -> dict[str, Any]:
        published = recipe.published
        kind = kind_of(type(published.calibrated_statistic))
        shown = _progress_context(request, recipe) if release is None else _release_context(recipe, release)
        simulates = may_simulate(request.user) and kind.simulated
        return {
            **shown,
            "planned": kind.planned_with(
                published.calibrated_statistic, stated_plan(recipe), numbers_of(recipe).margin
            ),
            "may_close": may_publish(request.user) and recipe.status == Recipe.Status.PUBLISHED,
            "may_simulate": simulates,
            "simulated": simulation_of(recipe) if recipe.simulation and simulates else None,
            "history": _history(recipe),
            **rules_context(request, recipe=recipe),
        }


class PrivacyView(TabView):
    """What protects the answers: who learns what, and by which numbers."""

    tab = "recipe-privacy"

    def context(self, request: HttpRequest, recipe: Recipe, release: Release | None) -> dict[str, Any]:
        published = recipe.published
        kind = kind_of(type(published.calibrated_statistic))
        stated = guarantees_of(recipe) if release is None else release.guarantees
        guarantees = [guarantee_from_mapping(members) for members in stated]
        return {
            "rows": parameter_rows(published.parameters),
            "admission_rows": admission_rows(published, issued_of(recipe)),
            "admission_sentence": admission_sentence(published.admission, type(published.servers)),
            "target_rows": target_rows(published.target, published.parameters),
            "target_sentence": target_sentence(published.target),
            "part_rows": part_rows(published),
            "guarantees": guarantee_texts(guarantees),
            "warning": protection_warning(guarantees),
            "sampling": sampling_sentence(published.parameters.sampling_rate),
            "about_population": kind.about_population,
            "about_encryption": kind.help.get("encryption", ""),
            "together": beside_round(recipe),
            **kind.section(request, recipe),
        }


class RecordView(View):
    """The record of processing for data protection, to be printed."""

    def get(self, request: HttpRequest, identifier: str) -> HttpResponse:
        recipe = _recipe(request, identifier)
        return render(request, "recipe/record.html", {"recipe": recipe, "record": record_of(recipe)})


class VerifyView(TabView):
    """How to check that nothing was changed."""

    tab = "recipe-verify"
    of_private = False  # The log has nothing of it.

    def context(self, request: HttpRequest, recipe: Recipe, release: Release | None) -> dict[str, Any]:
        server = request.build_absolute_uri("/").rstrip("/")
        servers = [] if release is None else stated_servers(release)
        released = release is not None and release.outcome == Release.Outcome.RELEASED
        entries = entries_of_recipe(str(recipe.identifier))
        is_public = is_bundle_public(recipe)
        return {
            "issuer_key": issuer_key(recipe.published.admission),
            "servers": servers,
            "signers": signers_sentence(servers, SHOWN[recipe.published.trust].partner_signs)
            if released
            else "",
            "counts_differ": counts_differ(servers),
            "coarse_counts": release is not None and not released,
            "below_cohort": is_below_cohort(release),
            "entries": entries,
            "entries_checked": " ".join(str(entry.index) for entry in entries),
            "verify_lines": commands_for(str(recipe.identifier), server, released=release is not None),
            "recompute_lines": recompute_commands(str(recipe.identifier), server, fetched=is_public)
            if has_bundle(recipe)
            else "",
            "bundle_for_auditors": not is_public,
            "verdicts": verdicts_of(recipe),
            **verification_context(),
        }


class TakePartView(TabView):
    """How devices take part, for those who write them."""

    tab = "recipe-take-part"
    of_private = False

    def context(self, request: HttpRequest, recipe: Recipe, release: Release | None) -> dict[str, Any]:
        statistic = recipe.published.calibrated_statistic
        kind = kind_of(type(statistic))
        return {
            "join": f"recipe/join/{kind.key}.html",
            "device_options": device_options(statistic, numbers_of(recipe).local_epsilon),
            "issuer_key": issuer_key(recipe.published.admission),
            **kind.section(request, recipe),
        }


class ProgressView(View):
    """The progress alone, polled by HTMX; nothing is sent if nothing has changed."""

    def get(self, request: HttpRequest, identifier: str) -> HttpResponse:
        recipe = _recipe(request, identifier)
        context = _progress_context(request, recipe)
        shown = text_of(request.GET, "shown")
        if release_of(recipe) is not None or not shown.startswith(f"{context['status'].key} "):
            return HttpResponseClientRefresh()
        if shown == context["shown"]:
            return HttpResponse(status=204)
        return render(request, "recipe/_progress.html", context)


class CloseView(PublishersOnly):
    """Published → closed, after a page that states what this means."""

    def get(self, request: HttpRequest, identifier: str) -> HttpResponse:
        recipe = _stored_recipe(request, identifier)
        if recipe.status != Recipe.Status.PUBLISHED:
            return redirect("recipe", identifier=identifier)
        context = {"recipe": recipe} if recipe.unreadable else _progress_context(request, recipe)
        page = render(request, "recipe/close.html", context)
        _refresh(page, context)
        return page

    def post(self, request: HttpRequest, identifier: str) -> HttpResponse:
        recipe = _stored_recipe(request, identifier)
        try:
            recipe_close(recipe=recipe, actor=signed_in_user(request))
        except RecipeStateError as error:
            messages.info(request, f"Nothing was changed: {error}.")
        else:
            statistic = None if recipe.unreadable else type(recipe.published.calibrated_statistic)
            said = "" if statistic is None else f" {kind_of(statistic).closed}"
            messages.success(request, f"Closed.{said}")
        return redirect("recipe", identifier=identifier)


class ResultCsvView(View):
    """The result as CSV, exact."""

    def get(self, request: HttpRequest, identifier: str) -> HttpResponseBase:
        recipe, release = _with_release(request, identifier)
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
        recipe, release = _with_release(request, identifier)
        return _file(
            request,
            recipe,
            lambda: release_json(release_document(release, _truth(recipe))),
            name=f"result-{identifier[:12]}.json",
            content_type="application/json",
        )


class ResultSvgView(View):
    """The result as a picture, for pages of others. It never changes, but how it is drawn may."""

    def get(self, request: HttpRequest, identifier: str) -> HttpResponseBase:
        recipe, release = _with_release(request, identifier)
        if release.outcome != Release.Outcome.RELEASED:
            raise Http404("Nothing was released.")
        picture = result_picture(recipe, release, _truth(recipe)).encode()
        etag = quote_etag(hashlib.sha256(picture).hexdigest())
        response: HttpResponseBase | None = get_conditional_response(request, etag=etag)
        if response is None:
            response = HttpResponse(picture, content_type="image/svg+xml")
        response["ETag"] = etag
        if not recipe.private:
            response["Cache-Control"] = PICTURE_KEPT
            # Pages of others may show it, also those that require an explicit permission.
            response["Cross-Origin-Resource-Policy"] = "cross-origin"
        return response


def _refresh(page: HttpResponse, context: Mapping[str, Any]) -> None:
    """Have a page poll by itself while what it shows of waiting is being computed."""
    standing: Standing | None = context.get("standing")
    if standing is not None and standing.awaited is not None:
        standing.awaited.refresh(page)


def _recipe(request: HttpRequest, identifier: str) -> Recipe:
    return readable(_stored_recipe(request, identifier))


def _stored_recipe(request: HttpRequest, identifier: str) -> Recipe:
    recipes = with_release(Recipe.objects.select_related("guarantees"))
    return visible(request, found(recipes, "recipe", identifier=identifier))


def _unreadable_page(request: HttpRequest, recipe: Recipe) -> HttpResponse:
    """The page of a recipe whose document cannot be read here."""
    context = {
        "recipe": recipe,
        "status": status_of(recipe, release_of(recipe), timezone.now()),
        "document": json.dumps(recipe.stated_document, indent=2, ensure_ascii=False),
        "may_close": may_publish(request.user) and recipe.status == Recipe.Status.PUBLISHED,
    }
    return render(request, "recipe/unreadable.html", context)


def _with_release(request: HttpRequest, identifier: str) -> tuple[Recipe, Release]:
    recipe = _recipe(request, identifier)
    release = release_of(recipe)
    if release is None:
        raise Http404("There is no result yet.")
    return recipe, release


def _file(
    request: HttpRequest, recipe: Recipe, pieces: Callable[[], Iterable[str]], *, name: str, content_type: str
) -> HttpResponseBase:
    """The file made of these pieces; no content, and no number is loaded, if the browser already has it."""
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


def _progress_context(request: HttpRequest, recipe: Recipe) -> dict[str, Any]:
    so_far = collection_model_of(recipe).progress(recipe)
    now = timezone.now()
    status = status_of(recipe, release_of(recipe), now)
    # The exact number ends here: whatever else is shown follows from this one.
    shown = rounded_beyond(so_far.received, recipe.cohort_size)
    standing = standing_of(recipe, stated_plan(recipe), shown, now)
    servers = [server.rounded(recipe.cohort_size) for server in servers_of(so_far)]
    troubles = troubles_of(recipe, so_far, everything=may_read_log(request.user))
    return {
        "recipe": recipe,
        "status": status,
        **_servers_context(recipe),
        "progress": progress_text(so_far.received, recipe.cohort_size),
        "standing": standing,
        "servers": servers,
        "troubles": troubles,
        "held": held_of(recipe) if status.key == HELD else None,
        "may_allow": may_change_populations(request.user),
        # What the page shows, in short: the poll compares it.
        "shown": f"{status.key} {shown} {_in_short(servers, troubles)} {standing.in_short}",
    }


def _servers_context(recipe: Recipe) -> dict[str, Any]:
    published = recipe.published
    device_input = published.calibrated_statistic.device_input
    shown = SHOWN[published.trust].for_reports(device_input, numbers_of(recipe).local_epsilon)
    servers = published.servers
    return {
        "trust": shown,
        "partner": shown.partner_shown(servers),
        "digests": shown.digests_shown(servers),
    }


def _in_short(servers: Sequence[ServerShown], troubles: Sequence[TroubleShown]) -> str:
    counts = [sum(sum(server.rejected.values()) for server in servers)]
    for trouble in troubles:
        counts += [int(trouble.since.timestamp()), *([] if trouble.waiting is None else [trouble.waiting])]
        counts += [] if trouble.next_attempt is None else [int(trouble.next_attempt.timestamp())]
    return " ".join(str(count) for count in counts)


def _history(recipe: Recipe) -> ShownChart | None:
    """A round's result after those before it; None if there is nothing to draw."""
    own: Round | None = getattr(recipe, "round", None)
    if own is None or not recipe.published.calibrated_statistic.scalar:
        return None
    rounds = list(rounds_of(own.series).filter(pk__lte=own.pk)[:ROUNDS_SHOWN])
    chart = trend_chart(own.series, trend(own.series, rounds), [])
    return None if chart is None else shown_chart(chart, "history")


def _release_context(recipe: Recipe, release: Release) -> dict[str, Any]:
    if release.outcome != Release.Outcome.RELEASED:
        return {"below_cohort": is_below_cohort(release)}
    truth, excerpt = _truth(recipe), excerpt_of(release)
    rows = estimate_rows(recipe, release, truth)
    return {
        "counts_differ": counts_differ(stated_servers(release)),
        "truth": truth,
        "excerpt": excerpt,
        "estimates": rows,
        "details": details_of(recipe, release),
        "derived": derived_rows(release),
        "verdict": verdict_of(release),
        "intervals": [name_of(excerpt, interval) for interval in reversed(intervals_of(excerpt))],
        "most_drawn": MOST_DRAWN,
        "draws_all": draws_all(recipe, release),
        "uninformative": uninformative(recipe, release),
        "bounds_level": "" if excerpt.confidence is None else level_percent(excerpt.confidence),
        "headline": headline(recipe, release),
        "whole": whole_text(recipe, release),
        "in_percent": percent_of(recipe, release) is not None,
        "error_sentence": error_sentence(recipe, release),
        "picture_text": result_text(recipe, release),
        "rarely": rarely_address(recipe, release),
        "segments": segments_shown(recipe, release, truth),
        "chart": shown_chart(release_chart(recipe, release, truth), "result"),
    }
