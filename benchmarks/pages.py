"""What a running site's pages ask of a reader and of a browser: words, fields, heights, bytes, seconds.

Run from the repository's root, while `make demo` or `benchmarks.filled_site` runs:
`python -m benchmarks.pages --site http://127.0.0.1:8000`. Each page is opened in a Chromium of its own, with
nothing cached and no throttling: overview, the tabs of the newest results, series, every population that has
spent, the log, the planner, and with `--account NAME:PASSWORD` the forms. Bytes are those of the network,
compressed as they came. A page is opened several times; the median counts. Words and fields are those that
show before anything is unfolded.

Prints a table and writes `benchmarks/results/pages.json`. Exits with 1 if a page exceeds what the constants
allow.
"""

import argparse
import json
import re
import shutil
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

RESULT = Path(__file__).resolve().parent / "results" / "pages.json"

MOST_BYTES = {"overview": 60_000, "result": 60_000, "log": 150_000}
"""With everything that these pages load by themselves. Verifying loads what checks signatures."""

RESULTS, SERIES = 9, 2
"""The newest of each are opened."""

MOST_SECONDS = 0.3
"""From the beginning of the navigation to the first chart that has a place on the page."""

MOST_SERVER_SECONDS = 0.2
"""For the HTML of any of these pages."""

MOST_WORDS = {"result": 250, "tab": 350, "form": 300}
"""In the main part of a page."""

MOST_FIELDS = 10
"""Of a form."""

MOST_HEIGHT = 3_500
"""Of a result on a telephone, in pixels."""

NEW_RECIPE = "/recipes/new/?statistic=count_nonzero"
"""The form by statistic, with all its fields."""

SIZES = """
() => {
  const fields = "input:not([type=hidden]):not([type=range]), select, textarea";
  const words = (text) => text.split(/\\s+/).filter(Boolean).length;
  const closed = [...document.querySelectorAll("main select:not([multiple]) option:not(:checked)")]
    .filter((one) => one.parentElement.checkVisibility());
  return {
    words: words(document.querySelector("main").innerText)
      - closed.reduce((sum, one) => sum + words(one.innerText), 0),
    fields: [...document.querySelectorAll(`main :is(${fields})`)]
      .filter((one) => one.checkVisibility()).length,
  };
}
"""

CHART = "svg.drawing"
"""A chart as the server draws it."""

WATCH = """
(selector) => {
  const look = () => {
    const found = [...document.querySelectorAll(selector)].find((one) => one.clientHeight > 20);
    if (found && window.chartAt === undefined) window.chartAt = performance.now();
    else if (window.chartAt === undefined) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}
"""


@dataclass(frozen=True)
class Measured:
    """One page, opened once.

    Attributes:
        path: of the page.
        bytes: of all answers together, bodies as they came over the network.
        requests: how many answers.
        chart: seconds to the first chart; None if there is none within five seconds.
        server: seconds to the whole HTML, asked for alone.
        words, fields: that show, in the main part.
        height: at a width of 400 pixels.
    """

    path: str
    bytes: int
    requests: int
    chart: float | None
    server: float
    words: int
    fields: int
    height: int

    @property
    def kind(self) -> str:
        """Which limits hold: `overview`, `result`, `tab`, `form`, `log`, or none."""
        if self.path in ("/", "/log/"):
            return "log" if self.path == "/log/" else "overview"
        if re.match(r"/new/.|/recipes/new/", self.path):
            return "form"
        tab = re.fullmatch(r"/recipes/[0-9a-f]{64}/(.*)", self.path)
        return "" if tab is None else "tab" if tab[1] else "result"

    def problems(self) -> list[str]:
        """What it exceeds."""
        found = []
        if (self.chart or 0) > MOST_SECONDS or self.server > MOST_SERVER_SECONDS:
            found.append("too slow")
        if self.bytes > MOST_BYTES.get(self.kind, self.bytes):
            found.append("too many bytes")
        if self.words > MOST_WORDS.get(self.kind, self.words):
            found.append("too many words")
        if self.kind == "form" and self.fields > MOST_FIELDS:
            found.append("too many fields")
        if self.kind == "result" and self.height > MOST_HEIGHT:
            found.append("too high")
        return found


def signed_in(browser: Browser, site: str, account: str) -> Any:
    """The cookies of an account, `name:password`; none for no account."""
    if not account:
        return None
    name, _, password = account.partition(":")
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{site}/sign-in/")
    page.fill("[name=username]", name)
    page.fill("[name=password]", password)
    with page.expect_navigation():
        page.press("[name=password]", "Enter")
    return context.storage_state()


def measure(browser: Browser, site: str, path: str, state: Any = None) -> Measured:
    """Open the page in a context of its own, with these cookies."""
    context = browser.new_context(viewport={"width": 1200, "height": 900}, storage_state=state)
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    sizes: list[int] = []
    session.on("Network.loadingFinished", lambda event: sizes.append(int(event["encodedDataLength"])))
    page.add_init_script(f"({WATCH})({json.dumps(CHART)})")
    page.goto(f"{site}{path}", wait_until="networkidle")
    chart: Any = None
    if page.locator(CHART).count():
        chart = page.wait_for_function("window.chartAt", timeout=5_000).json_value() / 1000
    begun = time.perf_counter()
    context.request.get(f"{site}{path}").body()
    seconds = time.perf_counter() - begun
    found = page.evaluate(SIZES)
    page.set_viewport_size({"width": 400, "height": 900})
    height = page.evaluate("document.documentElement.scrollHeight")
    context.close()
    return Measured(path, sum(sizes), len(sizes), chart, seconds, found["words"], found["fields"], height)


def paths_of(browser: Browser, site: str, state: Any) -> list[str]:
    """The pages to open, as the site links them."""
    context = browser.new_context(storage_state=state)

    def links(path: str, pattern: str) -> list[str]:
        return list(dict.fromkeys(re.findall(pattern, context.request.get(f"{site}{path}").text())))

    recipes = links("/?status=released", r'href="(/recipes/[0-9a-f]{64}/)"')[:RESULTS]
    populations = links("/populations/", r'href="(/populations/[^"?]+/)"')
    tabs = [tab for path in recipes for tab in links(path, rf'href="({path}(?:privacy|verify|take-part)/)"')]
    series = links("/series/", r'href="(/series/[0-9a-f]{16}/)"')
    return [
        *("/", *recipes, *tabs, *series[:SERIES]),
        *(path for path in populations if path != "/populations/new/"),
        *("/log/", "/plan/"),
        *([*links("/new/", r'href="(/new/[a-z]+/)"'), NEW_RECIPE] if state else ()),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", default="http://127.0.0.1:8000", help="address of the running site")
    parser.add_argument("--times", type=int, default=5, help="how often each page is opened")
    parser.add_argument("--account", default="", help="name:password of an analyst, to open the forms too")
    arguments = parser.parse_args()
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    rows: list[Measured] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        measure(browser, arguments.site, "/")  # the browser's own start is not the page's
        state = signed_in(browser, arguments.site, arguments.account)
        for path in paths_of(browser, arguments.site, state):
            times = [measure(browser, arguments.site, path, state) for _ in range(arguments.times)]
            charts = [one.chart for one in times if one.chart is not None]
            rows.append(
                Measured(
                    path,
                    round(statistics.median(one.bytes for one in times)),
                    times[0].requests,
                    statistics.median(charts) if charts else None,
                    statistics.median(one.server for one in times),
                    *(times[0].words, times[0].fields, times[0].height),
                )
            )
        browser.close()
    names = ("bytes", "requests", "chart (s)", "HTML (s)", "words", "fields", "px")
    print(f"{'page':<40} {' '.join(f'{name:>9}' for name in names)}")
    for row in rows:
        chart = "–" if row.chart is None else f"{row.chart:.3f}"
        shown = f"{row.bytes:>9,} {row.requests:>9} {chart:>9} {row.server:>9.3f}"
        print(f"{_short(row.path):<40} {shown} {row.words:>9} {row.fields:>9} {row.height:>9,}")
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    wrong = [f"{problem}: {row.path}" for row in rows for problem in row.problems()]
    print("\n".join(wrong))
    return 1 if wrong else 0


def _short(path: str) -> str:
    """An address whose identifiers are cut."""
    return re.sub(r"([0-9a-f]{8})[0-9a-f]{8,}", r"\1…", path)


if __name__ == "__main__":
    sys.exit(main())
