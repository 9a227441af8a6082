"""The home page: what needs attention, filters that stand in the address, and small charts."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.test import Client
from django.utils import timezone

from ledger.operations import population_create
from results.selectors import overview_search
from tests.factories import draft_recipe, published_recipe
from tests.page_text import page_text
from tests.scenes import (
    account,
    analyst,
    auditor,
    finished_recipe,
    open_recipe,
    open_stream,
    simulated_recipe,
)

pytestmark = pytest.mark.django_db


def titles(client: Client, query: str) -> list[str]:
    return [card.recipe.question for card in client.get(f"/?{query}").context["cards"]]


def test_filters_that_leave_nothing_are_said_and_can_be_cleared(client: Client) -> None:
    published_recipe(question="One?")
    page = page_text(client.get("/?status=withheld&event=crash&until=2026-01-31&q=word"))
    assert (
        "No recipe matches: search “word”, status Withheld, event crash, published until 2026-01-31." in page
    )
    assert '<a href="/">Clear the filters</a>' in page
    assert '<a href="/">Clear the filters</a>' in page_text(client.get("/?status=open"))
    assert "Clear the filters" not in page_text(client.get("/"))


def test_population_and_event_are_found_by_an_index() -> None:
    for narrowed, index in (
        ({"population": "clinics"}, "recipe_of_population"),
        ({"event": "crash"}, "recipe_of_event"),
    ):
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("SET LOCAL enable_seqscan = off")
        assert index in overview_search(user=AnonymousUser(), **narrowed).explain()


def test_filter_that_means_nothing_is_named_and_shows_nothing(client: Client) -> None:
    published_recipe(question="One?")
    for query, said in (
        ("status=nonsense", "<strong>Status:</strong> “nonsense” is none of the choices."),
        ("statistic=nonsense", "<strong>Statistic:</strong> “nonsense” is none of the choices."),
        ("population=nowhere", "<strong>Population:</strong> “nowhere” is none of the choices."),
        ("event=Crash!", "<strong>Event:</strong> Give its name as recipes do"),
        ("since=yesterday", "<strong>Published since:</strong> Give a date as 2026-01-31."),
        ("since=2026-02-02&until=2026-02-01", "It must not be before “published since”."),
        ("status=%3Cscript%3E", "“&lt;script&gt;” is none of the choices."),
    ):
        response = client.get(f"/?{query}")
        assert response.status_code == 422
        page = page_text(response)
        assert said in page
        assert "One?" not in page
        # HTMX shows what comes with 200 only.
        assert client.get(f"/?{query}", HTTP_HX_REQUEST="true").status_code == 200


def test_card_of_a_result_has_its_small_chart_and_no_truth(client: Client) -> None:
    simulated_recipe({0: 40, 1: 20})
    finished_recipe([[1]] * 2, question="Withheld?")
    page = page_text(client.get("/"))
    assert page.count('<svg role="img"') == 1
    drawing = re.findall(r"<svg.*?</svg>", page)[0]
    assert "truth" not in drawing
    assert "± " in re.findall(r"<desc.*?>(.*?)</desc>", drawing)[0]


def test_attention_stands_first_and_only_for_publishers(client: Client) -> None:
    soon = (timezone.now() + timedelta(hours=3)).isoformat()
    closing = {"closes_at": soon, "step_seconds": 60}
    open_recipe([1] * 20, question="Nearly over?", cohort_size=400, **closing)
    open_recipe([1] * 5, question="Enough?", cohort_size=5, **closing)
    open_recipe(question="Long?")
    draft_recipe(question="Draft?")
    account("passerby")
    assert "For you to check" not in page_text(client.get("/"))
    client.force_login(analyst())
    page = page_text(client.get("/"))
    attention = page[page.index("For you to check") : page.index("What is being asked")]
    assert "Closes within a day, with about 20 of 400 reports." in attention
    for question, shown in (("Nearly over?", True), ("Draft?", True), ("Long?", False), ("Enough?", False)):
        assert (question in attention) is shown


def test_filters_and_words_narrow_the_list(client: Client) -> None:
    population_create(name="clinics", description="", budget=None, actor=None)
    crash = published_recipe(question="Did it crash?", population="clinics", event="app.crash")
    open_stream(question="Who came?")
    finished_recipe([[1]] * 6, question="Was it slow?")
    finished_recipe([[1]] * 2, question="Was it rare?")
    every = ["Was it rare?", "Was it slow?", "Who came?", "Did it crash?"]
    today, day = timezone.now().date(), crash.published_at.date()
    for query, found in (
        ("statistic=density", ["Who came?"]),
        ("population=clinics", ["Did it crash?"]),
        ("population=clinics&statistic=density", []),
        ("event=app.crash", ["Did it crash?"]),
        ("event=app.crash&statistic=density", []),
        ("event=app.cras", []),
        (f"since={today}&until={today + timedelta(days=1)}", every),  # the test may run at midnight
        (f"since={today + timedelta(days=2)}", []),
        (f"until={today - timedelta(days=1)}", []),
        (f"event=app.crash&since={day}&until={day}", ["Did it crash?"]),
        ("until=9999-12-31", every),
        ("utm_source=mail", every),
        ("q=DID it", ["Did it crash?"]),
        (f"q={crash.identifier[:10].upper()}", ["Did it crash?"]),
        ("status=closed", ["Was it rare?", "Was it slow?"]),
        ("status=open", ["Who came?", "Did it crash?"]),
        ("status=released", ["Was it slow?"]),
        ("status=withheld", ["Was it rare?"]),
    ):
        assert titles(client, query) == found, query
    (named,) = client.get("/api/v1/recipes/", {"search": "app.crash"}).json()["results"]
    assert named["event"] == "app.crash"


def test_overview_pages_by_key_and_keeps_the_filters(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.overview.views.PAGE_SIZE", 2)
    for number in range(5):
        published_recipe(question=f"Question {number}?")
    seen: list[str] = []
    address = "/?q=question&status=open"
    while address:
        context = client.get(address).context
        seen += [card.recipe.question for card in context["cards"]]
        assert "q=question" in (context["page"].older or "q=question")
        address = f"/{context['page'].older}" if context["page"].older else ""
    assert seen == [f"Question {number}?" for number in (4, 3, 2, 1, 0)]


def test_overview_offers_what_each_visitor_may_do(client: Client) -> None:
    page = page_text(client.get("/"))
    assert "No recipes yet. Start with a question." in page
    assert "createsuperuser" in page
    for user, shown in ((None, False), (account("passerby"), False), (auditor(), True), (analyst(), True)):
        if user is not None:
            client.force_login(user)
        page = page_text(client.get("/"))
        assert ('href="/audit/"' in page) is shown
        assert "createsuperuser" not in page


def test_overview_titles_each_recipe_and_shows_drafts_to_analysts_only(client: Client) -> None:
    finished_recipe([[1]] * 6, question="Released?")
    finished_recipe([[1]] * 2, question="Withheld?")
    for name in ("First", "Second"):
        open_recipe(name=name, question="Open?")
    draft_recipe(question="Secret draft?")
    for user, shown in ((None, False), (auditor(), False), (analyst(), True)):
        if user is not None:
            client.force_login(user)
        page = page_text(client.get("/"))
        for text in ("Released?", "Withheld?", "Open?", "Nothing was released", "devices"):
            assert text in page
        assert page.count('<span class="muted small">asked ') == 2, "one question is told apart by its times"
        assert ("Secret draft?" in page) is shown


def test_overview_bears_any_query(client: Client) -> None:
    for query, status in (
        *((f"before={before}", 400) for before in ("-1", "x", "9" * 40, "1.5")),
        *(("q=%00", 400), ("q=%ff", 200), ("status=%00", 400), (f"q={'a' * 5000}", 200)),
    ):
        assert client.get(f"/?{query}").status_code == status
    # HTMX gets the cards alone, unless it restores a page.
    cards = client.get("/", HTTP_HX_REQUEST="true")
    assert "<html" not in page_text(cards)
    assert "HX-Request" in cards["Vary"]
    restored = client.get("/", HTTP_HX_REQUEST="true", HTTP_HX_HISTORY_RESTORE_REQUEST="true")
    assert "<html" in page_text(restored)
