"""The page of the public log, and its feed."""

from collections.abc import Sequence
from html import unescape

from django.conf import settings
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import strip_tags
from django.views import View

from ledger.models import Population
from ledger.selectors import log_subject, spending_times
from log.audit.models import Entry
from log.audit.registry import public_action_choices
from log.audit.selectors import public_entries
from log.public_log.models import SignedCheckpoint
from log.public_log.selectors import checkpoint_note, recent_checkpoints, trouble_of_log, witnesses_of
from pages.charts.shown import shown_chart
from pages.feed.atom import FeedEntry, atom_document
from pages.feed.views import BEGUN, feed_response, site_of
from pages.transparency.charts import KINDS, moments_of, timeline_chart
from pages.transparency.checks import verification_context
from pages.transparency.histories import histories_of
from pages.words.public_sentences import PublicEntry, told_publicly
from recipes.selectors import subjects_named, subjects_of_population
from web.paging import page_of, text_of

PAGE_SIZE = 40
"""Entries of a page: with as many recipes, it has at most 150 kB."""

FEED_ENTRIES = 50

CHECKPOINTS = 10

FILTERS = ("q", "action", "population")


class PublicLogView(View):
    """Entries, newest first; search, filters and page are in the address."""

    def get(self, request: HttpRequest) -> HttpResponse:
        page = page_of(_matching(request.GET), request, PAGE_SIZE)
        published = [entry.subject for entry in page.rows if entry.action in KINDS["Published"]]
        chart = timeline_chart(moments_of(page.rows, spending_times(published)))
        checkpoints = recent_checkpoints(CHECKPOINTS)
        query = request.GET.copy()
        query.pop("before", None)
        context = {
            "page": page,
            "entries": told_publicly(page.rows),
            "filters": {name: text_of(request.GET, name) for name in FILTERS},
            "actions": public_action_choices(),
            "populations": Population.objects.order_by("name").values_list("name", flat=True),
            "chart": None if chart is None else shown_chart(chart, "timeline"),
            "histories": histories_of(page.rows),
            "checkpoint": checkpoints[0] if checkpoints else None,
            "note": checkpoint_note(checkpoints[0]).decode() if checkpoints else "",
            "checkpoints": _told(checkpoints),
            "witnesses": {} if settings.LOG_POLICY is None else settings.LOG_POLICY.witnesses,
            "trouble": trouble_of_log(),
            "feed": f"{reverse('public-log-feed')}{'?' if query else ''}{query.urlencode()}",
            **verification_context(),
        }
        return render(request, "transparency/log.html", context)


class PublicFeedView(View):
    """The same entries for feed readers, with the same filters."""

    def get(self, request: HttpRequest) -> HttpResponseBase:
        site = site_of(request)
        rows = list(_matching(request.GET)[:FEED_ENTRIES])
        document = atom_document(
            name=f"public log {request.GET.urlencode()}",
            title="Public log · Private telemetry",
            own=f"{site}{request.get_full_path()}",
            home=f"{site}{reverse('public-log')}",
            entries=[_feed_entry(told, site) for told in told_publicly(rows)],
            begun=BEGUN,
        )
        return feed_response(request, document, max((entry.at for entry in rows), default=BEGUN))


def _told(checkpoints: Sequence[SignedCheckpoint]) -> list[tuple[SignedCheckpoint, list[str], str]]:
    """Each with the names of the witnesses that signed it, and whether they are enough.

    Args:
        checkpoints: newest first. Each covers the older ones: their entries are in its tree.
    """
    told, is_covered = [], False
    for one in checkpoints:
        names, is_met = witnesses_of(one)
        if is_met is None:
            quorum = "none asked for"
        elif is_met:
            quorum, is_covered = "met", True
        else:
            quorum = "covered by a later checkpoint" if is_covered else "not met"
        told.append((one, names, quorum))
    return told


def _feed_entry(told: PublicEntry, site: str) -> FeedEntry:
    page = (
        reverse("recipe", args=[told.identifier])
        if told.identifier
        else f"{reverse('public-log')}?q={told.index}"
    )
    return FeedEntry(
        kind="entry",
        name=told.commitment,
        title=told.title,
        text=unescape(strip_tags(told.sentence)),
        at=told.at,
        page=f"{site}{page}",
    )


def _matching(query: QueryDict) -> QuerySet[Entry]:
    text, population = text_of(query, "q"), text_of(query, "population")
    entries = public_entries(
        text=text,
        action=text_of(query, "action"),
        named=subjects_named(text)[:1] if text else (),
    )
    if not population:
        return entries
    own = Q(subject=log_subject(population))
    return entries.filter(own | Q(subject__in=subjects_of_population(population)))
