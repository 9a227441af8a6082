from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from recipes.models import Recipe
from tests.scenes import PASSWORD, account, announced, closed_stream, open_stream

from .conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Visit = Callable[..., Visitor]


def test_analyst_publishes_a_stream_and_an_administrator_looks_at_it(visit: Visit) -> None:
    account("ada", "Analysts", is_staff=True, is_superuser=True)
    visitor = visit()
    visitor.sign_in("ada", PASSWORD)
    page = visitor.open(reverse("recipe-new"))
    page.get_by_role("link", name="Items that appear", exact=True).click()
    page.get_by_label("Name").fill("Visitors")
    page.get_by_label("Question").fill("Which part of our customers came?")
    before = page.locator("#preview .figure-large").inner_text()
    for folded in page.locator("details.folded summary").all():
        folded.click()
    page.get_by_label("Announced intrusions", exact=True).fill("1")
    page.get_by_label("Table size", exact=True).fill("1000")
    expect(page.locator("#preview .figure-large")).not_to_have_text(before)
    page.get_by_role("button", name="Save as draft").click()
    page.get_by_role("button", name="Publish for good").click()
    expect(page.get_by_text("1 is left")).to_be_visible()
    page.get_by_role("link", name="Announce an intrusion").click()
    page.get_by_label("Reason").fill("Court order 12/26")
    page.get_by_role("button", name="Announce and read it").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("The state as an intruder sees it")
    expect(page.locator("svg.bits")).to_be_visible()
    page.get_by_role("link", name="Visitors").click()
    expect(page.get_by_text("No more looks can be announced")).to_be_visible()


def test_tables_on_a_narrow_screen_stack_or_show_that_there_is_more(visit: Visit) -> None:
    looked, released = announced(open_stream(range(300))), closed_stream(open_stream(range(700)))
    visitor = visit(viewport={"width": 400, "height": 900})
    for path in (_path("recipe", looked), _path("recipe", released), "/populations/everyone/"):
        page = visitor.open(path)
        hidden = page.locator(".scroll").evaluate_all(
            "boxes => boxes.map(box => box.scrollWidth - box.clientWidth)"
        )
        assert hidden
        assert max(hidden) == 0, path
    wide = visitor.open(reverse("papers")).locator(".scroll").first
    assert wide.evaluate("box => box.scrollWidth > box.clientWidth")
    shadows = wide.evaluate("box => getComputedStyle(box).backgroundAttachment")
    assert shadows == "local, local, scroll, scroll"


def _path(name: str, recipe: Recipe, *arguments: Any) -> str:
    return reverse(name, args=[recipe.identifier, *arguments])
