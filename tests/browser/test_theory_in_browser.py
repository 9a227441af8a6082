from collections.abc import Callable

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from pages.charts.plotly import plotly_figure
from pages.papers.figures import described
from research.theory.results import committed

from .accessibility import violations
from .conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Visit = Callable[..., Visitor]


def test_page_of_the_theory_draws_every_curve_in_a_colour_of_its_own_and_is_accessible(
    visit: Visit,
) -> None:
    visitor = visit(color_scheme="dark", viewport={"width": 400, "height": 900})
    page = visitor.open(reverse("theory"))
    charts = [chart for entry in committed()["demonstrations"] for chart in entry["charts"]]
    for button in page.locator(".explore button").all():
        button.click()
    expect(page.locator(".chart .legend")).to_have_count(len(charts))
    for chart, element in zip(charts, page.locator(".chart").all(), strict=True):
        points = element.locator(".scatterlayer .point").evaluate_all(
            # Marks that are strokes alone have no fill.
            "points => points.map((point) => getComputedStyle(point)).map("
            "(style) => style.fill === 'none' ? style.stroke : style.fill)"
        )
        lines = element.locator(".scatterlayer .js-line").evaluate_all(
            "lines => lines.map((line) => getComputedStyle(line).stroke)"
        )
        traces = plotly_figure(described(chart))["data"]
        dotted = [trace for trace in traces if "markers" in trace["mode"]]
        assert len(points) == sum(y is not None for trace in dotted for y in trace["y"])
        assert len(lines) == sum("lines" in trace["mode"] for trace in traces)
        assert len({*points, *lines}) == len(chart["curves"])
    assert violations(visitor) == []
