"""Dashboards: who reads and changes them, what they show, and what is refused."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from log.audit.models import Entry
from pages.dashboards.cards import shown_cards
from pages.dashboards.content import MOST_CARDS, checked_cards
from pages.dashboards.models import Dashboard
from pages.dashboards.operations import DashboardStateError, dashboard_change, dashboard_create
from panprivacy.formats.errors import FieldError
from recipes.selectors import recipes_search
from series.models import Series
from series.operations import rounds_advance, series_publish
from tests.clock import time_is
from tests.factories import (
    draft_recipe,
    published_recipe,
    raw_reports_submit,
    recipe_members,
    report_of_values,
)
from tests.page_text import page_text
from tests.scenes import account, analyst, finish, finished_recipe, open_recipe

pytestmark = pytest.mark.django_db

NOTHING = "0" * 64
SCRIPT = '<script>alert("x")</script>'
START = datetime(2026, 3, 1, tzinfo=UTC)


def made(cards: Any, *, public: bool = False, name: str = "ana") -> Dashboard:
    owner = account(name, "Analysts")
    return dashboard_create(title="Week <b>48</b>", cards=cards, public=public, actor=owner)


def result(recipe: Any, title: str = "") -> dict[str, str]:
    return {"type": "result", "recipe": str(recipe.identifier), "title": title}


def page_of(client: Client, dashboard: Dashboard, name: str = "dashboard") -> str:
    return page_text(client.get(reverse(name, args=[dashboard.identifier])))


def two_rounds(monkeypatch: pytest.MonkeyPatch, sent: Any = ([0], [1]), **changes: Any) -> Series:
    """A series with two results: all devices send the first value, then the second."""
    moment = [START]
    time_is(monkeypatch, lambda: moment[0])
    members = recipe_members(every="week", rounds=2, epsilon=8.0, cohort_size=20, population="clinics")
    series = series_publish(members=members | changes, actor=None)
    for value in sent:
        rounds_advance()
        recipe = series.rounds.filter(state="published").order_by("-number").first().recipe
        reports = [report_of_values(recipe, value) for _ in range(40)]
        assert raw_reports_submit(recipe=recipe, reports=reports) == []
        finish(recipe)
        moment[0] += timedelta(days=7)
    return series


@pytest.fixture
def clinics() -> None:
    from ledger.operations import population_create

    population_create(name="clinics", description="", budget=None, actor=None)


def test_dashboard_shows_results_series_and_texts_in_order(
    client: Client, monkeypatch: pytest.MonkeyPatch, clinics: None
) -> None:
    series = two_rounds(monkeypatch)
    released = finished_recipe([[1]] * 6, question="Released?", population="clinics")
    withheld = finished_recipe([[1]] * 2, question="Withheld?", population="clinics")
    waiting = open_recipe(question="Open?", population="clinics")
    cards = [
        {"type": "text", "text": "First paragraph.\n\nSecond."},
        {"type": "series", "series": series.identifier, "title": "Crashes by week"},
        result(released),
        result(withheld, "Its own title"),
        result(waiting),
        result(released),
    ]
    page = page_of(client, made(cards, public=True))
    order = ("First paragraph.", "Second.", "Crashes by week", "Released?", "Its own title", "Open?")
    assert sorted(order, key=page.index) == list(order)
    assert "Up by 100.1 points" in page
    assert "Nothing was released" in page
    assert "Withheld?" not in page
    assert page.count('<svg role="img"') == 3, "what is withheld or open has no chart"
    drawn = [part.split('"')[0] for part in page.split('<title id="')[1:]]
    assert len(set(drawn)) == 3, "a result that is shown twice has two drawings"
    assert "chart.js" not in page


def test_series_without_a_result_or_with_many_numbers_is_shown(
    client: Client, monkeypatch: pytest.MonkeyPatch, clinics: None
) -> None:
    members = recipe_members(name="Waits", every="week", rounds=2, cohort_size=20, population="clinics")
    waits = series_publish(members=members, actor=None)
    many = two_rounds(monkeypatch, ([0, 1], [1, 0]), name="Many", statistic="histogram", k=1)
    cards = [{"type": "series", "series": one.identifier} for one in (waits, many)]
    page = page_of(client, made(cards, public=True))
    assert "No result yet." in page
    assert page.count('<svg role="img"') == 1


def test_private_dashboard_is_for_signed_in_accounts(client: Client) -> None:
    public, private = made([], public=True), made([], name="otto")
    addresses = [reverse("dashboard", args=[one.identifier]) for one in (public, private)]
    assert client.get(addresses[0]).status_code == 200
    assert client.get(addresses[1])["Location"] == f"/sign-in/?next={addresses[1]}"
    assert client.get(reverse("dashboard-embed", args=[private.identifier])).status_code == 404
    listed = page_text(client.get("/dashboards/"))
    assert addresses[0] in listed
    assert addresses[1] not in listed
    assert "by <bdi>ana" not in listed + page_of(client, public)
    client.force_login(account("passerby"))
    listed = page_text(client.get("/dashboards/"))
    assert all(address in listed for address in addresses)
    assert "Week &lt;b&gt;48&lt;/b&gt;" in page_of(client, private)


def test_dashboard_is_changed_by_its_owner_and_administrators_only(client: Client) -> None:
    dashboard = made([{"type": "text", "text": "Kept."}], public=True)
    pages = {
        name: reverse(f"dashboard-{name}", args=[dashboard.identifier])
        for name in ("edit", "delete", "embed")
    }
    typed = {"title": "Taken", "action": "save"}
    assert client.post(pages["edit"], typed).status_code == 302
    for other in (account("otto", "Analysts"), account("audrey", "Auditors"), account("passerby")):
        client.force_login(other)
        for name in ("edit", "delete"):
            assert client.post(pages[name], typed).status_code == 403
        assert "Edit" not in page_of(client, dashboard)
        body = json.dumps({"title": "Taken", "cards": []})
        for method in ("PUT", "PATCH", "DELETE"):
            address = reverse("api-dashboard", args=[dashboard.identifier])
            assert client.generic(method, address, body, "application/json").status_code == 403
    dashboard.refresh_from_db()
    assert (dashboard.title, len(dashboard.cards)) == ("Week <b>48</b>", 1)
    client.force_login(account("ada", is_superuser=True))
    assert client.post(pages["delete"]).status_code == 302
    assert not Dashboard.objects.exists()


def test_text_on_a_dashboard_is_never_markup(client: Client) -> None:
    recipe = published_recipe(question=SCRIPT, name=SCRIPT)
    cards = [{"type": "text", "text": f"{SCRIPT}\n[x](javascript:alert(1))"}, result(recipe, SCRIPT)]
    dashboard = made(cards, public=True)
    client.force_login(dashboard.owner)
    for name in ("dashboard", "dashboard-embed", "dashboard-edit"):
        page = page_of(client, dashboard, name)
        assert "<script>alert" not in page
        assert 'href="javascript' not in page
        assert "&lt;script&gt;" in page


def test_embedded_dashboard_may_be_framed_and_knows_no_account(client: Client) -> None:
    dashboard = made([result(finished_recipe([[1]] * 6))], public=True)
    client.force_login(dashboard.owner)
    answer = client.get(reverse("dashboard-embed", args=[dashboard.identifier]))
    policy = answer["Content-Security-Policy"]
    assert "frame-ancestors *" in policy
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "X-Frame-Options" not in answer.headers
    assert answer["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert answer["Cache-Control"] == "public, max-age=300"
    assert "Cookie" not in answer.headers.get("Vary", "")
    page = page_text(answer)
    for absent in ("<form", "<script", "ana", "Sign out"):
        assert absent not in page
    assert 'target="_blank" rel="noopener"' in page
    framed = client.get(reverse("dashboard", args=[dashboard.identifier]))
    assert framed["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in framed["Content-Security-Policy"]


def test_statements_do_not_depend_on_the_number_of_cards(
    client: Client, monkeypatch: pytest.MonkeyPatch, clinics: None
) -> None:
    series = two_rounds(monkeypatch)
    recipes = [finished_recipe([[1]] * 6, population="clinics") for _ in range(4)]
    recipes.append(open_recipe(population="clinics"))
    of_series = {"type": "series", "series": series.identifier}

    def statements(cards: list[Any]) -> int:
        dashboard = dashboard_create(title="x", cards=cards, actor=owner)
        with CaptureQueriesContext(connection) as asked:
            assert len(shown_cards(dashboard, owner)) == len(cards)
        return len(asked)

    owner = analyst()
    owner.get_all_permissions()  # asked once of an account
    few = statements([result(recipes[0]), of_series])
    assert statements([*map(result, recipes), *[of_series] * 20]) == few
    assert few <= 7


def test_card_of_what_is_gone_is_left_out(client: Client) -> None:
    dashboard = made([{"type": "text", "text": "Kept."}], public=True)
    gone = [
        {"type": "result", "recipe": NOTHING, "title": "Gone?"},
        {"type": "series", "series": "0" * 16, "title": ""},
    ]
    Dashboard.objects.update(cards=[*gone, *dashboard.cards])
    page = page_of(client, dashboard)
    assert "Kept." in page
    assert "Gone?" not in page
    client.force_login(dashboard.owner)
    assert page_of(client, dashboard, "dashboard-edit").count("not available") == 2


def test_result_that_a_reader_may_not_see_is_left_out(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, hidden = published_recipe(question="Shown?"), published_recipe(question="Hidden?")
    dashboard = made([result(shown), result(hidden, "Hidden title")], public=True)
    for name in ("cards", "content"):
        monkeypatch.setattr(
            f"pages.dashboards.{name}.readable_recipes",
            lambda reader: recipes_search(user=reader).exclude(
                pk=0 if reader == dashboard.owner else hidden.pk
            ),
        )
    pages = [reverse(name, args=[dashboard.identifier]) for name in ("dashboard", "dashboard-embed")]
    api = reverse("api-dashboard", args=[dashboard.identifier])

    def found(address: str) -> bool:
        content = client.get(address).content.decode()
        assert str(shown.identifier) in content
        return any(text in content for text in (str(hidden.identifier), "Hidden?", "Hidden title"))

    assert not any(map(found, pages))
    client.force_login(account("passerby"))
    assert not any(map(found, [*pages, api]))
    client.force_login(dashboard.owner)
    assert found(pages[0])
    assert found(api)
    assert not found(pages[1]), "a page for everyone"
    with pytest.raises(FieldError):
        checked_cards([result(hidden)], account("otto", "Analysts"))


@pytest.mark.parametrize(
    ("cards", "field", "said"),
    [
        ("x", "cards", "must be a list of at most 50 cards"),
        (None, "cards", "must be a list"),
        ([{"type": "text", "text": "x"}] * 10_000, "cards", "must be at most 50, not 10,000"),
        ([[]], "cards[0]", "must be an object"),
        ([{"text": "x"}], "cards[0].type", "must be one of result, series, text"),
        ([{"type": ["text"]}], "cards[0].type", "must be one of"),
        ([{"type": "text"}], "cards[0].text", "is missing"),
        ([{"type": "text", "text": "x" * 5_001}], "cards[0].text", "at most 5,000 characters, not 5,001"),
        ([{"type": "text", "text": "\x00"}], "cards[0].text", "must have no control characters"),
        ([{"type": "text", "text": "\ud800"}], "cards[0].text", "must have no control characters"),
        ([{"type": "text", "text": 1}], "cards[0].text", "must be text"),
        ([{"type": "text", "text": "x", "html": "x"}], "cards[0]", 'has no field "html"'),
        ([{"type": "series", "series": "0" * 16}], "cards[0].series", "must be the identifier of one"),
        ([{"type": "result", "recipe": NOTHING, "title": "x" * 121}], "cards[0].title", "at most 120"),
        ([{"type": "result", "recipe": NOTHING, "title": "a\nb"}], "cards[0].title", "no control"),
        ([{"type": "result", "recipe": NOTHING}], "cards[0].recipe", "must be the identifier of one"),
        ([{"type": "result", "recipe": "' OR 1=1"}], "cards[0].recipe", "must be the identifier of one"),
    ],
)  # fmt: skip
def test_cards_out_of_range_are_refused_by_field(cards: Any, field: str, said: str) -> None:
    with pytest.raises(FieldError) as refused:
        checked_cards(cards, AnonymousUser())
    assert refused.value.field == field
    assert said in refused.value.message


def test_card_that_names_a_draft_is_refused() -> None:
    draft = draft_recipe()
    for identifier in (str(draft.pk), "", str(draft)):
        with pytest.raises(FieldError):
            checked_cards([{"type": "result", "recipe": identifier}], AnonymousUser())


def edited(client: Client, dashboard: Dashboard, action: str, **changes: Any) -> Any:
    """Send the form as its page shows it, by one of its buttons."""
    address = reverse("dashboard-edit", args=[dashboard.identifier])
    context = client.get(address).context
    typed = {"title": context["title"], "version": context["dashboard"].version, "action": action}
    typed |= {"public": "on"} if context["public"] else {}
    for place, card in enumerate(context["cards"]):
        own = {"type": card.type, "title": card.title, "text": card.text}
        own |= {"recipe": card.recipe, "series": card.series}
        typed |= {f"card-{place}-{name}": value for name, value in own.items() if value}
    return client.post(address, typed | changes)


def test_form_adds_moves_and_removes_cards_without_a_script(client: Client) -> None:
    dashboard, recipe = made([]), published_recipe(name="Crashes")
    client.force_login(dashboard.owner)
    address = f"http://testserver{reverse('recipe-privacy', args=[recipe.identifier])}"
    assert edited(client, dashboard, "add-text")["Location"].endswith("/edit/#card-0")
    edited(client, dashboard, "add", address=address, **{"card-0-text": "Read this."})
    edited(client, dashboard, "up-1", title="Renamed")
    edited(client, dashboard, "add-text", public="on")
    edited(client, dashboard, "remove-2")
    edited(client, dashboard, "down-9")
    dashboard.refresh_from_db()
    assert (dashboard.title, dashboard.public) == ("Renamed", True)
    assert dashboard.cards == [result(recipe), {"type": "text", "text": "Read this."}]
    assert edited(client, dashboard, "save")["Location"] == reverse("dashboard", args=[dashboard.identifier])
    actions = (
        Entry.objects.filter(subject=dashboard.subject).order_by("index").values_list("action", flat=True)
    )
    assert list(actions) == ["dashboard_created", "dashboard_shared"]
    log = page_text(client.get("/audit/"))
    assert f"ana made the dashboard {dashboard.identifier} readable for everyone." in log
    assert "Renamed" not in log


def test_form_keeps_what_was_typed_if_it_is_refused(client: Client) -> None:
    dashboard = made([{"type": "text", "text": "Old."}])
    client.force_login(dashboard.owner)
    for action, changes, said in (
        ("save", {"card-0-text": "x" * 5_001}, "Card 1: the text must have at most 5,000 characters"),
        ("save", {"title": " ", "card-0-text": "New."}, "The title must have 1 to 120 characters."),
        (
            "add",
            {"address": "elsewhere", "card-0-text": "New."},
            "The address must be the address of a result",
        ),
        ("add", {"address": NOTHING, "card-0-text": "New."}, "Card 2: the recipe must be the identifier"),
    ):
        answer = edited(client, dashboard, action, **changes)
        assert answer.status_code == 422
        page = page_text(answer)
        assert said in page
        assert changes["card-0-text"] in page
    dashboard.refresh_from_db()
    assert dashboard.cards == [{"type": "text", "text": "Old."}]
    many = {f"card-{place}-type": "text" for place in range(10_000)}
    assert edited(client, dashboard, "save", **many).status_code in (400, 422)


def test_form_of_an_old_version_overwrites_nothing(client: Client) -> None:
    dashboard = made([{"type": "text", "text": "Old."}])
    version = dashboard.version
    dashboard_change(dashboard=dashboard, actor=dashboard.owner, cards=[{"type": "text", "text": "New."}])
    with pytest.raises(DashboardStateError):
        dashboard_change(dashboard=dashboard, actor=dashboard.owner, cards=[], version=version)
    client.force_login(dashboard.owner)
    answer = edited(client, dashboard, "remove-0", version=version)
    assert answer.status_code == 409
    assert "Nothing was saved: the dashboard was changed meanwhile." in page_text(answer)
    assert "New." in page_text(answer)


def test_results_and_series_are_added_from_their_pages(
    client: Client, monkeypatch: pytest.MonkeyPatch, clinics: None
) -> None:
    recipe, series = published_recipe(), series_publish(
        members=recipe_members(every="week", rounds=2, cohort_size=20, population="clinics"), actor=None
    )  # fmt: skip
    others = made([], name="otto")
    own = made([])
    pages = [reverse("recipe", args=[recipe.identifier]), reverse("series", args=[series.identifier])]
    added = [f"/dashboards/add/?card={one.identifier}" for one in (recipe, series)]
    assert all(added[0] not in page_text(client.get(page)) for page in pages)
    client.force_login(own.owner)
    for page, address in zip(pages, added, strict=True):
        assert address in page_text(client.get(page))
        assert others.identifier not in page_text(client.get(address))
        assert client.post(address, {"dashboard": own.identifier}).status_code == 302
    own.refresh_from_db()
    assert [card["type"] for card in own.cards] == ["result", "series"]
    assert client.post(added[0], {"dashboard": others.identifier}).status_code == 403
    assert client.post(added[0], {"title": "Another"}).status_code == 302
    assert Dashboard.objects.get(title="Another").cards == [result(recipe)]
    assert client.post(added[0], {"title": ""}).status_code == 422
    assert client.post("/dashboards/add/?card=nothing", {"title": "x"}).status_code == 422
    dashboard_change(dashboard=own, actor=own.owner, cards=[{"type": "text", "text": ""}] * MOST_CARDS)
    full = client.post(added[0], {"dashboard": own.identifier})
    assert "The cards must be at most 50, not 51." in page_text(full)


def test_dashboards_of_an_account_are_limited(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.dashboards.operations.MOST_DASHBOARDS", 1)
    client.force_login(made([]).owner)
    answer = client.post("/dashboards/new/", {"title": "Another"})
    assert answer.status_code == 422
    assert "an account has at most 1 dashboards" in page_text(answer)
    answer = client.post("/api/v1/dashboards/", {"title": "x", "cards": []}, "application/json")
    assert answer.status_code == 409


def test_programs_make_change_and_delete_dashboards(client: Client) -> None:
    recipe, owner = published_recipe(), analyst()
    client.force_login(owner)
    text = {"type": "text", "text": "Read <b>this</b>."}
    body = {"title": "Week", "cards": [text, {"type": "result", "recipe": recipe.identifier}]}
    made_one = client.post("/api/v1/dashboards/", body, "application/json")
    assert made_one.status_code == 201
    address = made_one["Location"]
    told = client.get(address).json()
    assert told == made_one.json()
    assert {name: told[name] for name in ("title", "public", "cards", "owner", "page")} == {
        **body, "public": False, "owner": "ana", "page": f"/dashboards/{told['id']}/",
        "cards": [text, result(recipe)],
    }  # fmt: skip
    (listed,) = client.get("/api/v1/dashboards/").json()["results"]
    assert listed == {name: value for name, value in told.items() if name != "cards"}
    patched = client.patch(address, {"public": True}, "application/json").json()
    assert (patched["public"], patched["title"], patched["cards"]) == (True, "Week", told["cards"])
    replaced = client.put(address, {"title": "Other", "cards": []}, "application/json").json()
    assert (replaced["public"], replaced["title"], replaced["cards"]) == (False, "Other", [])
    for method, wrong, field in (
        ("POST", {"title": "x"}, "cards"),
        ("POST", {"cards": []}, "title"),
        ("POST", {"title": "x", "cards": [{"type": "picture"}]}, "cards[0].type"),
        ("POST", {"title": "x", "cards": [], "owner": "otto"}, "owner"),
        ("PUT", {"title": "x" * 121, "cards": []}, "title"),
        ("PATCH", {"public": "yes"}, "public"),
        ("PATCH", {"cards": [text] * 51}, "cards"),
    ):
        asked = "/api/v1/dashboards/" if method == "POST" else address
        answer = client.generic(method, asked, json.dumps(wrong), "application/json")
        assert (answer.status_code, answer.json()["field"]) == (400, field)
    assert client.delete(address).status_code == 204
    assert client.delete(address).status_code == 404
    client.logout()
    assert client.get("/api/v1/dashboards/").status_code == 401
