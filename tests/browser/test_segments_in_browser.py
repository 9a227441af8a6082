"""Segments in a browser: written into the form, planned, and read from a result."""

from collections.abc import Callable

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from recipes.models import Recipe
from releases.operations import truth_record
from tests.scenes import PASSWORD, analyst, finished_recipe

from .accessibility import violations
from .conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Visit = Callable[..., Visitor]

VERSIONS = ["2.0 (control)", "2.1 (new start screen)", "nightly"]
WIDE = {"width": 1200, "height": 900}
NARROW = {"width": 400, "height": 800}


def ab_test() -> Recipe:
    """Two large segments, which differ, and a small one."""
    cells = {0: 90, 1: 60, 2: 140, 3: 10, 5: 3}
    rows = [[int(cell == place) for cell in range(6)] for place, times in cells.items() for _ in range(times)]
    recipe = finished_recipe(rows, simulation=True, segments=VERSIONS, cohort_size=60, epsilon=4.0)
    counted = [(150, 60.0), (150, 10.0), (3, 3.0)]
    truths = [
        {"label": label, "devices": devices, "answers": [having]}
        for label, (devices, having) in zip(VERSIONS, counted, strict=True)
    ]
    truth_record(recipe=recipe, values=[73.0], devices=303, sampled=303, segments=truths)
    return recipe


def buckets() -> Recipe:
    """Three answers in each of two segments."""
    cells = {0: 90, 1: 60, 2: 30, 3: 40, 4: 50, 5: 90}
    rows = [[int(cell == place) for cell in range(6)] for place, times in cells.items() for _ in range(times)]
    return finished_recipe(
        rows,
        segments=VERSIONS[:2],
        statistic="histogram",
        k=2,
        labels=["never", "once", "more often"],
        cohort_size=60,
        epsilon=4.0,
    )


@pytest.mark.parametrize(("scheme", "size"), [("light", WIDE), ("dark", NARROW)])
def test_result_by_segment_is_shown_with_its_charts(visit: Visit, scheme: str, size: dict[str, int]) -> None:
    visitor = visit(color_scheme=scheme, viewport=size)
    page = visitor.open(reverse("recipe", args=[ab_test().identifier]))
    section = page.get_by_role("region", name="By segment")
    expect(section.get_by_role("img").first).to_be_visible()
    expect(section.get_by_text("more than noise")).to_be_visible()
    expect(section.get_by_role("listitem")).to_contain_text("nightly: it may have had fewer than 60 devices")
    assert violations(visitor) == []
    page = visitor.open(reverse("recipe", args=[buckets().identifier]))
    expect(page.get_by_role("region", name="By segment").get_by_role("row")).to_have_count(7)
    assert violations(visitor) == []


def test_result_by_segment_is_there_without_javascript(visit: Visit) -> None:
    page = visit(java_script_enabled=False).open(reverse("recipe", args=[ab_test().identifier]))
    section = page.get_by_role("region", name="By segment")
    expect(section.get_by_role("img").first).to_be_visible()
    expect(section.get_by_role("row")).to_have_count(3)


def test_segments_are_written_into_the_folded_part_and_planned_at_once(visit: Visit) -> None:
    analyst()
    visitor = visit()
    visitor.sign_in("ana", PASSWORD)
    page = visitor.open(f"{reverse('recipe-new')}?statistic=count_nonzero")
    page.get_by_text("More: Definition of the event").click()
    with page.expect_response("**/preview/**"):
        page.get_by_label("Segments").fill("2.0\n2.1\n")
        page.get_by_label("Segments").blur()
    expect(page.get_by_text("By segment, if each of the 2 has 5,000 devices")).to_be_visible()
    assert violations(visitor) == []
