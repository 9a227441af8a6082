"""The home page: what this is, what needs attention, and every published recipe."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.dateformat import format as date_format
from django.utils.safestring import SafeString
from django.views import View

from ledger.selectors import shown_spending
from log.audit.access import signed_in_user
from pages.charts.shown import small_chart
from pages.overview.attention import approvals_of, attention_of
from pages.overview.filters import filters_of
from pages.recipe.charts import release_chart
from pages.recipe.presentation import (
    Headline,
    Status,
    headline,
    is_below_cohort,
    release_of,
    status_of,
)
from recipes.access import may_publish
from recipes.models import Recipe
from recipes.selectors import drafts_list, event_names
from results.models import Release
from results.selectors import overview_search
from simulations.tries import recipes_of_tries
from web.htmx import htmx_of
from web.paging import page_of

PAGE_SIZE = 20

STRIPS = 4
"""How many populations the overview shows; their own page has all."""

EVENTS = 100
"""Names of events that the filter offers; any other can be typed."""

DRAFTS = 5
"""Drafts that are shown at the top; the others are folded away."""


@dataclass(frozen=True)
class Card:
    """One recipe on the overview, with the small chart of its result.

    Attributes:
        asked: the time, if another one on the page asks the same, to distinguish them; else empty.
    """

    recipe: Recipe
    status: Status
    latest: Headline | None
    chart: SafeString | None
    below_cohort: bool
    asked: str


class OverviewView(View):
    """Every published recipe, newest first; search, filters and page are in the address."""

    def get(self, request: HttpRequest) -> HttpResponse:
        filters = filters_of(request.GET)
        context: dict[str, Any] = {"filters": filters, "cards": []}
        if not filters.problems:
            recipes = overview_search(user=request.user, **filters.given)
            if not filters.text:
                # One a minute would hide all others; a search finds them.
                recipes = recipes.exclude(pk__in=recipes_of_tries())
            page = page_of(recipes, request, PAGE_SIZE)
            context["page"] = page
            asked = Counter(recipe.question for recipe in page.rows)
            context["cards"] = [_card(recipe, _asked(recipe, asked)) for recipe in page.rows]
            # One result alone has nothing to be compared with.
            context["comparable"] = sum(card.latest is not None for card in context["cards"]) > 1
            context["filtered"] = filters.narrowed or bool(page.newest)
        htmx = htmx_of(request)
        partial = htmx and not htmx.history_restore_request
        if not partial:
            context["balances"] = shown_spending(STRIPS)
            context["events"] = event_names(request.user, EVENTS)
            context["try_it"] = settings.TRY
            if may_publish(request.user):
                drafts = drafts_list()[:PAGE_SIZE]
                context |= {"drafts": drafts[:DRAFTS], "more_drafts": drafts[DRAFTS:]}
                context["approvals"] = approvals_of(signed_in_user(request))
                context["attention"] = attention_of(timezone.now())
        if not context["cards"]:
            context["nobody_yet"] = not get_user_model().objects.exists()
        template = "overview/_cards.html" if partial else "overview/overview.html"
        response = render(request, template, context, status=422 if filters.problems and not partial else 200)
        patch_vary_headers(response, ("HX-Request",))
        return response


def _asked(recipe: Recipe, counts: Mapping[str, int]) -> str:
    if counts[recipe.question] < 2 or recipe.opens_at is None:
        return ""
    return f"asked {date_format(recipe.opens_at, 'j M Y, H:i')} UTC"


def _card(recipe: Recipe, asked: str) -> Card:
    release = release_of(recipe)
    status = status_of(recipe, release, timezone.now())
    if release is None or release.outcome != Release.Outcome.RELEASED or recipe.unreadable:
        return Card(recipe, status, None, None, is_below_cohort(release), asked)
    chart = small_chart(release_chart(recipe, release, None), f"card-{recipe.pk}")
    return Card(recipe, status, headline(recipe, release), chart, below_cohort=False, asked=asked)
