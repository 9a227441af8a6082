import json
import re
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit
from xml.etree import ElementTree as ET

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from log.audit.models import Entry
from pages.charts.plotly import plotly_figure
from pages.publish.forms import recipe_form_class
from pages.publish.views import filled_in
from pages.recipe.charts import release_chart
from panprivacy.statistics.randomized.rare_categories import RareCategories
from recipes.models import Recipe
from results.models import NUMBERS
from results.operations import truth_record
from results.shares import shares_of
from tests.collections.pages.scene import TABS, every_tab, recipe_page, result_document, result_rows
from tests.factories import published_recipe
from tests.page_text import page_text
from tests.scenes import account, analyst, auditor, finish, finished_recipe, open_recipe, simulated_recipe

pytestmark = pytest.mark.django_db


def test_open_recipe_shows_everything_public_but_no_estimate(client: Client) -> None:
    recipe = open_recipe([1] * 37, cohort_size=400)
    for tab, texts in {
        "recipe": (recipe.question, "About 30 of 400"),
        "recipe-privacy": (
            "88% sure",
            "Someone who sees only the combined result gets from 50% sure (a coin toss) to at most",
            "If 50% of the devices collude",
        ),
        "recipe-verify": (
            recipe.identifier,
            *(entry.entry_hash for entry in Entry.objects.filter(subject=recipe.identifier)),
        ),
        "recipe-take-part": ("panprivacy.device join",),
    }.items():
        shown = recipe_page(client, recipe, tab)
        for text in texts:
            assert text in shown
    page = every_tab(client, recipe)
    assert not re.search(r"(?<![\w:.+/-])37(?![\w:.+/=-])", page)  # as a number: keys and times may have it
    assert 'aria-label="Result"' not in page


def test_public_is_shown_neither_actors_nor_salts_of_the_log(client: Client) -> None:
    actor = account("margaret-hamilton")
    recipe = finish(open_recipe([1] * 6), closed_by=actor)
    entries = list(Entry.objects.filter(subject=recipe.identifier))
    assert actor.get_username() in {entry.actor for entry in entries}
    for name in (*TABS, "result-csv", "result-json"):
        shown = client.get(reverse(name, args=[recipe.identifier])).getvalue().decode()
        assert actor.get_username() not in shown
        assert not [entry for entry in entries if not entry.salt or entry.salt in shown]


@pytest.mark.parametrize("simulated", [False, True])
def test_result_has_headline_table_provenance_and_truth_if_simulated(client: Client, simulated: bool) -> None:
    recipe = simulated_recipe({0: 10, 1: 30}) if simulated else finished_recipe([[1]] * 30 + [[0]] * 10)
    page = recipe_page(client, recipe)
    for text in ("± ", "95% interval", "66% interval", "Projection", "Download CSV", '<svg role="img"'):
        assert text in page
    assert recipe.release.software in recipe_page(client, recipe, "recipe-verify")
    for text in ("Simulation</span>", "Truth (simulation only)"):
        assert (text in page) is simulated
    joining = recipe_page(client, recipe, "recipe-take-part")
    assert ("Real devices refuse simulations" in joining) is simulated


def test_withheld_recipe_says_that_nothing_was_released_and_why(client: Client) -> None:
    recipe = finished_recipe([[1]] * 3, cohort_size=5)
    page = recipe_page(client, recipe)
    assert "Closed below 5 reports." in page
    assert "fewer reports than the cohort size of 5" in page
    document = result_document(client, recipe)
    assert document["outcome"] == "withheld"
    assert not {"reports", "values"} & set(document)
    being_asked = open_recipe([1] * 5)
    for name, missing in (
        *(("csv", recipe), ("csv", being_asked), ("json", being_asked)),
        *(("svg", recipe), ("svg", being_asked)),
    ):
        assert client.get(reverse(f"result-{name}", args=[missing.identifier])).status_code == 404


def test_what_decrypting_found_is_not_shown(client: Client) -> None:
    recipe = finished_recipe([[1]] * 6 + [[7]] * 2)
    for user in (None, auditor()):
        if user is not None:
            client.force_login(user)
        assert "Rejected" not in every_tab(client, recipe)
        page = recipe_page(client, recipe, "recipe-verify")
        assert "is replaced by a random valid one, and counts" in page


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
    percent = 100 / 60 if recipe.published.calibrated_statistic.counts_devices else 1.0
    assert dots[value_axis] == pytest.approx([percent * value for value in release.values])
    assert truth[value_axis] == pytest.approx([percent * value for value in recipe.truth.values])
    low, high = figure["layout"][layout_axis]["range"]
    for position in range(len(release.values)):
        low_end, high_end = release.intervals[0]["low"][position], release.intervals[1]["high"][position]
        assert wide[value_axis][3 * position] == pytest.approx(percent * low_end)
        assert narrow[value_axis][3 * position + 1] == pytest.approx(percent * high_end)
        assert low <= wide[value_axis][3 * position] <= wide[value_axis][3 * position + 1] <= high
    assert low <= 0 <= high


def test_files_hold_the_exact_values(client: Client) -> None:
    recipe = simulated_recipe({0: 20, 1: 20, 2: 20}, statistic="histogram", k=2)
    rows, release = result_rows(client, recipe), recipe.release
    assert [float(row["estimate"]) for row in rows] == release.values
    assert [float(row["standard_error"]) for row in rows] == release.standard_errors
    assert [float(row["truth_of_simulation"]) for row in rows] == recipe.truth.values
    assert [row["label"] for row in rows] == list(recipe.published.calibrated_statistic.labels)
    recipe = finished_recipe([[1]] * 6)
    document = result_document(client, recipe)
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
    page, *others = (reverse(tab, args=[recipe.identifier]) for tab in TABS)
    progress = reverse("recipe-progress", args=[recipe.identifier])
    for address in ("/", "/?status=released", page, *others, progress, "/admin/releases/release/"):
        assert numbers_asked_for(client, address) == set(), address
    for name in ("result-csv", "result-json"):
        assert numbers_asked_for(client, reverse(name, args=[recipe.identifier])) == set(NUMBERS)


def test_file_that_the_browser_has_is_made_again_for_a_truth_only(client: Client) -> None:
    recipe = finish(open_recipe([1] * 6, simulation=True))
    for name in ("result-csv", "result-json"):
        address = reverse(name, args=[recipe.identifier])
        first = client.get(address)
        assert first["Cache-Control"] == "no-cache"
        again = client.get(address, HTTP_IF_NONE_MATCH=first["ETag"])
        assert (again.status_code, again.getvalue()) == (304, b"")
        assert numbers_asked_for(client, address, HTTP_IF_NONE_MATCH=first["ETag"]) == set()
        assert client.get(address, HTTP_IF_NONE_MATCH='"another"').getvalue() == first.getvalue()
    truth_record(recipe=recipe, values=[6.0], devices=6, sampled=6)
    after = client.get(address, HTTP_IF_NONE_MATCH=first["ETag"])
    assert json.loads(after.getvalue())["truth"] == [6.0]


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
    # The page of a recipe that has closed is loaded again.
    finish(recipe)
    assert client.get(url, {"shown": shown})["HX-Refresh"] == "true"


# Closing


def test_analyst_closes_a_recipe_after_a_warning(client: Client) -> None:
    recipe = open_recipe([1] * 6)
    client.force_login(analyst())
    url = reverse("recipe-close", args=[recipe.identifier])
    assert url in recipe_page(client, recipe)
    assert "Closing is final" in page_text(client.get(url))
    recipe.refresh_from_db()
    assert recipe.status == "published"
    client.post(url)
    recipe.refresh_from_db()
    assert recipe.status == "closed"
    assert Entry.objects.get(action="recipe_closed").actor == "ana"
    assert "Nothing was changed" in page_text(client.post(url, follow=True))


def test_only_analysts_may_close_a_recipe(client: Client) -> None:
    recipe = open_recipe()
    url = reverse("recipe-close", args=[recipe.identifier])
    for user, status in ((None, 302), (auditor(), 403)):
        if user is not None:
            client.force_login(user)
        assert client.post(url).status_code == status
        assert url not in every_tab(client, recipe)
    recipe.refresh_from_db()
    assert recipe.status == "published"
    assert Entry.objects.filter(action="access_denied", actor="audrey").count() == 1


@pytest.mark.parametrize(("guarantee", "warned"), [("aggregator", True), ("local", False)])
def test_recipe_whose_reports_can_be_read_says_so(client: Client, guarantee: str, warned: bool) -> None:
    recipe = published_recipe(statistic="mean", k=3, guarantee=guarantee, cohort_size=1_000)
    page = recipe_page(client, recipe, "recipe-privacy")
    assert ("Single answers are hardly scrambled here" in page) is warned
    assert "Protected by encryption" in page


SVG = "{http://www.w3.org/2000/svg}"


def picture_path(recipe: Recipe) -> str:
    return reverse("result-svg", args=[recipe.identifier])


def test_picture_has_its_answer_and_nothing_that_a_policy_forbids(client: Client) -> None:
    recipe = simulated_recipe({0: 40, 1: 20}, question='Is a < b & "c"?')
    response = client.get(picture_path(recipe))
    assert response["Content-Type"] == "image/svg+xml"
    root = ET.fromstring(response.content)  # noqa: S314  # our own document
    assert root.tag == f"{SVG}svg"
    assert root.findtext(f"{SVG}title") == 'Is a < b & "c"?'
    assert "± " in (root.findtext(f"{SVG}desc") or "")
    texts = [element.text for element in root.iter(f"{SVG}text")]
    for said in ("95% interval", "truth (simulation only)", "A simulation, whose truth is known."):
        assert said in texts
    names = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert names <= {"svg", "title", "desc", "g", "rect", "path", "text"}
    attributes = {name for element in root.iter() for name in element.attrib}
    assert not [name for name in attributes if name == "style" or name.startswith("on") or "href" in name]


def test_picture_is_kept_by_everyone_and_asked_for_by_its_hash(client: Client) -> None:
    path = picture_path(finished_recipe([[1]] * 30))
    response = client.get(path)
    assert response["Cache-Control"] == "public, max-age=3600"
    assert "Cookie" not in response.get("Vary", "")
    assert response["Cross-Origin-Resource-Policy"] == "cross-origin"
    again = client.get(path, HTTP_IF_NONE_MATCH=response["ETag"])
    assert again.status_code == 304
    assert again.content == b""


def test_line_to_paste_names_the_picture_and_says_what_it_shows(client: Client) -> None:
    recipe = finished_recipe([[1]] * 30, question='"Late"?')
    page = page_text(client.get(reverse("recipe", args=[recipe.identifier])))
    assert f'src="http://testserver{picture_path(recipe)}"' in page
    # As the text of a page, the line reads alt="&quot;Late&quot;? …".
    assert 'alt="&amp;quot;Late&amp;quot;? ' in page


NONE, RARE = [1, 0, 0], [0, 1, 0]
CATEGORIES = {"statistic": "categories", "steps": None, "k": 3, "epsilon": 8.0}
HISTOGRAM = {"statistic": "histogram", "k": 2, "epsilon": 8.0}


def rarely_link(client: Client, recipe: Recipe) -> str:
    """Where the page asks for the rare categories of a result."""
    page = client.get(reverse("recipe", args=[recipe.identifier]))
    return str(page.context.get("rarely"))


def test_the_form_starts_with_the_share_that_the_result_has(client):
    recipe = finished_recipe([NONE] * 90 + [RARE] * 10, **CATEGORIES)
    page = client.get(reverse("recipe", args=[recipe.identifier])).content.decode()
    assert "For its rare categories" not in page, "only analysts publish"
    client.force_login(analyst())
    assert "For its rare categories" in recipe_page(client, recipe)
    address = rarely_link(client, recipe)
    shares = shares_of(recipe, recipe.release)
    rare = 1 - shares.share(recipe.release.values[0])
    query = parse_qs(urlsplit(address).query)
    assert float(query["rare_share"][0]) == pytest.approx(rare, rel=5e-3)
    form = client.get(address).context["form"]
    assert form["rare_share"].value() == query["rare_share"][0]
    assert (form["devices"].value(), form["k"].value()) == (100, 3)
    assert form["population_size"].value() == 100
    others = int(query["counted_devices"][0]) / 2 / 100 / float(query["rare_share"][0])
    assert 0.75 <= others < 1, "the others count for certain, or seldom: categories would do better"
    assert form["population"].value() == recipe.published.population


def test_no_form_of_rare_categories_if_none_are_rare(client: Client) -> None:
    client.force_login(analyst())
    for values, asked in (
        ([RARE] * 90 + [NONE] * 10, CATEGORIES),
        ([NONE] * 100, CATEGORIES),
        ([NONE] * 90 + [RARE] * 10, HISTOGRAM),
    ):
        assert rarely_link(client, finished_recipe(values, **asked)) == ""


def test_form_starts_where_plain_categories_would_do_no_better() -> None:
    form = filled_in(recipe_form_class(RareCategories), {})
    form.is_valid()
    assert "would do better" not in form.statistic().partial_errors.remark(
        form.cleaned_data["population_size"]
    )
