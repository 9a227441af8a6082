"""A regular question's page reads like an answer, and its files have the derived numbers."""

import csv
import io
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from recipes.models import Recipe
from tests.collections.pages.scene import recipe_page, result_document, result_rows
from tests.page_text import page_text
from tests.scenes import finished_recipe, simulated_recipe

pytestmark = pytest.mark.django_db

COMMON: dict[str, Any] = {"event": None, "epsilon": 12.0, "cohort_size": 20, "steps": None}

ASKED: dict[str, tuple[dict[str, Any], dict[int, int], str]] = {
    "funnel": (
        {"events": ["search", "buy"], "steps": 4},
        {0: 40, 1: 40, 2: 20},
        "points had search; of those",
    ),
    "retention": (
        {"event": "open", "period_steps": 2, "periods": 2},
        {1: 40, 3: 30, 4: 30},
        "points still had it in period 2",
    ),
    "time_to_first": (
        {"event": "open", "within": [1, 3], "steps": 4},
        {0: 20, 3: 60, 4: 20},
        "half of all had it within 1 step",
    ),
    "longest_streak": (
        {"event": "open", "longest": 2, "steps": 4},
        {0: 50, 3: 50},
        "points had it in 2 steps in a row or more",
    ),
    "both": (
        {"events": ["a", "b"], "steps": 4},
        {0: 40, 1: 20, 2: 20, 3: 20},
        "of those with b,",
    ),
}


def asked(statistic: str) -> Recipe:
    members, devices, _ = ASKED[statistic]
    return simulated_recipe(devices, statistic=statistic, **(COMMON | members))


@pytest.mark.parametrize("statistic", ASKED)
def test_page_of_a_question_reads_like_an_answer(client: Client, statistic: str) -> None:
    recipe = asked(statistic)
    page = page_text(client.get(reverse("recipe", args=[recipe.identifier])))
    assert "Of 100 devices " in page
    assert ASKED[statistic][2] in page
    assert "Shares and what follows from them" in page


def test_files_have_the_derived_numbers(client: Client) -> None:
    recipe = asked("funnel")
    text = client.get(reverse("result-csv", args=[recipe.identifier]))
    content = b"".join(text.streaming_content).decode()  # type: ignore[attr-defined]  # in pieces
    rows = {row["label"]: row for row in csv.DictReader(io.StringIO(content))}
    assert rows["buy of those with search"]["unit"] == "share"
    # At ε = 12 a report is drawn with 1.8e-5: of 100, three with less than 1e-9.
    assert float(rows["buy of those with search"]["estimate"]) == pytest.approx(1 / 3, abs=0.04)
    assert float(rows["search"]["low_95"]) <= 0.6 <= float(rows["search"]["high_95"])
    document = client.get(reverse("result-json", args=[recipe.identifier]))
    said = b"".join(document.streaming_content).decode()  # type: ignore[attr-defined]  # in pieces
    assert '"reached_2_of_1"' in said
    assert '"event": "search, buy"' in said
    assert '"events": ["search", "buy"]' in said


def test_files_and_page_have_the_derived_numbers_of_each_segment(client: Client) -> None:
    # Cells by segment: none, as far as search, all in order.
    devices = [20, 10, 30, 15, 30, 15, 1, 0, 1]
    rows = [
        [int(at == cell) for at in range(9)] for cell, number in enumerate(devices) for _ in range(number)
    ]
    labels = ["Android", "iOS <b>", "few"]
    members: dict[str, Any] = {"events": ["search", "buy"], "steps": 4, "segments": labels}
    recipe = finished_recipe(rows, simulation=True, statistic="funnel", **COMMON | members)
    android, ios, few = result_document(client, recipe)["segments"]
    (bought,) = (one for one in android["derived"] if one["name"] == "reached_2_of_1")
    assert bought["value"] == pytest.approx(30 / 40, abs=0.03)
    assert bought["low"] <= 30 / 40 <= bought["high"]
    assert (few["shown"], few["derived"]) == (False, [])
    lines = [row for row in result_rows(client, recipe) if row["label"] == "buy of those with search"]
    assert [(row["segment"], row["unit"]) for row in lines] == [
        ("", "share"),
        ("Android", "share"),
        ("iOS <b>", "share"),
    ]
    for row, told in zip(lines[1:], (android, ios), strict=True):
        (stated,) = (one for one in told["derived"] if one["name"] == "reached_2_of_1")
        numbers = [float(row[name]) for name in ("estimate", "low_95", "high_95", "level")]
        assert numbers == [stated["value"], stated["low"], stated["high"], 0.95]
    page = recipe_page(client, recipe)
    assert "Of the devices of these segments " in page
    table = page[page.index('aria-label="Answer by segment"') :].split("</table>")[0]
    assert '<td data-label="buy of those with search">75' in table
    assert "iOS &lt;b&gt;" in table
    assert "few" not in table
