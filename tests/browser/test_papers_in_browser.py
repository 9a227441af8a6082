from collections.abc import Callable

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from research.reproduction.results import committed
from research.statements import Role

from .accessibility import violations
from .conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Visit = Callable[..., Visitor]

COLOURS = {
    "light": {"sampled": "rgb(0, 114, 178)", "aggregated": "rgb(213, 94, 0)"},
    "dark": {"sampled": "rgb(86, 180, 233)", "aggregated": "rgb(233, 138, 75)"},
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_page_of_the_papers_draws_every_line_in_its_colour_and_is_accessible(
    visit: Visit, scheme: str, width: int
) -> None:
    visitor = visit(color_scheme=scheme, viewport={"width": width, "height": 900})
    page = visitor.open(reverse("papers"))
    figures = committed()["figures"]
    for button in page.locator(".explore button").all():
        button.click()
    expect(page.locator(".chart .legend")).to_have_count(len(figures))
    for figure, element in zip(figures, page.locator(".chart").all(), strict=True):
        drawn = element.locator(".scatterlayer .js-line")
        # What was measured is drawn as points.
        roles = [
            series["role"]
            for panel in figure["panels"]
            for series in panel["series"]
            if series["role"] != Role.MEASURED
        ]
        strokes = drawn.evaluate_all("lines => lines.map((line) => getComputedStyle(line).stroke)")
        assert len(strokes) == len(roles)
        for role, colour in COLOURS[scheme].items():
            assert strokes.count(colour) == roles.count(role)
        assert len(set(strokes)) == len(set(roles)), "a colour for each role"
    assert violations(visitor) == []


def test_page_of_the_papers_says_the_same_without_scripts(visit: Visit) -> None:
    visitor = visit(java_script_enabled=False)
    page = visitor.open(reverse("papers"))
    expect(page.get_by_role("img").first).to_be_visible()
    page.get_by_text("The numbers: Figure 2").click()
    expect(page.get_by_role("table", name="expected squared error").first).to_be_visible()
