"""The planner as people see it: figures follow typing, and the rest follows the figures."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import caches
from playwright.sync_api import expect

from panprivacy.planning.plan import Depth, plan_of
from planner import operations, store

from .accessibility import violations
from .conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Visit = Callable[..., Visitor]

QUESTION = "/plan/?statistic=histogram&k=3&steps=7&margin=5&aggregator_epsilon=1&unknown=epsilon"


@pytest.fixture(autouse=True)
def tasks(monkeypatch: pytest.MonkeyPatch, settings: Any) -> list[Any]:
    """Tasks that were asked for; none runs by itself."""
    memory = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "plans-in-browser"}
    settings.CACHES = {**settings.CACHES, "plans": memory}
    caches["plans"].clear()
    asked: list[Any] = []
    monkeypatch.setattr(operations, "_send", lambda question, slot: asked.append((question, slot)))
    return asked


def test_page_shows_what_is_quick_then_the_answer_then_every_chart(visit: Visit, tasks: list[Any]) -> None:
    visitor = visit()
    page = visitor.open(QUESTION)
    figures = page.locator("#plan-figures")
    expect(figures).to_contain_text("takes longer than the rest")
    ((question, slot),) = tasks
    store.begun_put(store.key_of(question), plan_of(question, depth=Depth.SOLVED).as_dict())
    expect(page.get_by_text("New recipe with these numbers")).to_be_visible()
    expect(figures).to_contain_text("Computing")
    operations.plan_compute(question=question, slot=slot)
    expect(page.get_by_role("heading", name="Privacy of the result against cohort size")).to_be_visible()
    expect(figures).not_to_contain_text("Computing")
    charts = page.locator(".chart").all()
    assert len(charts) == 4
    for chart in charts:
        chart.scroll_into_view_if_needed()
        expect(chart.get_by_role("img")).to_have_count(1)
    # What came with a swap can be explored, too.
    charts[-1].get_by_role("button", name="Explore the chart").click()
    expect(charts[-1].locator(".scatterlayer .js-line").first).to_be_visible()
    assert violations(visitor) == []
    assert visitor.complaints == []


def test_figures_follow_typing_stand_in_the_address_and_outlive_a_mistake(visit: Visit) -> None:
    page = visit().open("/plan/")
    headline = page.locator("#plan-figures .figure-large")
    before = headline.inner_text()
    page.locator("#id_epsilon").fill("0.5")
    expect(headline).not_to_have_text(before)
    expect(page).to_have_url(re.compile("epsilon=0.5"))
    after = headline.inner_text()
    page.locator("#id_epsilon").fill("500")
    expect(page.locator("#plan-problem .error").first).to_be_visible()
    expect(headline).to_have_text(after)
    expect(page.locator("#plan-problem .previous")).to_be_visible()
    page.evaluate("document.querySelector('#plan-figures').replaceChildren()")
    expect(page.locator("#plan-problem .previous")).to_be_hidden()
