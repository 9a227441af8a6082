"""How long a form waits for its promise, and the planner for its figures, over HTTP.

Run from the repository's root: `python -m benchmarks.previews`. It starts a site with its workers in a new
directory, and asks for the promise of a form and for plans, each time with other numbers: first while the
workers are idle, then while they compute guarantees and plans that take long.

Prints a table and writes `benchmarks/results/previews.json`. Exits with 1 if a preview on the idle site takes
more than `MOST_SECONDS` in the median.
"""

import argparse
import json
import secrets
import statistics
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.local_site import MEMBERS, prepare

RESULT = Path(__file__).resolve().parent / "results" / "previews.json"

MOST_SECONDS = 0.3

TOKEN = "t" * 32

PAUSE_SECONDS = 0.4
"""Before each request, as a form waits until nothing more is typed."""

EXPENSIVE = 4
"""Long questions that the workers have under way, of either kind."""


class Site:
    """A running site, and a session of an analyst on it."""

    def __init__(self, url: str, session: str) -> None:
        self.url = url
        self.headers = {"Cookie": f"sessionid={session}; csrftoken={TOKEN}", "X-CSRFToken": TOKEN}

    def post(self, path: str, content: bytes, kind: str) -> str:
        """The answer's text, also of one that says to ask again."""
        headers = {**self.headers, "Content-Type": kind}
        request = urllib.request.Request(f"{self.url}{path}", content, headers)  # noqa: S310  # a site of ours
        try:
            with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
                return str(response.read().decode())
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise
            return ""

    def open(self, path: str) -> None:
        """A page."""
        request = urllib.request.Request(f"{self.url}{path}", headers=self.headers)  # noqa: S310
        urllib.request.urlopen(request, timeout=60).close()  # noqa: S310

    def promise(self, number: int) -> bool:
        """Ask for the promise of a form with other numbers each time; whether it is there."""
        fields = {"steps": 7, "epsilon": 1 + number / 1000, "delta": 1e-6, "cohort_size": 1_000 + number}
        form = urllib.parse.urlencode({**fields, "population": "everyone"}).encode()
        page = self.post(
            "/recipes/promise/?statistic=count_nonzero", form, "application/x-www-form-urlencoded"
        )
        return "Someone who" in page

    def plan(self, number: int, **changes: Any) -> bool:
        """Ask for a plan, likewise; whether its figures are there."""
        parameters = {
            "steps": 7,
            "epsilon": 1 + number / 1000,
            "delta": 1e-6,
            "cohort_size": 1_000,
            **changes,
        }
        asked = {"statistic": "count_nonzero", "parameters": parameters, "population_size": 10_000}
        return "expectation" in self.post("/api/v1/plan", json.dumps(asked).encode(), "application/json")

    def keep_busy(self, number: int) -> None:
        """Ask for guarantees and plans that take a worker long."""
        from django.urls import reverse

        from recipes.operations import recipe_draft_save

        for one in range(number, number + EXPENSIVE):
            asked = {"cohort_size": 100_000 + one, "sampling_rate": 0.1, "epsilon": 4.0}
            draft = recipe_draft_save(members={**MEMBERS, **asked}, actor=None)
            self.open(reverse("recipe-draft", args=[draft.pk]))
            self.plan(one, **asked)


def wait_until_idle() -> None:
    """Return when no worker computes what was asked for before."""
    from storage.answers.models import Question

    while Question.objects.filter(ended_at=None).exists():
        time.sleep(0.2)


def measure(ask: Callable[[int], bool], numbers: range) -> dict[str, float]:
    """Seconds of one request after the other."""
    seconds, answered = [], 0
    for number in numbers:
        time.sleep(PAUSE_SECONDS)
        began = time.perf_counter()
        answered += ask(number)
        seconds.append(time.perf_counter() - began)
    seconds.sort()
    p95 = seconds[int(0.95 * len(seconds))]
    return {"p50": statistics.median(seconds), "p95": p95, "answered": answered / len(seconds)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=40, help="how often each is asked")
    times = parser.parse_args().times
    with tempfile.TemporaryDirectory() as directory:
        prepare(Path(directory))
        from django.contrib.auth.models import User
        from django.test import Client

        from accounts.operations import account_create
        from simulations.installation.services import running_services

        account_create(username="ana", password=secrets.token_urlsafe(), groups=["Analysts"])
        client = Client()
        client.force_login(User.objects.get())
        session = client.cookies["sessionid"].value
        with running_services(workers=2, apart=True) as services:
            site = Site(services.base_url, session)
            measure(site.promise, range(1, 4))
            measure(site.plan, range(1, 4))
            rows = {}
            for name, asked in (("promise", site.promise), ("plan", site.plan)):
                wait_until_idle()
                rows[f"{name}, idle"] = measure(asked, range(10, 10 + times))
            site.keep_busy(0)
            rows["promise, busy"] = measure(site.promise, range(200, 200 + times))
            site.keep_busy(100)
            rows["plan, busy"] = measure(site.plan, range(200, 200 + times))
    for name, row in rows.items():
        print(f"{name:16} p50 {row['p50']:.3f} s  p95 {row['p95']:.3f} s  answered {row['answered']:.0%}")
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(rows, indent=1) + "\n")
    return int(any(row["p50"] > MOST_SECONDS for name, row in rows.items() if name.endswith("idle")))


if __name__ == "__main__":
    sys.exit(main())
