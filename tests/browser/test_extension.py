"""The extension of managed computers in Chromium: its policy, events of pages, ticks, and its report."""

import base64
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.recipe.parts.admission import TokenAdmission
from panprivacy.statistics.trust_models.single_server import OneServer
from tests.browser.extension import Managed, managed
from tests.browser.test_device import holds
from tests.devices_web.vectors import private_key
from tests.panprivacy.device.attester import MemoryAttester, problem
from tests.panprivacy.device.public_log import WITHOUT_WITNESSES, MemoryLog, entry_of
from tests.panprivacy.device.server import VERIFICATION_KEY, MemoryServer, listening
from tests.panprivacy.protocols.privacy_pass.keys import seeded_key
from tests.patience import PATIENCE
from tests.tokens import token_admission

pytestmark = pytest.mark.browser

TELL = """event => new Promise((told) => {
  // After the content script, which has listened from the start.
  addEventListener("message", told, { once: true });
  postMessage({ type: "devices-web event", event });
}).then(() => undefined)"""


NAMES = ["search", "open", "borrow"]
FUNNEL = {"statistic": "funnel", "events": NAMES}


def recipe_of(
    name: str,
    opens_at: datetime,
    step: timedelta,
    admission: TokenAdmission | None = None,
    **changes: object,
) -> PublishedRecipe:
    """For real devices; a count with one step unless `changes` says otherwise."""
    draft = RecipeDraft.from_mapping(
        {
            "name": name,
            "question": "On how many computers did it happen?",
            "statistic": "count_nonzero",
            "steps": 1,
            "step_seconds": int(step.total_seconds()),
            "epsilon": 2.0,
            "delta": 1e-6,
            "cohort_size": 100,
            **({} if admission is None else {"admission": "token", "hpke": "x25519"}),
            **changes,
        }
    )
    servers = OneServer.of(private_key().public_key)
    return draft.publish(servers, opens_at, simulation=False, admission=admission)


class Site:
    """Publishes recipes, and has all in its log.

    Attributes:
        running: a count whose only step is long.
        funnel: of three events, with short steps.
        over: a funnel whose only step is over.
        strange: a funnel with an event that the policy does not allow.
    """

    def __init__(self) -> None:
        now = datetime.now(UTC).replace(microsecond=0)
        self.running = recipe_of("Running", now, timedelta(days=1))
        self.funnel = recipe_of("Funnel", now, timedelta(seconds=2), steps=10_000, **FUNNEL)
        self.over = recipe_of("Over", now - timedelta(minutes=2), timedelta(minutes=1), **FUNNEL)
        self.strange = recipe_of("Strange", now, timedelta(days=1), **FUNNEL)
        published = (self.running, self.funnel, self.over, self.strange)
        entries = [entry_of(recipe.identifier) for recipe in published]
        self.servers = {recipe.identifier: MemoryServer(recipe, private_key()) for recipe in published}
        self.logs = {
            name: MemoryLog(entries, place, server)
            for place, (name, server) in enumerate(self.servers.items())
        }

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        return self.logs[environ["PATH_INFO"].split("/")[4]](environ, start_response)


def page_of(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """A page that tells events."""
    start_response("200 OK", [("Content-Type", "text/html; charset=utf-8")])
    return [b"<!doctype html><title>catalogue</title>"]


class Scene:
    """A managed browser, its site, and two pages on this machine; the policy allows one of them.

    Attributes:
        told_before_events: what the options page shows before the first event.
    """

    told_before_events: str

    def __init__(self, browser: Managed, site: Site, allowed: str, other: str) -> None:
        self.browser, self.site, self.address = browser, site, allowed
        self.allowed, self.other = (self._opened(address) for address in (allowed, other))

    def _opened(self, address: str) -> Page:
        page = self.browser.context.new_page()
        page.goto(address)
        return page

    def until(self, holds_now: Callable[[], object], what: str) -> None:
        """Wait as long as a test may."""
        end = time.monotonic() + PATIENCE
        while not holds_now():
            assert time.monotonic() < end, what
            self.allowed.wait_for_timeout(100)

    def kept(self, recipe: PublishedRecipe | None = None) -> dict[str, Any]:
        """The state of a recipe; by default of the count that runs."""
        identifier = (recipe or self.site.running).identifier
        self.until(lambda: self.browser.state(identifier), "the extension joins")
        state = self.browser.state(identifier)
        assert state is not None
        return state

    def after_two_ticks(self) -> list[int]:
        """What the state holds after a whole tick from now on."""
        for _ in range(2):
            before = self.kept()
            self.until(lambda before=before: self.kept() != before, "the clock ticks")
        return holds(self.kept())


@pytest.fixture(scope="module")
def scene(
    browser: Browser, built_extension: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    site, folder = Site(), tmp_path_factory.mktemp("managed")
    with ExitStack() as stack:
        server, allowed, other = (
            stack.enter_context(listening(application)) for application in (site, page_of, page_of)
        )
        settings = {
            "server": server,
            "server_key": base64.b64encode(VERIFICATION_KEY).decode(),
            "log_policy": WITHOUT_WITNESSES,
            "recipes": [
                {"id": site.running.identifier, "events": ["looked-up"]},
                {"id": site.funnel.identifier, "events": NAMES},
                {"id": site.over.identifier, "events": NAMES},
                {"id": site.strange.identifier, "events": NAMES[:2]},
            ],
            "origins": [allowed],
            "tick_seconds": 1,
            # Three recipes of ε = 2 fit; the fourth is not allowed in any case.
            "lifetime_epsilon": 7,
        }
        [of_policy] = stack.enter_context(managed(browser, built_extension, folder, settings))
        arranged = Scene(of_policy, site, allowed, other)
        # The script comes with the page's next load, once the policy was read.
        arranged.kept()
        arranged.told_before_events = of_policy.told()
        for page in (arranged.allowed, arranged.other):
            page.reload()
        yield arranged


def test_only_an_event_of_an_allowed_page_is_in_the_state(scene: Scene) -> None:
    scene.other.evaluate(TELL, "looked-up")
    scene.allowed.evaluate(TELL, "something else")
    assert scene.after_two_ticks() == [0]
    scene.allowed.evaluate(TELL, "looked-up")
    # The event outlives its page, in memory.
    scene.allowed.goto("about:blank")
    scene.until(lambda: holds(scene.kept()) == [1], "the event is counted")


def test_a_recipe_whose_steps_are_over_is_reported_once(scene: Scene) -> None:
    identifier = scene.site.over.identifier
    server = scene.site.servers[identifier]
    scene.until(lambda: server.reports, "the report arrives")
    facts = {"phase": "done", "name": "Over", "event": "search, open, borrow", "epsilon": 2}

    def is_forgotten() -> bool:
        state = scene.kept(scene.site.over)
        return "sent" in state and state == facts | {"recipe": identifier, "sent": state["sent"]}

    scene.until(is_forgotten, "only public facts are kept")
    # One of the funnel's four cells.
    [report] = server.decrypted()
    assert sorted(report) == [0, 0, 0, 1]


def test_events_of_a_funnel_are_recorded_by_name_in_its_order(scene: Scene) -> None:
    funnel = scene.site.funnel

    def reached(stage: int) -> bool:
        return holds(scene.kept(funnel)) == [int(stage == place) for place in range(4)]

    scene.allowed.goto(scene.address)
    for name in ("borrow", "open", "renew"):
        scene.allowed.evaluate(TELL, name)
    scene.other.evaluate(TELL, "search")
    taken = scene.kept(funnel)["step"]
    scene.until(lambda: scene.kept(funnel)["step"] > taken + 1, "steps are taken")
    assert reached(0)
    scene.allowed.evaluate(TELL, "search")
    scene.until(lambda: reached(1), "the first event is recorded")
    for name in ("open", "borrow"):
        scene.allowed.evaluate(TELL, name)
    scene.until(lambda: reached(3), "the others are recorded")


def test_recipe_with_an_event_that_is_not_allowed_is_not_joined(scene: Scene) -> None:
    refusal = "events: must be the recipe's search, open, borrow; not search, open"
    told = (
        f"“search”, “open” ({scene.site.strange.identifier}): not joined. Last failure: FieldError: {refusal}"
    )
    scene.until(lambda: told in scene.browser.told(), "the refusal is shown")
    assert scene.browser.state(scene.site.strange.identifier) is None


def test_the_worker_hears_of_no_event(scene: Scene) -> None:
    """A listener for messages in the worker would have the browser start it at every event."""
    heard = "chrome.runtime.onMessage.hasListeners() || chrome.runtime.onConnect.hasListeners()"
    assert scene.browser.worker.evaluate(heard) is False


def test_options_page_shows_what_is_kept_alike_for_all_events(scene: Scene) -> None:
    running, over = scene.site.running, scene.site.over
    before = scene.told_before_events
    of_running = before[before.index(running.identifier) :]
    scene.allowed.goto(scene.address)
    scene.allowed.evaluate(TELL, "looked-up")
    scene.until(lambda: holds(scene.kept()) == [1], "the event is counted")
    told = scene.browser.told()
    assert told[told.index(running.identifier) :].split("Leave")[0] == of_running.split("Leave")[0]
    lines = [line.strip() for line in of_running.split("Leave")[0].splitlines()]
    for line in (
        "Running",
        "without a name",
        "yes",
        "at the last tick of the clock, after 0 steps",
        "nothing yet",
        "privacy loss (ε) 2 by one report, if a server decrypts it (local model)",
    ):
        assert line in lines
    assert re.search(r"\d bytes, which show no event", of_running)
    assert re.search(r"on 20\d\d-\d\d-\d\d, unless its coin kept it out", told[told.index(over.identifier) :])
    assert "can reveal a privacy loss (ε) of 6 together, of at most 7." in told


def test_recipe_is_left_on_the_options_page_for_good(scene: Scene) -> None:
    page = scene.browser.context.new_page()
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto(scene.browser.worker.url.replace("background.js", "options.html"))
    item = page.locator("li", has_text=scene.site.funnel.identifier)
    scene.kept(scene.site.funnel)
    page.reload()
    item.get_by_role("button", name="Leave this recipe").click()
    item.get_by_text("no: it has left").wait_for()
    assert item.get_by_text("nothing, unless a report arrived without an answer").is_visible()
    assert item.get_by_role("button").count() == 0
    scene.after_two_ticks()
    assert scene.kept(scene.site.funnel)["left"] is True
    page.close()


def test_the_page_for_administrators_says_how_each_recipe_goes(scene: Scene) -> None:
    told = scene.browser.told()
    assert "The policy can be used." in told
    assert scene.address in told
    assert f"“looked-up” ({scene.site.running.identifier}): collecting." in told


USABLE = {
    "server": "https://telemetry.example",
    "server_key": base64.b64encode(VERIFICATION_KEY).decode(),
    "log_policy": WITHOUT_WITNESSES,
    "recipes": [{"id": "0" * 64, "events": ["looked-up"]}],
    "origins": ["https://catalogue.example"],
}


REFUSED = [
    ({"origins": ["https://*.example"]}, r'origins: must be .*without \*, path .*"https://\*.example"'),
    # Chromium drops what is of another type than the schema says.
    ({"server": 1}, "server: is missing, or no text"),
]
"""What is wrong with a policy, and what the page for administrators says; all others are refused in Node."""


@pytest.fixture(scope="module")
def wrong(
    browser: Browser, built_extension: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Managed, ...]]:
    """One browser with an extension for each policy that is refused, and one for a log that nobody reads."""
    policies = [USABLE | change for change, _ in REFUSED]
    folder = tmp_path_factory.mktemp("wrong")
    with managed(
        browser, built_extension, folder, *policies, USABLE | {"log_policy": "nobody"}
    ) as extensions:
        yield extensions


@pytest.mark.parametrize("place", range(len(REFUSED)))
def test_a_policy_that_cannot_be_used_is_refused_in_options(wrong: tuple[Managed, ...], place: int) -> None:
    told = wrong[place].told()
    assert "The policy is refused, and nothing is counted." in told
    assert re.search(REFUSED[place][1], told)
    assert wrong[place].worker.evaluate("chrome.offscreen.hasDocument()") is False


def test_what_only_the_devices_check_is_told_there_too(wrong: tuple[Managed, ...]) -> None:
    assert "nothing is counted. line 1 of the policy is not as it must be" in wrong[-1].told()


class WithTokens:
    """A managed computer whose only recipe, with tokens of an attester, is over."""

    def __init__(
        self, stack: ExitStack, browser: Browser, built: Path, folder: Path, attester: str, code: str | None
    ) -> None:
        began = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=2)
        admission = token_admission(attester_url=attester)
        self.recipe = recipe_of("Over", began, timedelta(minutes=1), admission)
        self.server = MemoryServer(self.recipe, private_key())
        log = MemoryLog([entry_of(self.recipe.identifier)], 0, self.server)
        policy = USABLE | {
            "server": stack.enter_context(listening(log)),
            "issuer_key": base64.b64encode(admission.issuer_key).decode(),
            "recipes": [{"id": self.recipe.identifier, "events": ["looked-up"]}],
            "tick_seconds": 1,
            **({} if code is None else {"enrolment_code": code}),
        }
        self._begin = partial(managed, browser, built, folder, policy)

    def until(self, holds_now: Callable[[Managed], object]) -> None:
        """Run the browser as long as a test may."""
        with self._begin() as [of_policy]:
            end = time.monotonic() + PATIENCE
            while not holds_now(of_policy):
                assert time.monotonic() < end, of_policy.told()
                of_policy.context.pages[0].wait_for_timeout(100)


def test_a_computer_that_gets_no_token_asks_no_more_and_says_so(
    browser: Browser, built_extension: Path, tmp_path: Path
) -> None:
    attester = MemoryAttester({})
    attester.refuses = lambda: problem(409, "/problems/recipe-not-open", "The recipe has no tokens")
    said = "done. It sends no report: the issuer answers 409: The recipe has no tokens"
    with ExitStack() as stack:
        attester.url = stack.enter_context(listening(attester))
        scene = WithTokens(stack, browser, built_extension, tmp_path, attester.url, None)
        attester.token_keys[scene.recipe.identifier] = seeded_key()
        scene.until(lambda of_policy: said in of_policy.told())
    assert len(attester.capsules) == 1
    assert (attester.blinded, scene.server.reports) == ([], {})
