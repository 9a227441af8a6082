"""How long a running site's pages take in a browser: until the first chart, and how many bytes.

Run from the repository's root, while `make demo` runs: `python -m benchmarks.pages --site
http://127.0.0.1:8000`. Each page is opened in a Chromium of its own, with nothing cached and no throttling:
overview, the newest result, every population that has spent, the planner. Bytes are those of the network,
compressed as they came. A page is opened several times; the median counts.

Prints a table and writes `benchmarks/results/pages.json`. Exits with 1 if a page with a chart takes more
bytes or time than `MOST_BYTES` and `MOST_SECONDS` allow.
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

MOST_BYTES = 60_000
"""Of the overview and of a result's page, with everything that these load by themselves."""

MOST_SECONDS = 0.3
"""From the beginning of the navigation to the first chart that has a place on the page."""

MOST_SERVER_SECONDS = 0.2
"""For the HTML of any of these pages."""

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
    """

    path: str
    bytes: int
    requests: int
    chart: float | None
    server: float


def measure(browser: Browser, site: str, path: str) -> Measured:
    """Open the page in a context of its own."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
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
    context.close()
    return Measured(path, sum(sizes), len(sizes), chart, seconds)


def paths_of(browser: Browser, site: str) -> list[str]:
    """The pages to open, as the site links them."""
    context = browser.new_context()

    def links(path: str, pattern: str) -> list[str]:
        return list(dict.fromkeys(re.findall(pattern, context.request.get(f"{site}{path}").text())))

    recipes = links("/?status=released", r'href="(/recipes/[0-9a-f]{64}/)"')
    populations = links("/populations/", r'href="(/populations/[^"?]+/)"')
    return ["/", *recipes[:2], *(path for path in populations if path != "/populations/new/"), "/plan/"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", default="http://127.0.0.1:8000", help="address of the running site")
    parser.add_argument("--times", type=int, default=5, help="how often each page is opened")
    arguments = parser.parse_args()
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    rows: list[Measured] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        measure(browser, arguments.site, "/")  # the browser's own start is not the page's
        for path in paths_of(browser, arguments.site):
            times = [measure(browser, arguments.site, path) for _ in range(arguments.times)]
            charts = [one.chart for one in times if one.chart is not None]
            rows.append(
                Measured(
                    path,
                    round(statistics.median(one.bytes for one in times)),
                    times[0].requests,
                    statistics.median(charts) if charts else None,
                    statistics.median(one.server for one in times),
                )
            )
        browser.close()
    print(f"{'page':<40} {'bytes':>10} {'requests':>9} {'chart (s)':>10} {'HTML (s)':>9}")
    for row in rows:
        chart = "–" if row.chart is None else f"{row.chart:.3f}"
        print(f"{row.path[:40]:<40} {row.bytes:>10,} {row.requests:>9} {chart:>10} {row.server:>9.3f}")
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    slow = [row.path for row in rows if (row.chart or 0) > MOST_SECONDS or row.server > MOST_SERVER_SECONDS]
    large = [row.path for row in rows if row.bytes > MOST_BYTES and row.path != "/plan/"]
    for path in slow:
        print(f"too slow: {path}")
    for path in large:
        print(f"too many bytes: {path}")
    return 1 if slow or large else 0


if __name__ == "__main__":
    sys.exit(main())
