"""The feeds: results for real devices that were released, and firings of a rule, newest first."""

import hashlib
from datetime import UTC, datetime

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.utils.http import http_date, quote_etag
from django.views import View

from ledger.models import Population
from notifications.kinds import RULE_FIRED
from notifications.models import Rule
from notifications.rules import firings_of, rule_sentence
from pages.feed.atom import FeedEntry, atom_document
from pages.not_found import found
from pages.recipe.embedding import result_text
from recipes.models import Recipe
from results.selectors import overview_search
from series.models import Series
from web.paging import text_of

ENTRIES = 50

KEPT = "public, max-age=300"

UNREADABLE = "This result cannot be read by this version of the software."

BEGUN = datetime(2026, 1, 1, tzinfo=UTC)


class FeedView(View):
    """Of all results, or with `?population=` or `?series=` of those."""

    def get(self, request: HttpRequest) -> HttpResponseBase:
        name, title, home = "all", "Results · Private telemetry", reverse("overview")
        results = overview_search(user=AnonymousUser(), status="released").filter(simulation=False)
        if population := text_of(request.GET, "population"):
            found(Population.objects.all(), "population", name=population)
            results = results.filter(population=population)
            name, title = f"population {population}", f"Results of {population} · Private telemetry"
            home = reverse("population", args=[population])
        if identifier := text_of(request.GET, "series"):
            series = found(Series.objects.filter(private=False), "series", identifier=identifier)
            results = results.filter(round__series=series)
            name += f" series {identifier}"
            title, home = f"{series.name} · Private telemetry", reverse("series", args=[identifier])
        recipes = list(results.order_by("-release__released_at", "-release__pk")[:ENTRIES])
        site = site_of(request)
        document = atom_document(
            name=name,
            title=title,
            own=f"{site}{request.get_full_path()}",
            home=f"{site}{home}",
            entries=[_entry(recipe, site) for recipe in recipes],
            begun=BEGUN,
        )
        changed = max((recipe.release.released_at for recipe in recipes), default=BEGUN)
        return feed_response(request, document, changed)


class RuleFeedView(View):
    """Of one rule: when it fired at results of real devices. A feed reader cannot sign in: the address is the
    secret."""

    def get(self, request: HttpRequest, rule: str) -> HttpResponseBase:
        watching = get_object_or_404(Rule.objects.select_related("series", "recipe"), identifier=rule)
        site, told = site_of(request), rule_sentence(watching)
        found = firings_of([watching], ENTRIES)[watching.pk]
        firings = [check for check in found if not check.recipe.simulation]
        about = watching.series or watching.recipe
        document = atom_document(
            name=f"rule {rule}",
            title=f"{about} · Private telemetry",
            own=f"{site}{request.get_full_path()}",
            home=f"{site}{reverse('notifications')}",
            entries=[
                FeedEntry(
                    name=f"{rule} {check.recipe.identifier}",
                    title=f"{RULE_FIRED.title}: {check.recipe.name}",
                    text=told,
                    at=check.at,
                    page=f"{site}{reverse('recipe', args=[check.recipe.identifier])}",
                    kind="firing",
                )
                for check in firings
            ],
            begun=watching.created_at,
        )
        response = feed_response(request, document, max((one.at for one in firings), default=BEGUN))
        response["Cache-Control"] = "private, max-age=60"
        return response


def site_of(request: HttpRequest) -> str:
    """The address of the site, without a slash at the end."""
    return settings.SITE_URL or request.build_absolute_uri("/").rstrip("/")


def feed_response(request: HttpRequest, document: bytes, changed: datetime) -> HttpResponseBase:
    """The feed; no content if the reader already has it."""
    etag = quote_etag(hashlib.sha256(document).hexdigest())
    response: HttpResponseBase | None = get_conditional_response(
        request, etag=etag, last_modified=int(changed.timestamp())
    )
    if response is None:
        response = HttpResponse(document, content_type="application/atom+xml; charset=utf-8")
    response["ETag"], response["Last-Modified"] = etag, http_date(int(changed.timestamp()))
    response["Cache-Control"] = KEPT
    return response


def _entry(recipe: Recipe, site: str) -> FeedEntry:
    identifier = str(recipe.identifier)
    return FeedEntry(
        name=identifier,
        title=recipe.name,
        text=UNREADABLE if recipe.unreadable else result_text(recipe, recipe.release),
        at=recipe.release.released_at,
        page=f"{site}{reverse('recipe', args=[identifier])}",
        picture=f"{site}{reverse('result-svg', args=[identifier])}",
    )
