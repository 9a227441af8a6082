"""The home page: what needs attention, filters that stand in the address, and small charts."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from ledger.operations import population_create
from releases.selectors import overview_search
from tests.factories import draft_recipe, published_recipe
from tests.page_text import page_text
from tests.scenes import account, analyst, finished_recipe, open_recipe, open_stream, simulated_recipe

pytestmark = pytest.mark.django_db


def titles(client: Client, query: str) -> list[str]:
    return [card.recipe.question for card in client.get(f"/?{query}").context["cards"]]


def test_filters_narrow_the_list_by_statistic_population_event_and_day(client: Client) -> None:
    population_create(name="clinics", description="", budget=None, actor=None)
    published_recipe(question="One?", population="clinics", event="crash")
    open_stream(question="Two?")
    today = timezone.now().date()
    tomorrow = today + timedelta(days=1)
    assert titles(client, "statistic=density") == ["Two?"]
    assert titles(client, "population=clinics") == ["One?"]
    assert titles(client, "population=clinics&statistic=density") == []
    assert titles(client, "event=crash") == ["One?"]
    assert titles(client, "event=crash&statistic=density") == []
    assert titles(client, "event=cras") == []
    # The test may run at midnight.
    assert titles(client, f"since={today}&until={tomorrow}") == ["Two?", "One?"]
    assert titles(client, f"since={today + timedelta(days=2)}") == []
    assert titles(client, f"until={today - timedelta(days=1)}") == []
    assert titles(client, "until=9999-12-31") == ["Two?", "One?"]


def test_filters_that_leave_nothing_are_said_and_can_be_cleared(client: Client) -> None:
    published_recipe(question="One?")
    page = page_text(client.get("/?status=withheld&event=crash&until=2026-01-31&q=word"))
    assert (
        "No recipe matches: search “word”, status Withheld, event crash, published until 2026-01-31." in page
    )
    assert '<a href="/">Clear the filters</a>' in page
    assert '<a href="/">Clear the filters</a>' in page_text(client.get("/?status=open"))
    assert "Clear the filters" not in page_text(client.get("/"))


@pytest.mark.searches
def test_population_and_event_are_found_by_an_index() -> None:
    for narrowed, index in (
        ({"population": "clinics"}, "recipe_of_population"),
        ({"event": "crash"}, "recipe_of_event"),
    ):
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("SET LOCAL enable_seqscan = off")
        assert index in overview_search(**narrowed).explain()


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("status=nonsense", "<strong>Status:</strong> “nonsense” is none of the choices."),
        ("statistic=nonsense", "<strong>Statistic:</strong> “nonsense” is none of the choices."),
        ("population=nobody", "<strong>Population:</strong> “nobody” is none of the choices."),
        ("event=Crash!", "<strong>Event:</strong> Give its name as recipes do"),
        ("since=yesterday", "<strong>Published since:</strong> Give a date as 2026-01-31."),
        ("since=2026-02-02&until=2026-02-01", "It must not be before “published since”."),
        ("status=%3Cscript%3E", "“&lt;script&gt;” is none of the choices."),
    ],
)
def test_filter_that_means_nothing_is_named_and_shows_nothing(client: Client, query: str, said: str) -> None:
    published_recipe(question="One?")
    response = client.get(f"/?{query}")
    assert response.status_code == 422
    page = page_text(response)
    assert said in page
    assert "One?" not in page
    # HTMX shows what comes with 200 only.
    assert client.get(f"/?{query}", HTTP_HX_REQUEST="true").status_code == 200


def test_links_of_before_still_lead_to_all_recipes(client: Client) -> None:
    published_recipe(question="One?")
    assert titles(client, "status=all&q=") == ["One?"]
    assert titles(client, "utm_source=mail") == ["One?"]


def test_card_of_a_result_has_its_small_chart_and_no_truth(client: Client) -> None:
    simulated_recipe({0: 40, 1: 20})
    finished_recipe([[1]] * 2, question="Withheld?")
    page = page_text(client.get("/"))
    assert page.count('<svg role="img"') == 1
    drawing = re.findall(r"<svg.*?</svg>", page)[0]
    assert "truth" not in drawing
    assert "± " in re.findall(r"<desc.*?>(.*?)</desc>", drawing)[0]


def test_attention_stands_before_the_recipes_and_only_for_those_who_publish(client: Client) -> None:
    soon = (timezone.now() + timedelta(hours=3)).isoformat()
    open_recipe([1] * 20, question="Nearly over?", cohort_size=400, closes_at=soon, step_seconds=60)
    open_recipe(question="Long?")
    draft_recipe(question="Draft?")
    account("passerby")
    assert "For you to look at" not in page_text(client.get("/"))
    client.force_login(analyst())
    page = page_text(client.get("/"))
    attention = page[page.index("For you to look at") : page.index("What is being asked")]
    assert "Nearly over?" in attention
    assert "Closes within a day, with about 20 of 400 reports." in attention
    assert "Draft?" in attention
    assert "Long?" not in attention


def test_recipe_that_closes_soon_with_enough_reports_needs_no_attention(client: Client) -> None:
    soon = (timezone.now() + timedelta(hours=3)).isoformat()
    open_recipe([1] * 5, question="Enough?", cohort_size=5, closes_at=soon, step_seconds=60)
    client.force_login(analyst())
    assert client.get("/").context["attention"] == []
