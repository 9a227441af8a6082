import csv
import io
import json
import re
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.contrib.staticfiles import finders
from django.db import connection
from django.template import loader
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from audit.models import Entry
from pages.charts.plotly import plotly_figure
from pages.recipe.charts import release_chart
from recipes.models import Recipe
from releases.models import NUMBERS, Release
from releases.operations import truth_record
from tests.factories import draft_recipe, published_recipe
from tests.page_text import page_text
from tests.scenes import (
    account,
    analyst,
    auditor,
    finish,
    finished_recipe,
    open_recipe,
    simulated_recipe,
)

pytestmark = pytest.mark.django_db


def page_of(client: Client, recipe: Recipe) -> str:
    response = client.get(reverse("recipe", args=[recipe.identifier]))
    assert response.status_code == 200
    return page_text(response)


# Overview


def test_overview_without_recipes_and_accounts_says_how_to_begin(client: Client) -> None:
    page = page_text(client.get("/"))
    assert "No recipes yet. Start with a question." in page
    assert "createsuperuser" in page
    account("somebody")
    assert "createsuperuser" not in page_text(client.get("/"))


def test_overview_titles_each_recipe_by_its_question(client: Client) -> None:
    finished_recipe([[1]] * 6, question="Released?")
    finished_recipe([[1]] * 2, question="Withheld?")
    open_recipe(question="Open?")
    draft_recipe(question="Secret draft?")
    page = page_text(client.get("/"))
    for text in ("Released?", "Withheld?", "Open?", "Nothing was released", "devices"):
        assert text in page
    assert "Secret draft?" not in page


def test_overview_shows_drafts_to_analysts_only(client: Client) -> None:
    draft_recipe(question="Secret draft?")
    client.force_login(auditor())
    assert "Secret draft?" not in page_text(client.get("/"))
    client.force_login(analyst())
    assert "Secret draft?" in page_text(client.get("/"))


@pytest.mark.searches
def test_overview_finds_recipes_by_words_by_identifier_and_by_status(client: Client) -> None:
    crash = published_recipe(question="Did it crash?")
    finished_recipe([[1]] * 6, question="Was it slow?")
    finished_recipe([[1]] * 2, question="Was it rare?")
    for query, found, missed in [
        ("q=DID it", "Did it crash?", "Was it slow?"),
        (f"q={crash.identifier[:10].upper()}", "Did it crash?", "Was it slow?"),
        ("status=closed", "Was it slow?", "Did it crash?"),
        ("status=open", "Did it crash?", "Was it slow?"),
        ("status=released", "Was it slow?", "Did it crash?"),
        ("status=released", "Was it slow?", "Was it rare?"),
        ("status=withheld", "Was it rare?", "Was it slow?"),
    ]:
        page = page_text(client.get(f"/?{query}"))
        assert found in page
        assert missed not in page


@pytest.mark.searches
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


@pytest.mark.searches
@pytest.mark.parametrize("query", ["before=-1", "before=x", f"before={'9' * 40}", "before=1.5"])
def test_overview_refuses_a_page_that_no_link_led_to(client: Client, query: str) -> None:
    assert client.get(f"/?{query}").status_code == 400


@pytest.mark.searches
@pytest.mark.parametrize("query", ["q=%00", "q=%ff", "status=%00", f"q={'a' * 5000}"])
def test_overview_bears_any_search_text(client: Client, query: str) -> None:
    assert client.get(f"/?{query}").status_code == (400 if "%00" in query else 200)


def test_overview_answers_htmx_with_the_cards_alone(client: Client) -> None:
    published_recipe()
    response = client.get("/", HTTP_HX_REQUEST="true")
    assert "<html" not in page_text(response)
    assert "HX-Request" in response["Vary"]
    restored = client.get("/", HTTP_HX_REQUEST="true", HTTP_HX_HISTORY_RESTORE_REQUEST="true")
    assert "<html" in page_text(restored)


# The public page of a recipe


def test_open_recipe_shows_everything_public_but_no_estimate(client: Client) -> None:
    recipe = open_recipe([1] * 37, cohort_size=400)
    page = page_of(client, recipe)
    for text in (
        recipe.question,
        recipe.identifier,
        "About 30 of 400",
        "88% sure",
        "Someone who sees only the combined result gets from 50% sure (a coin toss) to at most",
        "If 50% of the devices collude",
        "devices_sim join",
    ):
        assert text in page
    assert not re.search(r"(?<![\w:.+/-])37(?![\w:.+/=-])", page)  # as a number: keys and times may have it
    assert "Result</h2>" not in page
    for entry in Entry.objects.filter(subject=recipe.identifier):
        assert entry.entry_hash in page


def test_public_log_does_not_say_who(client: Client) -> None:
    user = analyst()
    client.force_login(user)
    recipe = draft_recipe()
    client.post(reverse("recipe-publish", args=[recipe.pk]), {"reviewed": recipe.draft_hash})
    client.logout()
    recipe.refresh_from_db()
    page = page_of(client, recipe)
    assert "Recipe published" in page
    assert "ana" not in page.replace("analyst", "").split("Public log")[1].split("</ol>")[0]


def test_page_and_files_show_the_public_neither_the_actors_nor_the_salts_of_the_log(client: Client) -> None:
    actor = account("margaret-hamilton")
    recipe = finish(open_recipe([1] * 6), closed_by=actor)
    entries = list(Entry.objects.filter(subject=recipe.identifier))
    assert actor.get_username() in {entry.actor for entry in entries}
    for name in ("recipe", "result-csv", "result-json"):
        shown = client.get(reverse(name, args=[recipe.identifier])).getvalue().decode()
        assert actor.get_username() not in shown
        assert not [entry for entry in entries if not entry.salt or entry.salt in shown]


def test_released_recipe_shows_headline_table_and_provenance(client: Client) -> None:
    page = page_of(client, finished_recipe([[1]] * 30 + [[0]] * 10))
    release = Release.objects.get()
    for text in (
        "± ",
        "95% interval",
        "66% interval",
        "Projection",
        release.software,
        "Download CSV",
        '<svg role="img"',
    ):
        assert text in page
    assert "Truth (simulation only)" not in page


def test_negative_estimate_is_shown_as_such_and_called_consistent_with_zero(client: Client) -> None:
    page = page_of(client, finished_recipe([[0]] * 8))
    assert Release.objects.get().values[0] < 0
    headline = page.split('class="headline">')[1].split("</p>")[0]
    assert headline.startswith("−")
    assert headline.endswith('consistent with zero <span class="muted">(95%)</span>')


def test_simulation_shows_its_truth_labelled_as_such(client: Client) -> None:
    page = page_of(client, simulated_recipe({0: 40, 1: 20}))
    assert "Simulation</span>" in page
    assert "Truth (simulation only)" in page
    assert "Real devices refuse simulations" in page


def test_withheld_recipe_says_that_nothing_was_released_and_why(client: Client) -> None:
    recipe = finished_recipe([[1]] * 3, cohort_size=5)
    page = page_of(client, recipe)
    assert "Closed below 5 reports." in page
    assert "fewer reports than the cohort size of 5" in page
    assert client.get(reverse("result-csv", args=[recipe.identifier])).status_code == 404
    document = json.loads(client.get(reverse("result-json", args=[recipe.identifier])).getvalue())
    assert document["outcome"] == "withheld"
    assert not {"reports", "values"} & set(document)


def test_what_decrypting_found_is_shown_to_nobody(client: Client) -> None:
    recipe = finished_recipe([[1]] * 6 + [[7]] * 2)
    for user in (None, auditor()):
        if user is not None:
            client.force_login(user)
        page = page_of(client, recipe)
        assert "Rejected" not in page
        assert "is replaced by a random valid one, and counts" in page


def test_recipe_page_of_an_unknown_identifier_is_not_found(client: Client) -> None:
    assert client.get(reverse("recipe", args=["0" * 64])).status_code == 404
    assert client.get("/recipes/abc/").status_code == 404
    assert "There is no such page" in page_text(client.get("/recipes/abc/"))


# Charts and files


@pytest.mark.parametrize(
    "changes", [{}, {"statistic": "histogram", "k": 2}, {"statistic": "mean", "k": 2, "guarantee": "local"}]
)
def test_chart_tells_what_the_table_tells(changes: dict[str, Any]) -> None:
    recipe = simulated_recipe({0: 20, 1: 20, 2: 20}, **changes)
    release = recipe.release
    described = release_chart(recipe, release, recipe.truth)
    figure = json.loads(json.dumps(plotly_figure(described), allow_nan=False))
    wide, narrow, dots, truth = figure["data"]
    scalar = recipe.published.calibrated_statistic.scalar
    value_axis, layout_axis = ("x", "xaxis") if scalar else ("y", "yaxis")
    together = "" if scalar else " for all values together"
    assert [trace["name"] for trace in figure["data"]] == [
        f"95% interval{together}",
        f"66% interval{together}",
        "estimate",
        "truth (simulation only)",
    ]
    assert dots[value_axis] == release.values
    assert truth[value_axis] == recipe.truth.values
    low, high = figure["layout"][layout_axis]["range"]
    for position in range(len(release.values)):
        assert wide[value_axis][3 * position] == release.intervals[0]["low"][position]
        assert narrow[value_axis][3 * position + 1] == release.intervals[1]["high"][position]
        assert low <= wide[value_axis][3 * position] <= wide[value_axis][3 * position + 1] <= high
    assert low <= 0 <= high


def test_csv_holds_the_exact_values(client: Client) -> None:
    recipe = simulated_recipe({0: 20, 1: 20, 2: 20}, statistic="histogram", k=2)
    response = client.get(reverse("result-csv", args=[recipe.identifier]))
    rows = list(csv.DictReader(io.StringIO(response.getvalue().decode())))
    assert [float(row["estimate"]) for row in rows] == recipe.release.values
    assert [float(row["standard_error"]) for row in rows] == recipe.release.standard_errors
    assert [float(row["truth_of_simulation"]) for row in rows] == recipe.truth.values
    assert [row["label"] for row in rows] == list(recipe.published.calibrated_statistic.labels)


def test_json_holds_the_recipe_and_the_exact_values(client: Client) -> None:
    recipe = finished_recipe([[1]] * 6)
    document = json.loads(client.get(reverse("result-json", args=[recipe.identifier])).getvalue())
    assert document["recipe"] == recipe.published.document
    assert document["estimate"] == recipe.release.values
    assert document["guarantees"] == recipe.release.guarantees
    assert "truth" not in document


def numbers_asked_for(client: Client, address: str, **headers: str) -> set[str]:
    """The columns of releases' numbers that the queries behind an answer name."""
    with CaptureQueriesContext(connection) as queries:
        response = client.get(address, **headers)
    assert response.status_code in {200, 304}
    statements = [query["sql"] for query in queries]
    assert any('"releases_release"' in statement for statement in statements)
    return {name for name in NUMBERS if any(f'"releases_release"."{name}"' in one for one in statements)}


def test_only_the_files_load_all_numbers_of_a_release(client: Client) -> None:
    recipe = finished_recipe([[1]] * 6)
    client.force_login(User.objects.create_superuser("root", password="x"))
    page = reverse("recipe", args=[recipe.identifier])
    progress = reverse("recipe-progress", args=[recipe.identifier])
    for address in ("/", "/?status=released", page, progress, "/admin/releases/release/"):
        assert numbers_asked_for(client, address) == set(), address
    for name in ("result-csv", "result-json"):
        assert numbers_asked_for(client, reverse(name, args=[recipe.identifier])) == set(NUMBERS)


@pytest.mark.parametrize("name", ["result-csv", "result-json"])
def test_file_that_the_browser_has_is_not_made_again_nor_its_numbers_loaded(
    client: Client, name: str
) -> None:
    address = reverse(name, args=[finished_recipe([[1]] * 6).identifier])
    first = client.get(address)
    assert first["Cache-Control"] == "no-cache"
    again = client.get(address, HTTP_IF_NONE_MATCH=first["ETag"])
    assert (again.status_code, again.getvalue()) == (304, b"")
    assert numbers_asked_for(client, address, HTTP_IF_NONE_MATCH=first["ETag"]) == set()
    assert client.get(address, HTTP_IF_NONE_MATCH='"another"').getvalue() == first.getvalue()


def test_file_that_was_made_before_the_truth_was_known_is_made_again(client: Client) -> None:
    recipe = finish(open_recipe([1] * 6, simulation=True))
    address = reverse("result-json", args=[recipe.identifier])
    before = client.get(address)["ETag"]
    truth_record(recipe=recipe, values=[6.0], devices=6, sampled=6)
    after = client.get(address, HTTP_IF_NONE_MATCH=before)
    assert json.loads(after.getvalue())["truth"] == [6.0]


def test_files_of_an_open_recipe_are_not_found(client: Client) -> None:
    recipe = open_recipe()
    for name in ("result-csv", "result-json"):
        assert client.get(reverse(name, args=[recipe.identifier])).status_code == 404


# Progress


def test_progress_that_is_shown_already_is_not_sent_again(client: Client) -> None:
    recipe = open_recipe([1] * 37, cohort_size=400)
    url = reverse("recipe-progress", args=[recipe.identifier])
    changed = client.get(url, {"shown": "open 20 0"})
    assert "About 30 of 400" in page_text(changed)
    shown = changed.context["shown"]
    assert shown.startswith("open 30 0 ")
    assert f"shown={quote(shown)}" in page_text(changed)
    assert client.get(url, {"shown": shown}).status_code == 204


def test_progress_of_a_recipe_that_has_closed_reloads_the_page(client: Client) -> None:
    recipe = finished_recipe([[1]] * 6)
    response = client.get(reverse("recipe-progress", args=[recipe.identifier]), {"shown": "open 0 0"})
    assert response["HX-Refresh"] == "true"


# Closing


def test_analyst_closes_a_recipe_after_a_warning(client: Client) -> None:
    recipe = open_recipe([1] * 6)
    client.force_login(analyst())
    url = reverse("recipe-close", args=[recipe.identifier])
    assert url in page_of(client, recipe)
    assert "Closing is final" in page_text(client.get(url))
    recipe.refresh_from_db()
    assert recipe.status == "published"
    client.post(url)
    recipe.refresh_from_db()
    assert recipe.status == "closed"
    assert Entry.objects.get(action="recipe_closed").actor == "ana"
    assert "Nothing was changed" in page_text(client.post(url, follow=True))


def test_nobody_else_may_close_a_recipe(client: Client) -> None:
    recipe = open_recipe()
    url = reverse("recipe-close", args=[recipe.identifier])
    assert client.post(url).status_code == 302
    assert url not in page_of(client, recipe)
    client.force_login(auditor())
    assert client.post(url).status_code == 403
    assert url not in page_of(client, recipe)
    recipe.refresh_from_db()
    assert recipe.status == "published"
    assert Entry.objects.filter(action="access_denied", actor="audrey").count() == 1


@pytest.mark.parametrize(("guarantee", "warned"), [("aggregator", True), ("local", False)])
def test_recipe_whose_single_reports_can_be_read_says_so(
    client: Client, guarantee: str, warned: bool
) -> None:
    recipe = published_recipe(statistic="mean", k=3, guarantee=guarantee, cohort_size=1_000)
    page = page_of(client, recipe)
    assert ("Single answers are hardly scrambled here" in page) is warned
    assert "not stated in ε: computational" in page


# Admin


def test_admin_shows_recipes_releases_and_entries_but_changes_none(client: Client) -> None:
    recipe = finished_recipe([[1]] * 6)
    client.force_login(User.objects.create_superuser("root", password="x"))
    for model, pk in (
        ("recipes/recipe", recipe.pk),
        ("releases/release", recipe.release.pk),
        ("audit/entry", Entry.objects.first().pk),
    ):
        assert client.get(f"/admin/{model}/").status_code == 200
        assert client.get(f"/admin/{model}/{pk}/change/").status_code == 200
        assert client.post(f"/admin/{model}/{pk}/change/", {}).status_code == 403
        assert client.post(f"/admin/{model}/{pk}/delete/", {"post": "yes"}).status_code == 403
        assert client.get(f"/admin/{model}/add/").status_code == 403


def test_admin_shows_no_draft(client: Client) -> None:
    draft, published = draft_recipe(name="Not public yet"), open_recipe(name="Public already")
    client.force_login(User.objects.create_superuser("root", password="x"))
    page = page_text(client.get("/admin/recipes/recipe/"))
    assert "Public already" in page
    assert "Not public yet" not in page
    assert client.get(f"/admin/recipes/recipe/{draft.pk}/change/").status_code == 302
    page = page_text(client.get(f"/admin/recipes/recipe/{published.pk}/change/"))
    assert "admin.css" in page
    assert "Draft:" not in page


# The frame


def test_icon_that_browsers_ask_for_unasked_is_there(client: Client) -> None:
    answer = client.get("/favicon.ico")
    assert answer.status_code == 302
    assert finders.find(answer["Location"].removeprefix("/static/"))


def test_link_to_the_log_is_shown_to_those_who_may_read_it(client: Client) -> None:
    for user, shown in ((None, False), (account("passerby"), False), (auditor(), True), (analyst(), True)):
        if user is not None:
            client.force_login(user)
        assert ('href="/audit/"' in page_text(client.get("/"))) is shown


def test_pages_load_nothing_from_elsewhere(client: Client) -> None:
    recipe = simulated_recipe({0: 20, 1: 20})
    response = client.get(reverse("recipe", args=[recipe.identifier]))
    # What to paste into pages elsewhere is text, no element.
    page = page_text(response).replace('&lt;img src="http', "")
    for attribute in ('src="http', 'src="//', 'href="//', '<link rel="stylesheet" href="http'):
        assert attribute not in page
    policy = response["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "nonce-" in policy


def test_page_of_a_fault_can_be_shown_when_nothing_else_works() -> None:
    # Django renders it without a request, a session or any variable.
    page = loader.get_template("500.html").render()
    assert "Something went wrong on our side" in page
    assert reverse("sign-in") in page
