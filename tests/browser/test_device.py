"""A page's device in Chromium: what it writes and when, who owns it, and what Python reads of its state."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, Route

from tests.browser.conftest import ARGUMENTS, chromium
from tests.devices_web.vectors import private_key, recipe_of, served
from tests.patience import PATIENCE

pytestmark = pytest.mark.browser

SITE = "https://device.example/"
TICK = 30_000
DAY = 86_400_000

# Everything by which an event could leave the page or reach its storage is counted.
PAGE = """<!doctype html><title>device</title><script type="module">
import { joinRecipe, leave, PageDevice, UndeliverableError } from "/devices-web.js";
window.seen = { transactions: 0, messages: 0, requests: 0 };
window.drawn = 0;
const draw = crypto.getRandomValues;
crypto.getRandomValues = (into) => { drawn += into.length; return draw.call(crypto, into); };
window.told = [];
for (const [owner, name, of] of [
  [IDBDatabase, "transaction", "transactions"], [BroadcastChannel, "postMessage", "messages"],
]) {
  const original = owner.prototype[name];
  owner.prototype[name] = function (...given) {
    seen[of] += 1;
    if (of === "messages") told.push(given[0]);
    return original.apply(this, given);
  };
}
for (const name of ["fetch", "Worker", "SharedWorker"]) {
  window[name] = new Proxy(window[name], {
    apply: (of, self, given) => { seen.requests += 1; return Reflect.apply(of, self, given); },
    construct: (of, given) => { seen.requests += 1; return Reflect.construct(of, given); },
  });
}
window.begin = ({ served, keys }) => {
  window.stored = [];
  window.failures = [];
  window.delivered = [];
  window.refuse = false;
  window.asked = [];
  window.noToken = "the attester is away";
  window.leave = () => leave(served.id);
  window.device = new PageDevice(served.id, {
    ...("lifetime" in window ? { lifetimeEpsilon: window.lifetime } : {}),
    join: () => joinRecipe(served, keys, { simulation: true }),
    allow: ({ events }) => {
      if (window.forbidden?.some((name) => events.includes(name))) throw new Error("not allowed");
    },
    ...(window.withoutToken ? {} : { token: async (device, store) => {
      asked.push(device.state.step);
      if (noToken) throw new Error(noToken);
      if (noToken === undefined) throw new UndeliverableError("it had another token");
      await store(device.keepToken({ ...device.state.token, token: "AAAA" }));
    } }),
    deliver: async (device) => {
      delivered.push(device.report());
      if (refuse) throw new Error("the server is away");
      if (window.closed_early) throw new UndeliverableError("the recipe is closed");
    },
    stored: (state) => stored.push(state),
    failed: (error) => failures.push(String(error)),
  });
};
window.ready = true;
</script>"""


@pytest.fixture
def context(browser: Browser, bundle: str) -> Iterator[BrowserContext]:
    """Storage of its own, in the browser of all: to start another one takes longer than most tests."""
    context = browser.new_context()
    arrange(context, bundle)
    yield context
    context.close()


@contextmanager
def profile_of(browser: Browser, bundle: str, folder: Path) -> Iterator[BrowserContext]:
    """A browser with this profile directory, arranged alike."""
    profile = browser.browser_type.launch_persistent_context(
        folder, executable_path=chromium(), args=ARGUMENTS
    )
    arrange(profile, bundle)
    yield profile
    profile.close()


def arrange(context: BrowserContext, bundle: str) -> None:
    """Have its pages find the site, and let its clock stand in the first step of the recipes."""
    context.set_default_timeout(1_000 * PATIENCE)
    bodies = {SITE: ("text/html", PAGE), f"{SITE}devices-web.js": ("text/javascript", bundle)}

    def answer(route: Route) -> None:
        kind, body = bodies[route.request.url]
        route.fulfill(content_type=kind, body=body)

    context.route(f"{SITE}**", answer)
    context.clock.install(time="2026-01-01T00:00:01Z")
    context.clock.pause_at("2026-01-01T00:00:02Z")


def opened(context: BrowserContext, recipe: str, **changes: object) -> Page:
    return opened_in(context.new_page(), recipe, **changes)


def opened_in(page: Page, recipe: str, **changes: object) -> Page:
    """A page with a device of a recipe of the vectors, some members of which may be others."""
    page.goto(SITE)
    page.wait_for_function("window.ready")
    page.evaluate("recipe => begin(recipe)", served(recipe_of(recipe, **changes)))
    return page


def states(page: Page, count: int) -> list[dict[str, Any]]:
    """What was stored, once it is `count` states; nothing failed."""
    page.wait_for_function("count => stored.length >= count || failures.length", arg=count)
    assert page.evaluate("failures") == []
    stored: list[dict[str, Any]] = page.evaluate("stored")
    assert len(stored) == count
    return stored


def holds(state: dict[str, Any]) -> list[int]:
    key = private_key()
    encoded = [base64.b64decode(text) for text in state["ciphertexts"]]
    return [key.decrypt(key.public_key.parse(ciphertext), range(2)) for ciphertext in encoded]


def shape(state: dict[str, Any]) -> tuple[list[str], int]:
    return sorted(state), len(json.dumps(state))


def test_an_event_does_nothing_until_the_tick_which_is_always_alike(
    context: BrowserContext,
) -> None:
    page = opened(context, "count")
    assert holds(states(page, 1)[-1]) == [0]
    before = page.evaluate("({ ...seen })")
    page.evaluate("device.event()")
    assert page.evaluate("({ ...seen })") == before
    per_tick = []
    for tick in range(3):
        page.clock.run_for(TICK)
        states(page, 2 + tick)
        after = page.evaluate("({ ...seen })")
        per_tick.append({name: after[name] - before[name] for name in after})
        before = after
    assert per_tick == [{"transactions": 1, "messages": 0, "requests": 0}] * 3
    stored = page.evaluate("stored")
    assert [holds(state) for state in stored] == [[0], [1], [1], [1]]
    assert len({state["ciphertexts"][0] for state in stored}) == 4
    assert len({str(shape(state)) for state in stored}) == 1


def test_a_histograms_event_waits_in_memory_until_its_step_is_over(context: BrowserContext) -> None:
    page = opened(context, "histogram")
    first = states(page, 1)[-1]
    page.evaluate("device.event()")
    page.clock.run_for(TICK)
    ticked = states(page, 2)[-1]
    assert holds(ticked) == holds(first)
    page.clock.pause_at("2026-01-02T00:00:10Z")
    page.wait_for_function("stored.at(-1).step === 1")
    after = page.evaluate("stored.at(-1)")
    assert holds(after) != holds(first)
    assert shape(after) == shape({**first, "step": 1})


def test_events_of_a_funnel_are_taken_by_name_once_their_step_is_over(context: BrowserContext) -> None:
    page = opened(context, "funnel")
    first = states(page, 1)[-1]
    page.evaluate("device.event('search'); device.event('open')")
    for wrong in ("device.event('sell')", "device.event()"):
        with pytest.raises(Error, match="event: must be one of open, search, buy; not"):
            page.evaluate(wrong)
    page.clock.run_for(TICK)
    assert holds(states(page, 2)[-1]) == holds(first) == [1, 0, 0, 0]
    page.clock.pause_at("2026-01-02T00:00:10Z")
    page.wait_for_function("stored.at(-1).step === 1")
    after = page.evaluate("stored.at(-1)")
    assert holds(after) == [0, 0, 1, 0]
    assert shape(after) == shape({**first, "step": 1})


def test_unknown_name_from_another_tab_is_refused_by_the_owner(context: BrowserContext) -> None:
    owner = opened(context, "funnel")
    states(owner, 1)
    other = opened(context, "funnel")
    with pytest.raises(Error, match="event: must be 1 to 60 of the characters"):
        other.evaluate("device.event('Open!')")
    other.evaluate("device.event('sell'); device.event('open')")
    owner.clock.run_for(TICK)
    owner.wait_for_function("failures.length === 1")
    refusal = "FieldError: event: must be one of open, search, buy; not sell"
    assert owner.evaluate("failures") == [refusal]
    owner.clock.pause_at("2026-01-02T00:00:10Z")
    owner.wait_for_function("stored.at(-1).step === 1")
    assert holds(owner.evaluate("stored.at(-1)")) == [0, 1, 0, 0]


def test_one_tab_owns_the_state_and_the_next_goes_on_when_it_closes(context: BrowserContext) -> None:
    owner = opened(context, "count")
    states(owner, 1)
    other = opened(context, "count")
    messages = other.evaluate("seen.messages")
    other.evaluate("device.event()")
    assert other.evaluate("seen.messages") == messages
    other.clock.run_for(TICK)
    other.clock.run_for(TICK)
    assert other.evaluate("seen.messages") > messages
    assert other.evaluate("seen.transactions") == 0
    owner.clock.run_for(TICK)
    owner.wait_for_function("stored.length >= 3")
    kept = owner.evaluate("stored.at(-1)")
    assert holds(kept) == [1]
    owner.evaluate("device.close()")
    taken_over = states(other, 1)[-1]
    assert holds(taken_over) == [1]
    assert taken_over["ciphertexts"] != kept["ciphertexts"]


def test_tabs_tell_on_what_happened_in_them_and_not_what_others_told(context: BrowserContext) -> None:
    owner = opened(context, "count")
    states(owner, 1)
    others = [opened(context, "count") for _ in range(2)]
    others[0].evaluate("device.event()")
    for ticks in range(1, 4):
        owner.clock.run_for(TICK)  # of all pages: the clock is the browser's
        for page in others:
            page.wait_for_function("count => told.length >= count", arg=ticks)
        owner.wait_for_function("count => stored.length >= count", arg=1 + ticks)
    # All of one size; an end after each name, then nothing.
    told = "told.slice(0, 3).map((told) => [told.length, told.filter(Boolean).length])"
    nothing = [512, 0]
    assert [page.evaluate(told) for page in others] == [[[512, 1], nothing, nothing], [nothing] * 3]
    assert holds(owner.evaluate("stored.at(-1)")) == [1]


def test_a_page_that_slept_through_steps_reports_once(
    context: BrowserContext,
) -> None:
    page = opened(context, "count")
    states(page, 1)
    page.evaluate("device.event(); refuse = true")
    page.clock.fast_forward(5 * DAY)
    page.wait_for_function("failures.length === 1")
    page.evaluate("refuse = false")
    page.clock.run_for(TICK)
    page.wait_for_function("stored.at(-1).phase === 'done'")
    phases = [state["phase"] for state in page.evaluate("stored")]
    assert phases == ["collecting", "reported", "reported", "done"]
    first, second = page.evaluate("delivered")
    assert first == second
    assert sorted(page.evaluate("stored.at(-1)")) == ["epsilon", "name", "phase", "recipe", "sent"]
    assert page.evaluate("failures") == ["Error: the server is away"]


def test_a_page_that_slept_through_99_000_steps_ticks_as_always(
    context: BrowserContext,
) -> None:
    page = opened(context, "histogram", steps=100_000, step_seconds=1)
    states(page, 1)
    drawn: list[int] = []
    page.evaluate("device.event()")
    for sleep in (TICK, TICK, 99_000_000):
        before = page.evaluate("drawn")
        page.clock.fast_forward(sleep)
        states(page, 2 + len(drawn))
        drawn.append(page.evaluate("drawn") - before)
    taken = [state["step"] for state in page.evaluate("stored")]
    assert taken == [2, 32, 62, 99_062]
    assert [holds(state) for state in page.evaluate("stored")[1:]] == [[0, 1, 0, 1, 1, 0]] * 3
    # 32 bytes for each of six ciphertexts, and what the curve's blinding takes; drawn anew with 2^-125.
    assert len(set(drawn)) == 1
    assert drawn[0] >= 6 * 32


def test_a_page_comes_back_to_the_stored_state(browser: Browser, bundle: str, tmp_path: Path) -> None:
    with profile_of(browser, bundle, tmp_path) as context:
        page = opened(context, "count")
        states(page, 1)
        page.evaluate("device.event()")
        page.clock.run_for(TICK)
        kept = states(page, 2)[-1]
        page.close()
        resumed = states(opened(context, "count"), 1)[-1]
    assert holds(resumed) == [1]
    assert resumed["nonce"] == kept["nonce"]
    assert resumed["ciphertexts"] != kept["ciphertexts"]


def test_recipe_that_is_not_allowed_is_neither_joined_nor_continued(
    browser: Browser, bundle: str, tmp_path: Path
) -> None:
    def opened_without(context: BrowserContext, name: str) -> None:
        page = context.new_page()
        page.add_init_script(f"window.forbidden = ['{name}']")
        opened_in(page, "funnel").evaluate("device.event('open')")
        page.wait_for_function("failures.length === 1")
        page.clock.run_for(2 * TICK)
        page.wait_for_function("failures.length === 2")
        assert page.evaluate("failures") == ["Error: not allowed"] * 2
        assert page.evaluate("stored") == []
        page.close()

    with profile_of(browser, bundle, tmp_path) as context:
        opened_without(context, "buy")
        page = opened(context, "funnel")
        kept = states(page, 1)[-1]
        page.close()
        opened_without(context, "search")
        resumed = states(opened(context, "funnel"), 1)[-1]
    assert shape(resumed) == shape(kept)
    assert holds(resumed) == [1, 0, 0, 0]


def test_a_server_that_is_away_is_asked_ever_more_seldom(
    context: BrowserContext,
) -> None:
    page = opened(context, "count")
    states(page, 1)
    page.evaluate("refuse = true")
    page.clock.fast_forward(5 * DAY)
    page.wait_for_function("failures.length === 1")
    tried = []
    for tick in range(1, 33):
        before = page.evaluate("delivered.length")
        page.clock.run_for(TICK)
        page.wait_for_function("count => stored.length === count", arg=2 + tick)
        if page.evaluate("delivered.length") > before:
            tried.append(tick)
    assert tried == [1, 3, 7, 15, 31]


def test_a_report_that_will_never_be_taken_is_given_up(context: BrowserContext) -> None:
    page = opened(context, "count")
    states(page, 1)
    page.evaluate("window.closed_early = true")
    page.clock.fast_forward(5 * DAY)
    page.wait_for_function("stored.at(-1).phase === 'done'")
    assert page.evaluate("failures") == ["UndeliverableError: the recipe is closed"]
    assert sorted(page.evaluate("stored.at(-1)")) == ["epsilon", "name", "phase", "recipe"]


def test_a_page_asks_for_its_token_at_ticks_and_reports_with_it_only(context: BrowserContext) -> None:
    page = opened(context, "count-with-token")
    page.wait_for_function("failures.length === 1")
    page.evaluate("device.event()")
    page.clock.run_for(TICK)
    page.wait_for_function("failures.length === 2")
    kept = page.evaluate("stored.at(-1)")
    assert holds(kept) == [1]
    page.evaluate("noToken = ''")
    page.clock.fast_forward(5 * DAY)
    page.wait_for_function("stored.length === 3")
    waiting = page.evaluate("stored.at(-1)")
    assert (waiting["phase"], waiting["step"], page.evaluate("delivered")) == ("collecting", 5, [])
    page.clock.run_for(TICK)  # the first pause is over
    page.wait_for_function("stored.at(-1).token?.token === 'AAAA'")
    page.clock.run_for(TICK)
    page.wait_for_function("stored.at(-1).phase === 'done'")
    assert page.evaluate("asked") == [0, 0, 5]
    [report] = page.evaluate("delivered")
    nonce = base64.b64decode(kept["token"]["nonce"])
    assert (base64.b64decode(report["nonce"]), report["token"]) == (nonce[16:], "AAAA")


def test_a_page_without_a_token_ends_or_does_not_join(
    context: BrowserContext,
) -> None:
    page = opened(context, "count-with-token")
    page.wait_for_function("failures.length === 1")
    page.evaluate("noToken = undefined")
    page.clock.run_for(TICK)
    page.wait_for_function("stored.at(-1).phase === 'done'")
    state = page.evaluate("stored.at(-1)")
    facts = {"phase": "done", "name": "Shared screens", "epsilon": 2}
    assert state == facts | {"recipe": state["recipe"], "refused": "it had another token"}
    assert page.evaluate("delivered") == []
    asked = page.evaluate("asked.length")
    page.clock.run_for(200 * TICK)
    assert page.evaluate("asked.length") == asked
    page.close()
    again = opened(context, "count-with-token")
    again.wait_for_function("stored.length === 1")
    assert (again.evaluate("stored"), again.evaluate("asked")) == ([state], [])
    again.close()
    other = context.new_page()
    other.add_init_script("window.withoutToken = true")
    opened_in(other, "count-of-some-with-token")
    other.wait_for_function("failures.length === 1")
    assert other.evaluate("failures")[0].startswith("FieldError: token: must be there")
    assert other.evaluate("stored") == []


def test_a_device_that_left_sends_nothing_and_does_not_join_again(context: BrowserContext) -> None:
    page = opened(context, "count")
    joined = states(page, 1)[-1]
    page.evaluate("device.event(); leave()")
    page.clock.run_for(TICK)
    page.wait_for_function("stored.length === 2")
    left = page.evaluate("stored.at(-1)")
    facts = {"phase": "done", "name": "Shared screens", "epsilon": 2, "left": True}
    assert left == facts | {"recipe": joined["recipe"]}
    page.evaluate("leave()")
    page.clock.fast_forward(5 * DAY)
    page.close()
    again = opened(context, "count")
    again.wait_for_function("stored.length === 1")
    again.clock.run_for(10 * TICK)
    assert (again.evaluate("stored"), again.evaluate("delivered")) == ([left], [])


def test_a_device_leaves_a_recipe_that_it_has_not_joined_yet(context: BrowserContext) -> None:
    page = context.new_page()
    page.add_init_script("window.forbidden = ['search']")
    opened_in(page, "funnel")
    page.wait_for_function("failures.length === 1")
    page.evaluate("leave()")
    page.clock.run_for(2 * TICK)
    page.wait_for_function("stored.length === 1")
    left = page.evaluate("stored")
    assert left == [{"phase": "done", "recipe": recipe_of("funnel").identifier, "left": True}]
    page.close()
    again = opened(context, "funnel")
    again.wait_for_function("stored.length === 1")
    assert again.evaluate("stored") == left


DELETE = """recipe => new Promise((done) => {
  const opening = indexedDB.open("devices-web");
  opening.onsuccess = () => {
    const change = opening.result.transaction("states", "readwrite");
    change.objectStore("states").delete(recipe);
    change.oncomplete = () => { opening.result.close(); done(); };
  };
})"""


def test_a_recipe_beyond_the_lifetime_is_not_joined_also_after_deletion(context: BrowserContext) -> None:
    context.add_init_script("window.lifetime = 5")
    page = opened(context, "count")
    [first] = states(page, 1)
    page.close()
    refusal = "epsilon: is 4 for one report, more than is left of this device's lifetime: 2 of 5 used, 3 left"
    for _ in range(2):
        other = opened(context, "histogram")
        other.wait_for_function("failures.length === 1")
        assert other.evaluate("failures") == [f"FieldError: {refusal}"]
        assert other.evaluate("stored") == []
        other.evaluate(DELETE, first["recipe"])
        other.close()
    again = opened(context, "count")
    again.wait_for_function("failures.length === 1")
    assert "has joined the recipe already, by its lifetime budget" in again.evaluate("failures[0]")
    again.close()
    states(opened(context, "funnel"), 1)


FIRST_VERSION = """states => new Promise((done) => {
  indexedDB.deleteDatabase("devices-web");
  const opening = indexedDB.open("devices-web", 1);
  opening.onupgradeneeded = ({ target: { result } }) => {
    const store = result.createObjectStore("states", { keyPath: "recipe" });
    states.forEach((state) => store.put(state));
    ["logs", "identities"].forEach((name) => result.createObjectStore(name));
  };
  opening.onsuccess = () => { opening.result.close(); done(); };
})"""


def test_recipes_of_the_first_version_of_the_storage_are_counted(context: BrowserContext) -> None:
    """By the ε of their states; one that ended, without an ε, by the most that usual limits let it be."""
    page = opened(context, "count")
    kept = states(page, 1)
    page.close()
    context.add_init_script("window.lifetime = 20")
    page = context.new_page()
    page.goto(SITE)
    page.evaluate(FIRST_VERSION, [*kept, {"phase": "done", "recipe": "0" * 64}])
    opened_in(page, "histogram")
    page.wait_for_function("failures.length === 1")
    assert "lifetime: 18 of 20 used, 2 left" in page.evaluate("failures[0]")
    page.close()
    resumed = opened(context, "count")
    assert shape(states(resumed, 1)[0]) == shape(kept[0])


def test_a_lifetime_outside_its_range_is_refused_by_a_page(context: BrowserContext) -> None:
    for wrong in ("-1", "NaN", "Infinity", "1e7", "'8'"):
        page = context.new_page()
        page.add_init_script(f"window.lifetime = {wrong}")
        page.goto(SITE)
        page.wait_for_function("window.ready")
        with pytest.raises(Error, match="lifetimeEpsilon: must be a number from 0 to 1,000,000"):
            page.evaluate("recipe => begin(recipe)", served(recipe_of("count")))
