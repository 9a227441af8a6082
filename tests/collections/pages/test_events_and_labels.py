"""An event's name and labels, from the form to the result's files; and shares beside counts."""

import csv
import io
import json
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from audit.models import Entry
from pages.publish.forms import recipe_form_class
from pages.recipe.charts import release_chart
from pages.recipe.presentation import estimate_rows, headline
from panprivacy.mechanisms.count_nonzero import CountNonzero
from panprivacy.mechanisms.histogram import Histogram
from panprivacy.recipe import PublishedRecipe
from recipes.models import Recipe
from releases.selectors import interval_of
from releases.shares import shares_of
from tests.factories import published_recipe
from tests.page_text import page_text
from tests.scenes import analyst, finished_recipe, simulated_recipe

pytestmark = pytest.mark.django_db

LABELS = ["never", "once", "twice & more"]
FORM = {
    "name": "Forms",
    "question": "How often was the form opened?",
    "event": "form.opened",
    "event_definition": "Someone opened the form <Order>.",
    "labels": "never\r\nonce \r\ntwice & more\r\n\r\n",
    "k": "2",
    "steps": "7",
    "step_seconds": "86400",
    "epsilon": "1",
    "delta": "1e-6",
    "population": "everyone",
    "population_size": "10000",
    "target_margin": "2.5",
    "sampling_rate": "1",
    "cohort_size": "1000",
    "encryption": "elgamal-secp256k1",
    "action": "save",
}
BUCKETS: dict[str, Any] = {"statistic": "histogram", "k": 2, "labels": LABELS, "event": "form.opened"}


@pytest.fixture
def signed_in(client: Client) -> Client:
    client.force_login(analyst())
    return client


def new_url(statistic: str = "histogram") -> str:
    return f"{reverse('recipe-new')}?statistic={statistic}"


def test_event_and_labels_pass_from_the_form_to_the_signed_document(signed_in: Client) -> None:
    review = page_text(signed_in.post(new_url(), FORM, follow=True))
    draft = Recipe.objects.get()
    assert (draft.draft["event"], draft.draft["labels"]) == ("form.opened", LABELS)
    assert draft.draft["target_margin"] == 2.5
    for said in (
        "form.opened",
        "the form &lt;Order&gt;.",
        "never; once; twice &amp; more",
        "wanted ± 2.5 points",
    ):
        assert said in review
    response = signed_in.get(reverse("recipe-draft-edit", args=[draft.pk]))
    edited, form = page_text(response), response.context["form"]
    assert recipe_form_class(form.mechanism)({**form.initial}).is_valid(), "as its preview is computed"
    assert "never once twice &amp; more</textarea>" in edited, "with one space for each line break"
    opened = edited.split('<details class="folded" open>')[1].split("</summary>")[0]
    assert "More: Definition of the event, Labels" in opened
    signed_in.post(reverse("recipe-publish", args=[draft.pk]), {"reviewed": draft.draft_hash})
    recipe = Recipe.objects.get()
    document = PublishedRecipe.from_document(json.loads(recipe.document)).document
    assert document["event"] == "form.opened"
    assert document["event_definition"] == "Someone opened the form <Order>."
    assert document["labels"] == LABELS
    assert not {"population_size", "target_margin"} & document.keys()
    page = page_text(signed_in.get(reverse("recipe", args=[recipe.identifier])))
    assert '<a href="/?event=form.opened"><code>form.opened</code></a>' in page
    assert "wanted ± 2.5 points" in page
    assert Entry.objects.filter(details__has_key="event").exists(), "the log says what a draft became"


@pytest.mark.searches
@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"event": "Form opened"}, "event", "1 to 60 of the characters a-z, 0-9, dot, _ and -"),
        ({"event": "Form opened", "epsilon": "50"}, "event", "1 to 60 of the characters"),
        ({"labels": "never\r\nonce"}, "labels", "Must be 3, one for each value from “0 events”"),
        ({"labels": "a\r\n\r\nb"}, "labels", "one line of 1 to 60 characters each"),
        ({"labels": "a\r\nb\r\na"}, "labels", "stands twice"),
        ({"labels": "x\r\n" * 2_000}, "labels", "at most 1,001 lines"),
        ({"labels": "a\x00\r\nb\r\nc"}, "labels", "Line 1: must be UTF-8 text without NUL characters"),
        ({"event": ""}, "event", "Is missing"),
        ({"target_margin": "0"}, "target_margin", "from 1e-6 to 1,000"),
    ],
)
def test_impossible_names_land_on_their_field_and_nothing_is_lost(
    signed_in: Client, changes: dict[str, str], field: str, said: str
) -> None:
    response = signed_in.post(new_url(), {**FORM, **changes})
    assert response.status_code == 422
    page = page_text(response)
    error = page.split(f'id="id_{field}_error">')[1].split("</p>")[0]
    assert said in error
    assert "the form &lt;Order&gt;." in page
    assert page.count('<details class="folded" open>') >= 1
    assert not Recipe.objects.exists()


def test_new_form_shows_the_event_and_folds_what_most_recipes_do_without(signed_in: Client) -> None:
    page = page_text(signed_in.get(new_url()))
    assert page.count('<details class="folded">') >= 2
    assert '<details class="folded" open>' not in page
    assert 'name="labels"' in page
    assert 'name="labels"' not in page_text(signed_in.get(new_url("count_nonzero")))


@pytest.mark.searches
def test_list_of_recipes_names_events_and_finds_them(client: Client) -> None:
    published_recipe(event="form.opened")
    published_recipe()
    found = client.get("/api/v1/recipes/").json()["results"]
    assert [recipe["event"] for recipe in found] == [None, "form.opened"]
    (named,) = client.get("/api/v1/recipes/", {"search": "form.opened"}).json()["results"]
    assert named["event"] == "form.opened"
    assert "form" in page_text(client.get("/", {"q": "form.opened"}))


def test_label_that_is_a_formula_runs_in_no_spreadsheet(client: Client) -> None:
    """Whoever published a recipe could run one on the machine of whoever opened the file of its result."""
    labels = ['=HYPERLINK("https://evil.example")', "=<script>alert(1)</script>", "+1"]
    recipe = simulated_recipe(
        {0: 30, 1: 20, 4: 10}, cohort_size=50, epsilon=4.0, **{**BUCKETS, "labels": labels}
    )
    lines = client.get(reverse("result-csv", args=[recipe.identifier]))
    table = list(csv.DictReader(io.StringIO(b"".join(lines.streaming_content).decode())))
    assert [line["value_label"] for line in table] == [f"'{label}" for label in labels]
    picture = client.get(reverse("result-svg", args=[recipe.identifier])).content.decode()
    assert "=&lt;script&gt;alert(1)" in picture
    assert "<script" not in picture


def test_labels_name_rows_chart_and_files(client: Client) -> None:
    recipe = simulated_recipe({0: 30, 1: 20, 4: 10}, cohort_size=50, epsilon=4.0, **BUCKETS)
    rows = estimate_rows(recipe, recipe.release, recipe.truth)
    assert [row.label for row in rows] == LABELS
    (panel,) = release_chart(recipe, recipe.release, None).panels
    assert list(panel.x.categories) == LABELS
    result = client.get(reverse("result-json", args=[recipe.identifier]))
    document = json.loads(b"".join(result.streaming_content))
    assert document["labels"] == ["0 events", "1 event", "2 or more events"], "as before"
    assert document["value_labels"] == LABELS
    assert (document["event"], document["event_definition"]) == ("form.opened", None)
    assert document["plan"] is None
    lines = client.get(reverse("result-csv", args=[recipe.identifier]))
    table = list(csv.DictReader(io.StringIO(b"".join(lines.streaming_content).decode())))
    assert [line["label"] for line in table] == document["labels"]
    assert [line["value_label"] for line in table] == LABELS
    assert {line["event"] for line in table} == {"form.opened"}


def test_counts_of_devices_are_shares_too_with_the_interval_of_the_counts(client: Client) -> None:
    recipe = simulated_recipe({0: 30, 1: 20, 4: 10}, cohort_size=50, epsilon=4.0, **BUCKETS)
    result = client.get(reverse("result-json", args=[recipe.identifier]))
    document = json.loads(b"".join(result.streaming_content))
    assert document["share_of"] == 60
    assert document["share"] == pytest.approx([value / 60 for value in document["estimate"]])
    interval, scaled = document["interval"], document["share_interval"]
    assert (scaled["level"], scaled["together"]) == (interval["level"], 3)
    for end in ("low", "high"):
        assert scaled[end] == pytest.approx([min(max(at / 60, 0), 1) for at in interval[end]])
    lines = client.get(reverse("result-csv", args=[recipe.identifier]))
    table = list(csv.DictReader(io.StringIO(b"".join(lines.streaming_content).decode())))
    assert [float(line["share"]) for line in table] == document["share"]
    assert [float(line["share_high_95"]) for line in table] == scaled["high"]
    page = page_text(client.get(reverse("recipe", args=[recipe.identifier])))
    assert '<th scope="col">Share of 60 devices, 95% interval for all values together</th>' in page
    assert "Planned: <strong>± " in page


def test_headline_of_a_histogram_says_every_value_jointly() -> None:
    recipe = simulated_recipe({0: 30, 1: 20, 4: 10}, cohort_size=50, epsilon=4.0, **BUCKETS)
    said = headline(recipe, recipe.release)
    for label in LABELS:
        assert f"{label}: " in said.text
    assert said.text.count("%") == 3
    assert " points of 60 devices" in said.text
    assert said.level == "95% for all values together"


def test_home_card_of_a_histogram_says_its_answer(client: Client) -> None:
    simulated_recipe({0: 30, 1: 20, 4: 10}, cohort_size=50, epsilon=4.0, **BUCKETS)
    card = page_text(client.get("/")).split('class="latest">')[1].split("</p>")[0]
    assert card.startswith("never: ")
    assert "twice &amp; more: " in card


def test_headline_of_a_count_is_a_share_first_and_the_file_has_the_plan(client: Client) -> None:
    recipe = finished_recipe([[1]] * 60 + [[0]] * 40, cohort_size=50, epsilon=4.0, population_size=120)
    result = client.get(reverse("result-json", args=[recipe.identifier]))
    assert json.loads(b"".join(result.streaming_content))["plan"] == {"population_size": 120}
    said = headline(recipe, recipe.release).text
    assert said.startswith("6")
    assert "% ± " in said
    assert " points of 100 devices (" in said


def test_headline_of_a_count_beyond_what_there_can_be_is_its_interval_as_a_share_too() -> None:
    recipe = finished_recipe([[1]] * 60, cohort_size=50, epsilon=1.0)
    assert re.fullmatch(
        r"\d+\.?\d*% to 100% of 60 devices \(\d+ to 60\)", headline(recipe, recipe.release).text
    )


def test_share_of_sampled_devices_is_of_about_as_many_as_heard() -> None:
    recipe = finished_recipe([[1]] * 60 + [[0]] * 40, cohort_size=50, epsilon=4.0, sampling_rate=0.25)
    shares = shares_of(recipe, recipe.release)
    assert shares is not None
    assert shares.of == 400
    assert " points of about 400 devices (" in headline(recipe, recipe.release).text
    stated = interval_of(recipe.release)
    assert stated is not None
    for end in (*shares.interval(stated).low, *shares.interval(stated).high):
        assert end is not None
        assert 0 <= end <= 1


@pytest.mark.parametrize("changes", [{}, BUCKETS])
def test_share_of_a_noisy_number_of_reports_has_no_interval(
    client: Client, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    for statistic in (CountNonzero, Histogram):
        monkeypatch.setattr(statistic, "noisy_count", True)
    values = [[1, 0, 0]] * 30 + [[0, 1, 0]] * 30 if changes else [[1]] * 30 + [[0]] * 30
    recipe = finished_recipe(values, cohort_size=50, epsilon=4.0, **changes)
    said = headline(recipe, recipe.release).text
    assert "of about 60 devices" in said
    assert "points" not in said
    result = client.get(reverse("result-json", args=[recipe.identifier]))
    document = json.loads(b"".join(result.streaming_content))
    assert document["share_interval"] is None
    assert len(document["share"]) == len(values[0])
    lines = client.get(reverse("result-csv", args=[recipe.identifier]))
    table = list(csv.DictReader(io.StringIO(b"".join(lines.streaming_content).decode())))
    assert {line["share_low_95"] for line in table} == {""}
    page = page_text(client.get(reverse("recipe", args=[recipe.identifier])))
    assert '<th scope="col">Share of about 60 devices</th>' in page


def test_mean_has_no_share(client: Client) -> None:
    recipe = finished_recipe([[3]] * 60, cohort_size=50, statistic="mean", k=3, guarantee="local")
    assert shares_of(recipe, recipe.release) is None
    result = client.get(reverse("result-json", args=[recipe.identifier]))
    document = json.loads(b"".join(result.streaming_content))
    assert (document["share_of"], document["share"], document["share_interval"]) == (None, None, None)
    assert "Share of" not in page_text(client.get(reverse("recipe", args=[recipe.identifier])))
