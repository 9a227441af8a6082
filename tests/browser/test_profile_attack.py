"""An intruder with Chromium's profile directory guesses on which devices the event happened.

It gets the directory while the browser runs, after the events and before the next tick; after that tick;
where events wait for the end of a step, after that, too; and once the browser has stopped.
"""

import logging
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Route

from panprivacy.recipe.document import PublishedRecipe
from tests.browser.profile_attack import (
    ASKED,
    ATTESTER_URL,
    BEGIN,
    EVENTS,
    WRITING_EVENTS,
    Lived,
    attacked,
    seized,
)
from tests.browser.test_device import DAY, SITE, TICK, profile_of
from tests.devices_web.vectors import served
from tests.panprivacy.device.attester import MemoryAttester
from tests.panprivacy.device.in_process import InProcessTransport
from tests.panprivacy.protocols.privacy_pass.keys import seeded_key

pytestmark = pytest.mark.browser

LOGGER = logging.getLogger(__name__)

PROFILES = {
    "count_nonzero": (11, 0.1),
    "histogram": (3, 0.25),
    "mean": (3, 0.25),
    "funnel": (3, 0.25),
    "count with token": (6, 0.25),
}
FULL_SIZE = {
    "count_nonzero": (11, 0.1),
    "histogram": (15, 0.1),
    "mean": (15, 0.1),
    "funnel": (15, 0.1),
    "count with token": (35, 0.1),
}
"""What is attacked → profiles, and below what the margin is. A tick of all but the first takes a multiple of
the time, so that the full size is attacked on demand (docs/browser.md)."""


def lived_in_chromium(browser: Browser, bundle: str, statistic: str, events: str) -> Lived:
    """Only a count takes events in at ticks; the others at the end of the step, which is a day long. With
    tokens, devices ask for them at the tick that takes the events in, which stores the request and the token,
    too."""
    passing = (TICK, DAY) if statistic in ("histogram", "mean", "funnel") else (TICK,)
    has_tokens = "admission" in ASKED[statistic]
    written = 3 if has_tokens else 1

    def lived(directory: Path, published: Sequence[PublishedRecipe], chosen: Sequence[int]) -> list[bytes]:
        copies = []
        with profile_of(browser, bundle, directory) as profile:
            if has_tokens:
                profile.route(f"{ATTESTER_URL}/**", attester_of(published))
            page = profile.new_page()
            page.goto(SITE)
            page.wait_for_function("window.ready")
            page.evaluate(BEGIN, [served(recipe) for recipe in published])
            stored = "total => count === total || failures.length"
            page.wait_for_function(stored, arg=len(published))
            page.evaluate(events, chosen)
            copies.append(seized(directory))
            page.evaluate("asking = true")
            for number, milliseconds in enumerate(passing, 1):
                page.clock.fast_forward(milliseconds)
                page.wait_for_function(stored, arg=(1 + number * written) * len(published))
                assert page.evaluate("failures") == []
                copies.append(seized(directory))
        return [*copies, seized(directory)]

    return lived


def attester_of(published: Sequence[PublishedRecipe]) -> Callable[[Route], None]:
    """An attester whose clock is that of the pages."""
    attester = MemoryAttester({recipe.identifier: seeded_key() for recipe in published}, ATTESTER_URL)
    attester.now = datetime(2026, 1, 1, tzinfo=UTC).timestamp
    transport = InProcessTransport(attester)

    def answer(route: Route) -> None:
        asked = route.request
        given = transport.exchange(
            asked.method,
            urlsplit(asked.url).path,
            body=asked.post_data_buffer or b"",
            content_type=asked.headers.get("content-type", ""),
            fields=asked.headers,
        )
        route.fulfill(status=given.status, headers=dict(given.headers), body=given.body)

    return answer


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
