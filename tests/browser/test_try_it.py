"""/try/ as a visitor walks through it: device and intruder in two tabs, and a result that counts the browser.

The pages' clock is the test's, and the site ends the try when the test says so: nothing depends on how fast
the machine is.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from playwright.sync_api import Page, Route, expect

from recipes.models import Recipe
from simulations import tries
from simulations.models import Simulation
from tests.collections.simulations.scene import DEVICES, devices_report, ended, small_tries

from .accessibility import violations
from .conftest import Visitor
from .test_every_page import PHONE, WIDE

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Visit = Callable[..., Visitor]

TICK = 1_000 * tries.STEP_SECONDS // 2

LOOK = 500
"""Milliseconds between two looks of the intruder."""

LINE = 40
"""Pixels, more than a line and less than an interval has."""


@pytest.fixture(autouse=True)
def _tries(monkeypatch: pytest.MonkeyPatch, settings: Any, built: Path) -> None:
    small_tries(monkeypatch, settings)
    monkeypatch.setattr("pages.web_build.BUILD", built)
    # Whatever a page does in real time, the try has not opened by then.
    monkeypatch.setattr(tries, "LEAD", timedelta(hours=1))
    cache.clear()


def without_date(route: Route) -> None:
    """The page compares its clock with the site's, and here its clock is the test's."""
    answer = route.fetch()
    headers = {name: value for name, value in answer.headers.items() if name != "date"}
    route.fulfill(response=answer, headers=headers)


def joined(visitor: Visitor) -> tuple[Page, Recipe]:
    """The page of a try, begun by keyboard; its clock stands a second before the opening, and the device has
    stored its first state."""
    visitor.context.route("**/api/v1/recipes/*/", without_date)
    visitor.context.add_init_script("window.realTimeout = window.setTimeout;")
    visitor.context.clock.install(time=datetime.now(UTC) - timedelta(hours=2))
    visitor.context.clock.pause_at(datetime.now(UTC) - timedelta(hours=1))
    page = visitor.open("/try/")
    begin = page.get_by_role("button", name="Let this browser be a device")
    expect(begin).to_be_visible()
    assert found(visitor, page) == []
    begin.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/try/*/")
    expect(page.locator("#try-countdown")).to_contain_text("begins in")
    without_device(page)
    recipe = Recipe.objects.get()
    assert recipe.opens_at is not None
    page.clock.pause_at(recipe.opens_at - timedelta(seconds=1))
    states(page, 1)
    expect(page.get_by_role("button", name="It happens now")).to_be_disabled()
    return page, recipe


def found(visitor: Visitor, page: Page) -> list[str]:
    """Violations of a page whose clock stands: axe waits by the real one."""
    before, visitor.page = visitor.page, page
    page.evaluate("() => { window.heldTimeout = setTimeout; window.setTimeout = realTimeout; }")
    violated = violations(visitor)
    page.evaluate("() => { window.setTimeout = heldTimeout; }")
    visitor.page = before
    return violated


def states(page: Page, count: int) -> None:
    """The page shows so many states."""
    expect(page.locator("#try-states .stripe")).to_have_count(count)


def without_device(page: Page) -> None:
    """Nothing of a device stands on the page, which has none."""
    for shown in ("#try-event", "#try-bytes", "#try-states", "#try-reported"):
        expect(page.locator(shown)).to_be_hidden()


def names(page: Page) -> list[str]:
    """What the page calls the states that it shows."""
    return page.locator("#try-states th").all_inner_texts()


@pytest.mark.parametrize(
    ("scheme", "viewport"), [("light", WIDE), ("dark", PHONE)], ids=["light", "dark-phone"]
)
def test_visitor_is_a_device_and_its_attacker(
    visit: Visit, monkeypatch: pytest.MonkeyPatch, scheme: str, viewport: dict[str, int]
) -> None:
    visitor = visit(color_scheme=scheme, viewport=viewport, reduced_motion="reduce")
    page, recipe = joined(visitor)
    page.clock.run_for(TICK)
    count = 2
    states(page, count)
    with visitor.context.expect_page() as opening:
        page.get_by_role("link", name="Open the intruder’s tab").click()
    spy = opening.value
    spy.wait_for_load_state()
    page.bring_to_front()

    def tick() -> None:
        nonlocal count
        page.clock.run_for(TICK - LOOK)
        count += 1
        states(page, count)
        page.clock.run_for(LOOK)

    page.clock.run_for(LOOK + 100)
    expect(spy.locator("#intruder-status")).to_have_text("A copy of state 0 s is taken.")
    page.get_by_role("button", name="It happens now").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#try-pressed")).to_contain_text("memory")
    tick()
    expect(page.locator("#try-states .since").last).to_have_text("It happened")
    tick()
    expect(page.locator("#try-states .since").last).to_have_text("Nothing")
    assert "bytes changed" in page.locator("#try-changed").inner_text()
    expect(spy.locator("#intruder-intervals li")).to_have_count(2)
    spy.get_by_label("it happened").first.check()
    place = "choice => choice.getBoundingClientRect().y + scrollY"
    before = spy.get_by_label("it did not").nth(1).evaluate(place)
    spy.get_by_label("it did not").last.check()
    tick()
    expect(spy.locator("#intruder-intervals li")).to_have_count(3)
    # It may move by a line where a text above grows, but never by an interval.
    assert abs(spy.get_by_label("it did not").nth(1).evaluate(place) - before) < LINE, "moved under a finger"
    assert found(visitor, page) == []
    while "Report" not in names(page):
        tick()
    expect(page.locator("#try-left")).to_be_visible()
    assert (
        page.locator("#try-report")
        .inner_text()
        .startswith(f"POST /api/v1/recipes/{recipe.identifier}/reports/")
    )
    assert '"phase":"done"' in page.locator("#try-kept").inner_text()
    page.clock.run_for(LOOK)
    expect(spy.locator("#intruder-right")).to_have_text("You were right in 2 of 2.")
    expect(spy.locator("#intruder-blind")).to_contain_text("25% of the time")
    ended(devices_report(Simulation.objects.get()), monkeypatch)
    page.clock.run_for(3_100)
    result = page.locator("#try-result")
    expect(result).to_contain_text(
        f"{DEVICES + 1} reports came: {DEVICES} from simulated devices and 1 from a browser."
    )
    assert found(visitor, page) == []
    assert found(visitor, spy) == []
    spy.reload()
    spy.wait_for_load_state()
    page.clock.run_for(LOOK + 100)
    expect(spy.locator("#intruder-status")).to_contain_text("has reported, and its state is erased")
    expect(spy.locator("#intruder-status")).to_contain_text("Begin another try")


def test_attacker_of_a_closed_tab_is_told_to_begin_another_try(visit: Visit) -> None:
    """Its state stays, and nobody ever tells what it holds."""
    visitor = visit()
    page, recipe = joined(visitor)
    assert recipe.opens_at is not None
    assert recipe.closes_at is not None
    spy = visitor.context.new_page()
    spy.goto(f"{visitor.address}/try/intruder/")
    status = spy.locator("#intruder-status")
    spy.clock.run_for(LOOK)
    expect(status).to_have_text("A copy of state \u22125 s is taken.")
    page.clock.run_for(TICK)
    states(page, 2)
    spy.clock.run_for(LOOK)
    expect(spy.locator("#intruder-intervals li")).to_have_count(1)
    page.close()
    spy.clock.run_for(16_000)
    expect(status).to_contain_text("Is the device’s tab closed? Open that page again.")
    spy.clock.pause_at(recipe.closes_at + timedelta(seconds=61))
    spy.clock.run_for(2 * LOOK)
    expect(status).to_contain_text("was closed before it reported, and its try is over. Begin another try")
    expect(spy.locator("#intruder-intervals li")).to_have_count(0)


def test_reload_keeps_no_press_and_both_tabs_say_what_is_not_known(visit: Visit) -> None:
    visitor = visit()
    page, _ = joined(visitor)
    spy = visitor.context.new_page()
    spy.goto(f"{visitor.address}/try/intruder/")
    page.clock.run_for(LOOK + 100)
    expect(spy.locator("#intruder-status")).to_contain_text("A copy")
    for count in (2, 3):
        page.clock.run_for(TICK - LOOK)
        states(page, count)
        page.clock.run_for(LOOK)
        expect(spy.locator("#intruder-intervals li")).to_have_count(count - 1)
    spy.get_by_label("it happened").first.check()
    assert names(page) == ["\u22125 s", "0 s", "5 s"]
    legends = spy.locator("#intruder-intervals legend").all_inner_texts()
    assert legends == ["Between states \u22125 s and 0 s", "Between states 0 s and 5 s"]
    expect(page.locator("#try-forgotten")).to_be_hidden()
    page.get_by_label("Let chance press for me").check()
    page.reload()
    expect(page.locator("#try-status")).to_have_text("Looking for this browser’s device.")
    without_device(page)
    page.clock.run_for(TICK)
    states(page, 1)
    assert names(page) == ["10 s"]
    expect(page.locator("#try-states .since").first).to_have_text("Not known here")
    expect(page.locator("#try-forgotten")).to_be_visible()
    expect(page.get_by_label("Let chance press for me")).to_be_checked()
    page.clock.run_for(LOOK)
    expect(spy.locator("#intruder-intervals li")).to_have_count(3)
    count = 1
    while "Report" not in names(page):
        page.clock.run_for(TICK - LOOK)
        count += 1
        states(page, count)
        page.clock.run_for(LOOK)
    expect(page.locator("#try-left")).to_be_visible()
    page.clock.run_for(LOOK)
    said = spy.locator("#intruder-waits")
    expect(said).to_contain_text("The others began before")
    told = spy.locator("#intruder-intervals .told").all_inner_texts()
    # A state may be stored while the clock runs to the intruder's look.
    assert len(told) > 3
    expect(said).to_contain_text(f"with {len(told) - 3} of {len(told)} intervals. ")
    assert told[:3] == ["It is not known."] * 3
    assert set(told[3:]) <= {"It happened.", "It did not happen."}
    expect(spy.locator("#intruder-right")).to_have_text("What you guessed cannot be checked.")


def test_coin_presses_in_secret_until_the_report_which_has_no_cookie(visit: Visit) -> None:
    visitor = visit()
    sent: list[dict[str, str]] = []
    visitor.page.on(
        "request", lambda request: sent.append(request.all_headers()) if "/reports/" in request.url else None
    )
    page, _ = joined(visitor)
    assert visitor.context.cookies()
    page.get_by_label("Let chance press for me").check()
    count = 1
    while "Report" not in names(page):
        page.clock.run_for(TICK)
        count += 1
        states(page, count)
        if count == 4:
            said = page.locator("#try-states .since").all_inner_texts()
            assert set(said[1:]) == {"The coin knows"}
    expect(page.locator("#try-left")).to_be_visible()
    assert set(page.locator("#try-states .since").all_inner_texts()[1:]) <= {"It happened", "Nothing"}
    assert sent
    assert all("cookie" not in headers for headers in sent)


def test_second_tab_and_late_visitor_are_shown_nothing_of_a_device(visit: Visit) -> None:
    visitor = visit()
    page, recipe = joined(visitor)
    other = visitor.context.new_page()
    other.goto(page.url)
    expect(other.locator("#try-status")).to_have_text("This browser becomes a device.")
    other.clock.run_for(2 * TICK)
    expect(other.locator("#try-status")).to_contain_text("is in another tab")
    without_device(other)
    page.close()
    states(other, 1)
    expect(other.locator("#try-forgotten")).to_be_visible()
    assert recipe.closes_at is not None
    late = visitor.context.new_page()
    late.clock.pause_at(recipe.closes_at + timedelta(seconds=1))
    late.goto(other.url)
    expect(late.locator("#try-status")).to_have_text("This try is over.")
    without_device(late)


def test_who_has_no_device_learns_why(visit: Visit) -> None:
    spy = visit().open("/try/intruder/")
    expect(spy.locator("#intruder-status")).to_contain_text("Begin a try in another tab")
    visitor = visit()
    visitor.context.clock.install(time="2020-01-01T00:00:00Z")
    page = visitor.open("/try/")
    page.get_by_role("button", name="Let this browser be a device").click()
    expect(page.locator("#try-status")).to_contain_text("this computer’s is")
    without_device(page)
    page = visit(java_script_enabled=False).open("/try/")
    said = page.locator("noscript p")
    expect(said).to_contain_text("which is switched off")
    expect(said).to_contain_text("guess as an intruder what it holds")
    expect(page.get_by_role("button", name="Let this browser be a device")).to_have_count(0)
