"""An event's name and labels, from the form to the result's files; and shares beside counts."""

import json
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from log.audit.models import Entry
from pages.publish.forms import recipe_form_class
from pages.recipe.charts import release_chart
from pages.recipe.presentation import estimate_rows, headline
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.statistics.events.count_nonzero import CountNonzero
from panprivacy.statistics.events.histogram import Histogram
from recipes.models import Recipe
from results.excerpt import interval_of
from results.shares import shares_of
from tests.collections.pages.scene import (
    form_data,
    new_url,
    publish,
    recipe_page,
    result_document,
    result_rows,
)
from tests.page_text import page_text
from tests.scenes import finished_recipe, simulated_recipe

pytestmark = pytest.mark.django_db

LABELS = ["never", "once", "twice & more"]
FORM = form_data(
    name="Forms",
    question="How often was <Order> opened?",
    event="form.opened",
    event_definition="Someone opened the form <Order>.",
    labels="never\r\nonce \r\ntwice & more\r\n\r\n",
    k="2",
    target_margin="2.5",
    action="save",
)
BUCKETS: dict[str, Any] = {"statistic": "histogram", "k": 2, "labels": LABELS, "event": "form.opened"}


def test_event_and_labels_pass_from_form_to_signed_document(signed_in: Client) -> None:
    review = page_text(signed_in.post(new_url("histogram"), FORM, follow=True))
    draft = Recipe.objects.get()
    assert (draft.draft["event"], draft.draft["labels"]) == ("form.opened", LABELS)
    assert draft.draft["target_margin"] == 2.5
    named = ("form.opened", "the form &lt;Order&gt;.", "never; once; twice &amp; more", "was &lt;Order&gt;")
    for said in (*named, "wanted ± 2.5 points"):
        assert said in review
    assert "<Order>" not in review
    response = signed_in.get(reverse("recipe-draft-edit", args=[draft.pk]))
    edited, form = page_text(response), response.context["form"]
    assert recipe_form_class(form.mechanism)({**form.initial}).is_valid(), "as its preview is computed"
    assert "never once twice &amp; more</textarea>" in edited, "with one space for each line break"
    opened = edited.split('<details class="folded" open>')[1]
    assert "Definition of the event" in opened
    assert "Labels" in opened
    publish(signed_in, draft)
    recipe = Recipe.objects.get()
    document = PublishedRecipe.from_document(json.loads(recipe.document)).document
    assert document["event"] == "form.opened"
    assert document["event_definition"] == "Someone opened the form <Order>."
    assert document["labels"] == LABELS
    assert not {"population_size", "target_margin"} & document.keys()
    page = recipe_page(signed_in, recipe)
    assert '<a href="/?event=form.opened"><code><bdi>form.opened</bdi></code></a>' in page
    assert "wanted ± 2.5 points" in page
    assert Entry.objects.filter(details__has_key="event").exists(), "the log says what a draft became"


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"event": "Form opened"}, "event", "1 to 60 of the characters a-z, 0-9, dot, _ and -"),
        ({"labels": "never\r\nonce"}, "labels", "Must be 3, one for each value from “0 events”"),
        ({"labels": "a\r\n\r\nb"}, "labels", "one line of 1 to 60 characters each"),
        ({"labels": "a\r\nb\r\na"}, "labels", "is repeated"),
        ({"labels": "x\r\n" * 2_000}, "labels", "at most 1,001 lines"),
        ({"labels": "a\x00\r\nb\r\nc"}, "labels", "Line 1: must be UTF-8 text without NUL characters"),
        ({"event": ""}, "event", "Is missing"),
        ({"target_margin": "0"}, "target_margin", "from 1e-6 to 1,000"),
    ],
)
def test_impossible_names_land_on_their_field_and_nothing_is_lost(
    signed_in: Client, changes: dict[str, str], field: str, said: str
) -> None:
    response = signed_in.post(new_url("histogram"), {**FORM, **changes})
    assert response.status_code == 422
    page = page_text(response)
    error = page.split(f'id="id_{field}_error">')[1].split("</p>")[0]
    assert said in error
    assert "the form &lt;Order&gt;." in page
    assert page.count('<details class="folded" open>') >= 1
    assert not Recipe.objects.exists()


def test_label_that_is_a_formula_runs_in_no_spreadsheet(client: Client) -> None:
    """An analyst could run one on the machine of a visitor that opens the file of a result."""
    labels = ['=HYPERLINK("https://evil.example")', "=<script>alert(1)</script>", "+1"]
    recipe = simulated_recipe({0: 50}, cohort_size=50, epsilon=4.0, **{**BUCKETS, "labels": labels})
    table = result_rows(client, recipe)
    assert [line["value_label"] for line in table] == [f"'{label}" for label in labels]
    picture = client.get(reverse("result-svg", args=[recipe.identifier])).content.decode()
    assert "=&lt;script&gt;alert(1)" in picture
    assert "<script" not in picture


@pytest.mark.parametrize(
    ("changes", "of", "said"),
    [({"population_size": 120}, 100, "100 devices"), ({"sampling_rate": 0.25}, 400, "about 400 devices")],
)
def test_headline_of_a_count_is_a_share_of_the_devices_that_heard(
    client: Client, changes: dict[str, Any], of: int, said: str
) -> None:
    recipe = finished_recipe([[1]] * 60 + [[0]] * 40, cohort_size=50, epsilon=4.0, **changes)
    shares, stated = shares_of(recipe, recipe.release), interval_of(recipe.release)
    assert shares is not None
    assert shares.of == of
    assert re.match(rf"\d.*% ± .* points of {said} \(", headline(recipe, recipe.release).text)
    for end in (*shares.interval(stated).low, *shares.interval(stated).high):
        assert 0 <= end <= 1
    planned = {"population_size": 120} if "population_size" in changes else None
    assert result_document(client, recipe)["plan"] == planned


def test_impossible_count_is_its_interval_and_a_mean_has_no_share(client: Client) -> None:
    recipe = finished_recipe([[1]] * 60, cohort_size=50, epsilon=1.0)
    said = headline(recipe, recipe.release).text
    assert re.fullmatch(r"\d+\.?\d*% to 100% of 60 devices \(\d+ to 60\)", said)
    mean = finished_recipe([[3]] * 60, cohort_size=50, statistic="mean", k=3, guarantee="local")
    assert shares_of(mean, mean.release) is None
    document = result_document(client, mean)
    assert (document["share_of"], document["share"], document["share_interval"]) == (None, None, None)
    assert "Share of" not in recipe_page(client, mean)


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
    document = result_document(client, recipe)
    assert document["share_interval"] is None
    assert len(document["share"]) == len(values[0])
    table = result_rows(client, recipe)
    assert {line["share_low_95"] for line in table} == {""}
    page = recipe_page(client, recipe)
    assert '<th scope="col">Share of about 60 devices</th>' in page


def test_labels_name_rows_chart_headline_and_files_and_counts_are_shares(client: Client) -> None:
    counted = simulated_recipe({0: 30, 1: 20, 4: 10}, cohort_size=50, epsilon=4.0, **BUCKETS)
    rows = estimate_rows(counted, counted.release, counted.truth)
    assert [row.label for row in rows] == LABELS
    (panel,) = release_chart(counted, counted.release, None).panels
    assert list(panel.x.categories) == LABELS
    said = headline(counted, counted.release)
    assert re.fullmatch(r"never: \d.*% ± \d.* points of 60 devices, .*more than the other 2", said.text)
    assert said.level == "95% for all values together"
    document, table = result_document(client, counted), result_rows(client, counted)
    assert document["labels"] == ["0 events", "1 event", "2 or more events"]
    assert document["value_labels"] == LABELS
    assert (document["event"], document["event_definition"]) == ("form.opened", None)
    assert [line["label"] for line in table] == document["labels"]
    assert [line["value_label"] for line in table] == LABELS
    assert {line["event"] for line in table} == {"form.opened"}
    assert document["share_of"] == 60
    assert document["share"] == pytest.approx([value / 60 for value in document["estimate"]])
    interval, scaled = document["interval"], document["share_interval"]
    assert (scaled["level"], scaled["together"]) == (interval["level"], 3)
    for end in ("low", "high"):
        assert scaled[end] == pytest.approx([min(max(at / 60, 0), 1) for at in interval[end]])
    assert [float(line["share"]) for line in table] == document["share"]
    assert [float(line["share_high_95"]) for line in table] == scaled["high"]
    page = recipe_page(client, counted)
    assert '<th scope="col">Share of 60 devices, 95% interval for all values together</th>' in page
    assert "Planned: <strong>± " in page
