"""Charts of the papers and of the theory: a colour for each line, with and without scripts."""

from collections.abc import Callable

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from pages.charts.plotly import plotly_figure
from pages.papers.figures import described
from research.reproduction.results import committed as papers
from research.statements import Role
from research.theory.results import committed as theory

from .accessibility import violations
from .conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Visit = Callable[..., Visitor]

COLOURS = {
    "light": {"sampled": "rgb(0, 114, 178)", "aggregated": "rgb(213, 94, 0)"},
    "dark": {"sampled": "rgb(86, 180, 233)", "aggregated": "rgb(233, 138, 75)"},
}
STROKES = "lines => lines.map((line) => getComputedStyle(line).stroke)"
# Marks that are strokes alone have no fill.
FILLS = (
    "points => points.map((point) => getComputedStyle(point)).map("
    "(style) => style.fill === 'none' ? style.stroke : style.fill)"
)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 390)])
def test_every_line_of_the_papers_has_the_colour_of_its_role(visit: Visit, scheme: str, width: int) -> None:
    visitor = visit(color_scheme=scheme, viewport={"width": width, "height": 900})
    page = visitor.open(reverse("papers"))
    figures = papers()["figures"]
    for button in page.locator(".explore button").all():
        button.click()
    expect(page.locator(".chart .legend")).to_have_count(len(figures))
    for figure, element in zip(figures, page.locator(".chart").all(), strict=True):
        roles = [series["role"] for panel in figure["panels"] for series in panel["series"]]
        drawn = [role for role in roles if role != Role.MEASURED]  # measurements are points
        strokes = element.locator(".scatterlayer .js-line").evaluate_all(STROKES)
        assert len(strokes) == len(drawn)
        for role, colour in COLOURS[scheme].items():
            assert strokes.count(colour) == drawn.count(role)
        assert len(set(strokes)) == len(set(drawn)), "a colour for each role"
    assert violations(visitor) == []


def test_page_of_the_papers_says_the_same_without_scripts(visit: Visit) -> None:
    page = visit(java_script_enabled=False).open(reverse("papers"))
    expect(page.get_by_role("img").first).to_be_visible()
    page.get_by_text("The numbers: Figure 2").click()
    expect(page.get_by_role("table", name="expected squared error").first).to_be_visible()


def test_every_curve_of_the_theory_has_a_colour_of_its_own(visit: Visit) -> None:
    visitor = visit(color_scheme="dark", viewport={"width": 400, "height": 900})
    page = visitor.open(reverse("theory"))
    charts = [chart for entry in theory()["demonstrations"] for chart in entry["charts"]]
    for button in page.locator(".explore button").all():
        button.click()
    expect(page.locator(".chart .legend")).to_have_count(len(charts))
    for chart, element in zip(charts, page.locator(".chart").all(), strict=True):
        points = element.locator(".scatterlayer .point").evaluate_all(FILLS)
        lines = element.locator(".scatterlayer .js-line").evaluate_all(STROKES)
        traces = plotly_figure(described(chart))["data"]
        dotted = [trace for trace in traces if "markers" in trace["mode"]]
        assert len(points) == sum(y is not None for trace in dotted for y in trace["y"])
        assert len(lines) == sum("lines" in trace["mode"] for trace in traces)
        assert len({*points, *lines}) == len(chart["curves"])
    assert violations(visitor) == []
