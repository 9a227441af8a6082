"""An intruder with Chromium's profile directory guesses on which devices the event happened.

It gets the directory while the browser runs, after the events and before the next tick; after that tick;
where events wait for the end of a step, after that, too; and once the browser has stopped.
"""

import logging
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from panprivacy.recipe import PublishedRecipe
from tests.browser.profile_attack import (
    ASKED,
    BEGIN,
    EVENTS,
    WRITING_EVENTS,
    Lived,
    attacked,
    seized,
)
from tests.browser.test_device_in_browser import DAY, SITE, TICK, profile_of
from tests.devices_web.vectors import served

pytestmark = pytest.mark.browser

LOGGER = logging.getLogger(__name__)

PROFILES = {"count_nonzero": (10, 0.1), "histogram": (2, 0.25), "mean": (2, 0.25)}
FULL_SIZE = {"count_nonzero": (10, 0.1), "histogram": (13, 0.1), "mean": (13, 0.1)}
"""Statistic → profiles, and below what the margin is. A tick of the others takes a multiple of the time, so
that the full size is attacked on demand (docs/browser.md)."""


def lived_in_chromium(browser: Browser, bundle: str, statistic: str, events: str) -> Lived:
    """Only a count takes events in at ticks; the others at the end of the step, which is a day long."""
    passing = (TICK,) if statistic == "count_nonzero" else (TICK, DAY)

    def lived(directory: Path, published: Sequence[PublishedRecipe], chosen: Sequence[int]) -> list[bytes]:
        copies = []
        with profile_of(browser, bundle, directory) as profile:
            page = profile.new_page()
            page.goto(SITE)
            page.wait_for_function("window.ready")
            page.evaluate(BEGIN, [served(recipe) for recipe in published])
            stored = "total => count === total || failures.length"
            page.wait_for_function(stored, arg=len(published))
            page.evaluate(events, chosen)
            copies.append(seized(directory))
            for states, milliseconds in enumerate(passing, 2):
                page.clock.fast_forward(milliseconds)
                page.wait_for_function(stored, arg=states * len(published))
                assert page.evaluate("failures") == []
                copies.append(seized(directory))
        return [*copies, seized(directory)]

    return lived


@pytest.mark.parametrize("statistic", ASKED)
def test_the_profile_directory_tells_nothing_of_events(
    browser: Browser, bundle: str, tmp_path: Path, statistic: str
) -> None:
    asked = os.environ.get("PROFILE_ATTACK", "short")
    profiles, least = {"short": PROFILES, "full": FULL_SIZE}[asked][statistic]
    lived = lived_in_chromium(browser, bundle, statistic, EVENTS)
    found, margin = attacked(lived, tmp_path, statistic, profiles)
    LOGGER.info("%s, %d profiles: advantage %.4f, by chance at most %.4f", statistic, profiles, found, margin)
    assert margin < least
    assert abs(found) <= margin, f"advantage {found:.4f}, by chance at most {margin:.4f}"


@pytest.mark.parametrize("statistic", ASKED)
def test_the_same_attack_catches_a_build_that_writes_at_the_event(
    browser: Browser, bundle: str, tmp_path: Path, statistic: str
) -> None:
    lived = lived_in_chromium(browser, bundle, statistic, WRITING_EVENTS)
    found, margin = attacked(lived, tmp_path, statistic, 1)
    assert found > margin, f"advantage {found:.4f}, by chance at most {margin:.4f}"
