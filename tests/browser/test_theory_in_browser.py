from collections.abc import Callable

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from panprivacy.theory.results import committed

from .conftest import Visitor
from .test_pages_in_browser import accessibility_violations

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Visit = Callable[..., Visitor]


def test_page_of_the_theory_draws_every_curve_in_a_colour_of_its_own_and_is_accessible(
    visit: Visit,
) -> None:
    visitor = visit(color_scheme="dark", viewport={"width": 400, "height": 900})
    page = visitor.open(reverse("theory"))
    charts = [chart for entry in committed()["demonstrations"] for chart in entry["charts"]]
    expect(page.locator(".chart .legend")).to_have_count(len(charts))
    for chart, element in zip(charts, page.locator(".chart").all(), strict=True):
        strokes = element.locator(".scatterlayer .point").evaluate_all(
            "points => points.map((point) => getComputedStyle(point).fill)"
        )
        assert len(strokes) == sum(y is not None for curve in chart["curves"] for y in curve["y"])
        assert len(set(strokes)) == len(chart["curves"])
    assert accessibility_violations(visitor) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 400
