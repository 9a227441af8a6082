"""The planner as people see it: figures follow typing, and the rest follows the figures."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from panprivacy.planning.plan import Depth, Question, plan_of
from recipes.planner.guarantees import NotComputedError
from simulations.chunks import chunk_run, chunks_take
from simulations.models import Simulation
from storage.answers import models
from storage.answers.questions import State
from tests.collections.simulations.scene import CSV, Site, released
from tests.collections.storage.answers.scene import begin, leases_end, work, workers_answer
from tests.factories import draft_recipe
from tests.scenes import PASSWORD, analyst

from .accessibility import violations
from .conftest import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Visit = Callable[..., Visitor]

QUESTION = "/plan/?statistic=histogram&coin=bucket&k=3&steps=7&margin=5&aggregator_epsilon=1&unknown=epsilon"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Long questions that were asked; none is answered by itself."""
    return workers_answer(monkeypatch, previews=True)


def test_page_shows_what_is_quick_then_the_answer_then_every_chart(visit: Visit, sent: list[str]) -> None:
    visitor = visit()
    page = visitor.open(QUESTION)
    figures = page.locator("#plan-figures")
    expect(figures).to_contain_text("takes longer than the rest")
    (key,) = sent
    question = Question.from_mapping(models.Question.objects.get(key=key).asked)
    begin(key, {"plan": plan_of(question, Depth.SOLVED).as_dict(), "local_guarantees": []})
    expect(page.get_by_text("New recipe with these numbers")).to_be_visible()
    expect(figures).to_contain_text("Computing")
    leases_end()
    work(sent)
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


@pytest.mark.usefixtures("sent")
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


def test_draft_is_simulated_with_a_file_and_the_page_follows_to_the_result(
    visit: Visit, tmp_path: Path, settings: Any
) -> None:
    settings.SITE_URL = "http://localhost"
    file = tmp_path / "events.csv"
    file.write_text(CSV)
    analyst()
    recipe = draft_recipe()
    visitor = visit()
    visitor.sign_in("ana", PASSWORD)
    page = visitor.open(f"/recipes/drafts/{recipe.pk}/")
    page.get_by_role("link", name="Simulate it").click()
    about = page.locator("#about")
    expect(about).to_contain_text("It takes about 5 seconds.")
    page.locator("#id_devices").fill("1000000")
    expect(about).not_to_contain_text("5 seconds")
    assert violations(visitor) == []
    page.get_by_role("link", name="A CSV file").click()
    assert violations(visitor) == []
    latin = tmp_path / "latin.csv"
    latin.write_bytes(CSV.encode() + b"b\xe9,1,1\n")
    box = page.locator("#id_csv")
    page.get_by_label("Or choose the file").set_input_files(latin)
    expect(box).to_have_js_property("validationMessage", "The file must be UTF-8 text.")
    page.get_by_label("Or choose the file").set_input_files(file)
    expect(box).to_have_value(CSV)
    expect(box).to_have_js_property("validationMessage", "")
    page.get_by_role("button", name="Simulate").click()
    expect(page.locator("#simulation")).to_contain_text("Its file is being read.")
    simulation = Simulation.objects.get()
    (file_chunk,) = chunks_take(simulation=simulation)
    chunk_run(chunk=file_chunk, transport=Site())
    expect(page.locator("#simulation")).to_contain_text("0 of 30 devices")
    assert violations(visitor) == []
    for chunk in chunks_take(simulation=simulation):
        chunk_run(chunk=chunk, transport=Site())
    simulation.refresh_from_db()
    released(simulation)
    expect(page.locator("#simulation")).to_contain_text("30 reports accepted")
    expect(page.get_by_role("button", name="Cancel the simulation")).to_have_count(0)
    assert violations(visitor) == []
    assert visitor.complaints == []


def test_form_sends_itself_again_until_its_guarantees_are_computed(
    visit: Visit, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.SITE_URL = "http://localhost"
    analyst()
    recipe = draft_recipe()

    def computing(**_: Any) -> None:
        raise NotComputedError(State.COMPUTING)

    visitor = visit()
    visitor.sign_in("ana", PASSWORD)
    page = visitor.open(f"/recipes/drafts/{recipe.pk}/simulate/")
    page.locator("#id_devices").fill("1234")
    with monkeypatch.context() as patched:
        patched.setattr("simulations.operations.guarantees_require", computing)
        page.get_by_role("button", name="Simulate").click()
        expect(page.get_by_role("status")).to_contain_text("is computed first")
        with page.expect_response(lambda answer: answer.request.method == "POST"):
            pass
        expect(page.locator("#id_devices")).to_have_value("1234")
    expect(page.locator("#simulation")).to_contain_text("0 of 1,234 devices")
    assert visitor.complaints == []
