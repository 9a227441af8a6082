"""The site of the installation: takes up what was left, brings it to its end, and tells how it ended.

Speaks to the product as those do who are outside of it: over HTTP, and by the names of tasks.
"""

import json
import random
import secrets
import sys
from collections import deque
from datetime import datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tests.installation_before.process import PORTS, begin, listen_elsewhere, shift_clock

BEAT = (
    "releases.tasks.advance_collections",
    "leader.tasks.advance_tasks",
    "leader.tasks.call_off_registrations",
    "streams.tasks.erase_old_keys",
    "dap.tasks.truncate_log",
    "analyzer.tasks.advance_intakes",
)
"""What the old beat goes on sending."""

ROUNDS = 12
"""Of the beat, at most."""

DRAFT = 3
"""Key of the draft."""


class Repeatable(random.Random):
    """In place of the system's randomness, so that a state has one estimate."""

    def __init__(self) -> None:
        super().__init__(12)


def main() -> None:
    left = json.loads(Path(sys.argv[1]).read_text())
    secrets.SystemRandom = Repeatable  # type: ignore[misc, assignment]  # see Repeatable
    begin(datetime.fromisoformat(sys.argv[2]))
    helper, shuffler = (int(port) for port in sys.stdin.readline().split())
    listen_elsewhere({PORTS["helper"]: helper, PORTS["shuffler"]: shuffler})
    json.dump(_finished(left), sys.stdout)


def _finished(left: dict[str, Any]) -> dict[str, Any]:
    from django.test import Client

    recipes: dict[str, str] = left["recipes"]
    workers = Workers()
    workers.take_up(left["messages"])
    browser = Client(SERVER_NAME="127.0.0.1")
    answers = _devices_send(browser, left)
    browser.post("/sign-in/", {"username": "analyst", "password": "analyst of a test"})
    for name in ("stream", "two servers"):
        browser.post(f"/recipes/{recipes[name]}/close/")
    # The time of another one is over.
    shift_clock(timedelta(minutes=4))
    for _ in range(ROUNDS):
        for task in BEAT:
            workers.do(task, [])
        if not workers.do_all():
            break
        shift_clock(timedelta(seconds=3))
    # A broker may deliver what it has twice, and late.
    workers.take_up(left["messages"])
    pages = ["/", "/populations/", "/populations/pilots/", "/audit/", f"/recipes/drafts/{DRAFT}/"]
    pages += [f"/recipes/{identifier}/" for identifier in recipes.values()]
    return {
        "answers": answers,
        "pages": {page: browser.get(page).status_code for page in pages},
        "recipes": {name: _json(browser.get(f"/api/v1/recipes/{recipes[name]}/")) for name in recipes},
        "results": {name: _json(browser.get(f"/recipes/{recipes[name]}/result.json")) for name in recipes},
        "log": _json(browser.get("/audit/export.json")),
        "verified": _verified(),
        "book": _json(browser.get("/populations/pilots/book.json")),
    }


def _verified() -> dict[str, Any]:
    """What checking the log comes to, and its leaves."""
    from public_log.models import Leaf
    from public_log.verification import log_verify

    size = log_verify()
    leaves = Leaf.objects.order_by("position").values_list("content", flat=True)
    return {"size": size, "commitments": [json.loads(leaf)["commitment"] for leaf in leaves]}


def _devices_send(devices: Any, left: dict[str, Any]) -> dict[str, int]:
    """Send what was sent before, and another batch of items; the statuses of the answers."""
    sent, recipes = left["sent_before"], left["recipes"]
    another = {"batch": "12" * 16, "items": ["50", "51"]}
    addresses = {
        "the same report": (f"/api/v1/recipes/{recipes['count']}/reports/", sent["report"]),
        "the same items": (f"/api/v1/recipes/{recipes['stream']}/items/", sent["items"]),
        "other items": (f"/api/v1/recipes/{recipes['stream']}/items/", another),
    }
    return {
        what: devices.post(address, body, content_type="application/json").status_code
        for what, (address, body) in addresses.items()
    }


def _json(response: Any) -> Any:
    """What is answered; None where there is nothing."""
    return json.loads(response.getvalue()) if response.status_code == HTTPStatus.OK else None


class Workers:
    """They take tasks by their names; what is sent to them meanwhile waits here and not on a broker."""

    def __init__(self) -> None:
        from panapp.celery import celery_application

        celery_application.loader.import_default_modules()
        self._application = celery_application
        self._sent: deque[tuple[str, list[Any]]] = deque()
        celery_application.send_task = self._take

    def take_up(self, messages: list[tuple[str, list[Any]]]) -> None:
        """Do what waited in the queues, and what comes of it."""
        self._sent.extend(messages)
        self.do_all()

    def do(self, name: str, arguments: list[Any]) -> None:
        self._application.tasks[name].apply(args=arguments, throw=True)

    def do_all(self) -> int:
        """Do all that was sent, and what comes of it; how much that was."""
        done = 0
        while self._sent:
            self.do(*self._sent.popleft())
            done += 1
        return done

    def _take(self, name: str, args: Any = (), kwargs: Any = None, **options: Any) -> None:
        # As a broker would carry it.
        self._sent.append((name, json.loads(json.dumps(list(args or ())))))


if __name__ == "__main__":
    main()
