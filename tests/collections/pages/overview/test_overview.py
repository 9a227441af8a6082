"""The home page: what needs attention, filters that stand in the address, and small charts."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ledger.operations import population_create
from pages.overview.visits import APART, AT_FIRST, visit_note
from panprivacy.formats.errors import FieldError
from publishing.publication import recipe_publish, recipe_publish_file
from recipes.models import name_beyond
from recipes.operations import recipe_draft_delete, recipe_draft_save, recipe_tag
from results.selectors import overview_search
from simulations.collect.demo_progress import demo_progress_end, demo_progress_write
from simulations.models import Simulation
from tests.factories import draft_recipe, published_recipe, recipe_members
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
    attention = page[page.index("For you to check") : page.index("Open, the next to close")]
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


def test_recipe_of_several_events_is_found_by_each_of_them(client: Client) -> None:
    funnel = {"statistic": "funnel", "event": None, "steps": 4}
    published_recipe(question="Bought?", events=["app.search", "app.buy"], **funnel)
    published_recipe(question="Searched?", event="app.search")
    both = ["Searched?", "Bought?"]
    for query, found in (
        ("event=app.search", both),
        ("event=app.buy", ["Bought?"]),
        ("q=app.search", both),
        ("event=app.sea", []),
        ("q=app.search, app.buy", []),
    ):
        assert titles(client, query) == found, query
    response = client.get("/")
    assert response.context["events"] == ["app.buy", "app.search"]
    searched, bought = client.get("/api/v1/recipes/", {"search": "app.search"}).json()["results"]
    assert (searched["event"], searched["events"]) == ("app.search", ["app.search"])
    assert (bought["event"], bought["events"]) == ("app.search, app.buy", ["app.search", "app.buy"])


def test_numbered_pages_keep_the_filters_and_the_order(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pages.overview.views.PAGE_SIZE", 2)
    for number in (3, 1, 4, 0, 2):
        published_recipe(name=f"Name {number}", question=f"Question {number}?")
    asked = "q=question&status=open&sort=name&view=table"
    pages = [titles(client, f"{asked}&page={page}") for page in (1, 2, 3, 9)]
    names = [f"Question {number}?" for number in range(5)]
    assert pages == [names[:2], names[2:4], names[4:], names[4:]], "the last page stands for those after it"
    response = client.get(f"/?{asked}&page=2&event=")
    page = page_text(response)
    assert [query for number, query in response.context["page"].links if number == "3"] == [
        f"?{asked}&page=3"
    ]
    assert "5 in all" in page
    assert f'href="/?{asked.replace("view=table", "view=cards").replace("&", "&amp;")}&amp;page=2"' in page


def test_list_is_sorted_by_result_closing_or_name(client: Client) -> None:
    for question, days in (("Far?", 9), ("Near?", 5)):
        ends = (timezone.now() + timedelta(days=days)).isoformat()
        published_recipe(name=question, question=question, closes_at=ends)
    finished_recipe([[1]] * 6, name="a", question="First?")
    finished_recipe([[1]] * 6, name="B", question="Second?")
    for sort, order in (
        ("", ["Second?", "First?", "Near?", "Far?"]),
        ("closing", ["Near?", "Far?", "Second?", "First?"]),
        ("name", ["First?", "Second?", "Far?", "Near?"]),
    ):
        assert titles(client, f"sort={sort}") == order, sort


def test_open_recipes_do_not_hide_results(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.overview.views.PAGE_SIZE", 2)
    monkeypatch.setattr("pages.overview.views.OPEN", 2)
    finished_recipe([[1]] * 6, question="Result?")
    for number in range(4):
        published_recipe(question=f"Open {number}?")
    page = page_text(client.get("/"))
    assert titles(client, "")[0] == "Result?"
    assert "All 4 open recipes" in page
    assert page.index("All 4 open recipes") < page.index("Result?")


def test_list_asks_the_same_statements_for_few_and_many(client: Client) -> None:
    client.force_login(analyst())

    def statements(address: str) -> int:
        client.get(address)
        with CaptureQueriesContext(connection) as asked:
            client.get(address)
        return len(asked)

    def more(count: int) -> None:
        for number in range(count):
            recipe_tag(recipe=published_recipe(question=f"Open {number}?"), tags=["q3"])
            finished_recipe([[1]] * 6, question=f"Done {number}?")
            draft_recipe()

    more(1)
    few = [statements(address) for address in ("/", "/?view=table", "/?status=draft")]
    more(4)
    assert [statements(address) for address in ("/", "/?view=table", "/?status=draft")] == few
    assert max(few) <= 30


def test_owner_and_tags_are_for_signed_in_accounts_only(client: Client) -> None:
    ana, otto = analyst(), account("otto", "Analysts")
    for owner in (ana, otto):
        draft = recipe_draft_save(members=recipe_members(question=f"By {owner}?"), actor=owner)
        recipe_tag(recipe=recipe_publish(recipe=draft, actor=owner), tags=[f" {owner}'s <b> ", ""])
    both = ["By otto?", "By ana?"]
    for query in ("owner=ana", "tag=ana's <b>"):
        assert titles(client, query) == both, "a choice that is not offered is ignored"
    for view in ("cards", "table"):
        page = page_text(client.get(f"/?view={view}"))
        assert not any(word in page for word in ("ana's", "by <bdi>", 'name="owner"', 'name="tag"'))
    client.force_login(account("passerby"))
    for query in ("owner=ana", "tag=ana's <b>"):
        assert titles(client, query) == ["By ana?"]
    for view in ("cards", "table"):
        page = page_text(client.get(f"/?view={view}"))
        assert "<bdi>ana&#x27;s &lt;b&gt;</bdi>" in page
        assert "by <bdi>otto</bdi>" in page
    assert client.get("/?owner=nobody").status_code == 422


def test_drafts_are_listed_for_publishers_only(client: Client) -> None:
    draft_recipe(question="Secret draft?")
    assert client.get("/?status=draft").status_code == 422
    client.force_login(auditor())
    assert client.get("/?status=draft").status_code == 422
    client.force_login(analyst())
    for view in ("cards", "table"):
        page = page_text(client.get(f"/?status=draft&view={view}"))
        assert "Secret draft?" in page
        assert "Only analysts see it." in page


def test_results_since_the_last_visit_come_first(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ana = analyst()
    finished_recipe([[1]] * 6, question="Old?")
    begun = timezone.now()
    assert visit_note(user=ana, now=begun) == begun - AT_FIRST
    assert visit_note(user=ana, now=begun + APART / 2) == begun - AT_FIRST, "the same visit"
    seen = begun + APART / 2
    assert visit_note(user=ana, now=seen + APART) == seen
    assert visit_note(user=ana, now=seen + APART) == seen, "a page that is loaded again shows the same"
    assert visit_note(user=account("otto"), now=seen) == seen - AT_FIRST
    monkeypatch.setattr("pages.overview.views.visit_note", lambda user, now: begun)
    finished_recipe([[1]] * 6, question="New <b>?")
    finished_recipe([[1]] * 2, question="Withheld?")
    assert "Since your last visit" not in page_text(client.get("/"))
    client.force_login(ana)
    page = page_text(client.get("/"))
    news = page[page.index("Since your last visit") : page.index("Results and recipes")]
    assert "2 results since" in news
    assert news.index("Withheld?") < news.index("New &lt;b&gt;?")
    assert "Old?" not in news
    assert "Since your last visit" not in page_text(client.get("/?status=released")), (
        "a list that was asked for"
    )


def test_tags_are_replaced_and_refused_out_of_range() -> None:
    draft = draft_recipe()
    assert recipe_tag(recipe=draft, tags=["b", "a", " a "]) == ["a", "b"]
    assert recipe_tag(recipe=draft, tags=["c", "b"]) == ["b", "c"]
    assert recipe_tag(recipe=draft, tags=["می\u200cشود", "b", "c"])[2] == "می\u200cشود"
    recipe_tag(recipe=draft, tags=["b", "c"])
    for wrong in (
        "ab",
        None,
        {"a": 1},
        [1],
        [None],
        ["x" * 41],
        ["a,b"],
        ["a\x00"],
        ["\ud800"],
        [str(each) for each in range(11)],
    ):
        with pytest.raises(FieldError) as refused:
            recipe_tag(recipe=draft, tags=wrong)
        assert refused.value.field == "tags"
    assert list(draft.tags.values_list("name", flat=True)) == ["b", "c"]
    recipe_draft_delete(recipe=draft, actor=None)


def test_tags_are_set_on_pages_and_by_programs(client: Client) -> None:
    recipe, draft = published_recipe(), draft_recipe()
    pages = {recipe: f"/recipes/{recipe.identifier}/tags/", draft: f"/recipes/drafts/{draft.pk}/tags/"}
    for address in pages.values():
        assert client.post(address, {"tags": "a"}).status_code == 302
        assert client.put(f"/api/v1{address}", {"tags": ["a"]}, "application/json").status_code == 401
    client.force_login(analyst())
    for tagged, address in pages.items():
        assert client.post(address, {"tags": "a,, <b> "}).status_code == 302
        assert 'value="&lt;b&gt;, a"' in page_text(client.get(address))
        assert client.get(f"/api/v1{address}").json() == {"tags": ["<b>", "a"]}
        answer = client.put(f"/api/v1{address}", {"tags": ["q4", "q4"]}, "application/json")
        assert answer.json() == {"tags": ["q4"]}
        refused = client.post(address, {"tags": "x" * 41})
        assert refused.status_code == 422
        assert "Tags must have 1 to 40 characters each." in page_text(refused)
        answer = client.put(f"/api/v1{address}", {"tags": ["x" * 41]}, "application/json")
        assert (answer.status_code, answer.json()["field"]) == (400, "tags")
        assert [tag.name for tag in tagged.tags.all()] == ["q4"]
    assert client.get(f"/recipes/{'0' * 64}/tags/").status_code == 404


def test_overview_offers_what_each_visitor_may_do(client: Client) -> None:
    page = page_text(client.get("/"))
    assert "No recipes yet. Three steps lead to the first result." in page
    assert "createsuperuser" in page
    steps = re.findall(r"<h3>([^<]*)</h3>", page)
    assert steps == ["Name a population", "Publish a recipe", "Let a device take part"]
    for user, shown in ((None, False), (account("passerby"), False), (auditor(), True), (analyst(), True)):
        if user is not None:
            client.force_login(user)
        page = page_text(client.get("/"))
        assert ('href="/audit/"' in page) is shown
        assert "createsuperuser" not in page


def test_running_simulation_has_a_card_with_its_progress_until_it_ends(
    client: Client, settings: Any, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    recipe = published_recipe(simulation=True, question="Running?")
    simulation = Simulation.objects.create(
        recipe=recipe,
        workload={},
        seed="1",
        seed_given=True,
        devices=3_000,
        done=1_200,
        started_at=timezone.now(),
        at_once=2,
    )
    demo_progress_write(done=3, collections=5, seconds_left=41)
    polled = {"HTTP_HX_REQUEST": "true", "HTTP_HX_TARGET": "running"}
    for headers in ({}, polled):
        answer = client.get("/", **headers)
        (section,) = re.findall(r'(?s)<section id="running".*?</section>', page_text(answer))
        assert "3 of 5 demo collections are done; about 40 seconds left." in section
        assert "1,200 of 3,000 devices have reported" in section
        assert "HX-Refresh" not in answer
    demo_progress_end()
    simulation.state = Simulation.State.CANCELLED
    simulation.save()
    assert 'id="running"' not in page_text(client.get("/"))
    # The page that still polls is loaded anew, with the results.
    assert client.get("/", **polled)["HX-Refresh"] == "true"


def test_private_simulation_runs_on_the_home_page_of_analysts_only(client: Client) -> None:
    members = recipe_members(question="Secret?")
    recipe = recipe_publish_file(members=members, actor=None, simulation=True, private=True)
    Simulation.objects.create(
        recipe=recipe, workload={}, seed="1", seed_given=True, devices=9, started_at=timezone.now()
    )
    assert "Secret?" not in page_text(client.get("/"))
    client.force_login(analyst())
    assert "0 of 9 devices have reported" in page_text(client.get("/"))


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
        *((f"page={page}", 400) for page in ("0", "-1", "x", "9" * 40, "1.5")),
        *(("q=%00", 400), ("q=%ff", 200), ("status=%00", 400), (f"q={'a' * 5000}", 200)),
    ):
        assert client.get(f"/?{query}").status_code == status
    # HTMX gets the cards alone, unless it restores a page.
    cards = client.get("/", HTTP_HX_REQUEST="true")
    assert "<html" not in page_text(cards)
    assert "HX-Request" in cards["Vary"]
    restored = client.get("/", HTTP_HX_REQUEST="true", HTTP_HX_HISTORY_RESTORE_REQUEST="true")
    assert "<html" in page_text(restored)


@pytest.mark.parametrize(
    ("name", "question", "beyond"),
    [
        ("Is it slow?", "Is it slow?", ""),
        ("Is it slow?, round 8 of 8", "Is it slow?", "round 8 of 8"),
        ("Is it …", "Is it slow?", ""),
        ("Is it …, round 2 of 3", "Is it slow?", "round 2 of 3"),
        ("Slow starts, round 2 of 3", "Is it slow?", "Slow starts, round 2 of 3"),
        ("Why …", "Is it slow?", "Why …"),
    ],
)
def test_name_that_repeats_its_question_is_shown_without_it(name: str, question: str, beyond: str) -> None:
    assert name_beyond(name, question) == beyond
