"""The home page: what is new, what needs attention, what is open, and every published recipe."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.dateformat import format as date_format
from django.views import View

from ledger.selectors import shown_spending
from log.audit.access import signed_in_user
from pages.overview.attention import approvals_of, attention_of, news_of
from pages.overview.cards import card_of
from pages.overview.filters import VIEWS, filters_of
from pages.overview.running import series_unfinished, simulations_unfinished
from pages.overview.visits import visit_note
from recipes.access import may_publish
from recipes.models import Recipe
from recipes.selectors import drafts_list, event_names, tag_names
from results.selectors import overview_search
from series.selectors import rounds_behind
from simulations.collect.demo_progress import demo_progress
from simulations.tries import recipes_of_tries
from web.htmx import htmx_of
from web.paging import numbered_page_of, query_with

PAGE_SIZE = 20

STRIPS = 4
"""How many populations the overview shows; their own page has all."""

NAMES = 100
"""Names of events, and tags, that a filter offers; any other can be typed."""

DRAFTS = OPEN = 5
"""Drafts, and open recipes, that are shown at the top; a list of its own has the others."""


RUNNING = "running"
"""Identifier of the section that asks for itself while something runs."""


class OverviewView(View):
    """Every published recipe; search, filters, order, view and page are in the address."""

    def get(self, request: HttpRequest) -> HttpResponse:
        filters = filters_of(request.GET, request.user)
        context: dict[str, Any] = {"filters": filters, "cards": []}
        if not filters.problems:
            recipes = overview_search(user=request.user, **filters.given)
            if not filters.text:
                # One a minute would hide all others; a search finds them.
                recipes = recipes.exclude(pk__in=recipes_of_tries())
            if not filters.narrowed:
                recipes = recipes.exclude(pk__in=rounds_behind())
            if request.user.is_authenticated:
                recipes = recipes.select_related("created_by").prefetch_related("tags")
            page = numbered_page_of(recipes, request, PAGE_SIZE)
            context["page"] = page
            asked = Counter(recipe.question for recipe in page.rows)
            charts = filters.view == "cards"
            context["cards"] = [card_of(recipe, _asked(recipe, asked), charts=charts) for recipe in page.rows]
            # One result alone has nothing to be compared with.
            context["comparable"] = sum(card.latest is not None for card in context["cards"]) > 1
            context["views"] = [
                (label, "" if name == filters.view else query_with(request.GET, view=name))
                for name, label in VIEWS
            ]
        htmx = htmx_of(request)
        polls = htmx and htmx.target == RUNNING
        partial = htmx and not htmx.history_restore_request and not polls
        if not partial:
            context["running"] = simulations_unfinished(request.user)
            context["running_series"] = series_unfinished(request.user)
            context["demo"] = demo_progress() if settings.LOCAL else None
            context["balances"] = shown_spending(STRIPS)
            context["events"] = event_names(request.user, NAMES)
            context["try_it"] = settings.TRY
            if request.user.is_authenticated:
                context["tags"] = tag_names(request.user, NAMES)
            if not (filters.problems or filters.narrowed or context["page"].number > 1):
                context |= _first(request)
        if not context["cards"]:
            context["nobody_yet"] = not get_user_model().objects.exists()
        template = "overview/_cards.html" if partial else "overview/overview.html"
        response = render(request, template, context, status=422 if filters.problems and not partial else 200)
        if polls and not (context["running"] or context["running_series"] or context["demo"]):
            response["HX-Refresh"] = "true"  # the whole page has the new results
        patch_vary_headers(response, ("HX-Request", "HX-Target"))
        return response


def _first(request: HttpRequest) -> dict[str, Any]:
    """What comes before the list of all: what is new, what waits, and what closes next."""
    now = timezone.now()
    # Simulations that run have a list of their own.
    closing = overview_search(user=request.user, status="open", sort="closing").filter(simulation=False)
    first: dict[str, Any] = {"open": closing[:OPEN], "open_count": closing.count()}
    if request.user.is_authenticated:
        user = signed_in_user(request)
        first["news"] = news_of(user, visit_note(user=user, now=now))
    if may_publish(request.user):
        drafts = drafts_list()
        first |= {"drafts": drafts[:DRAFTS], "draft_count": drafts.count()}
        first["approvals"] = approvals_of(signed_in_user(request))
        first["attention"] = attention_of(now)
    return first


def _asked(recipe: Recipe, counts: Mapping[str, int]) -> str:
    if counts[recipe.question] < 2 or recipe.opens_at is None:
        return ""
    return f"asked {date_format(recipe.opens_at, 'j M Y, H:i')} UTC"
