"""Requests in parallel for `GET /api/schema/`, the first after a start, were answered 500.

Before: each request ran the generator of the description, which keeps what it is doing on the views that all
threads share: of 40 requests in parallel 33 failed against a real server, and 38 as they are sent here.

Now: the description is made once, under a lock. Of 10 requests in parallel, 10 are answered alike; 40 take
four times as long to write, and show no more.
"""

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.conf import settings
from drf_spectacular.generators import SchemaGenerator

from pages import api_docs

SCRIPT = """
import json, os, sys, threading
sys.setswitchinterval(1e-6)  # as if there were a processor for each thread
os.environ["DJANGO_SETTINGS_MODULE"] = "panapp.settings"
from panapp.wsgi import application
from django.test import RequestFactory
from concurrent.futures import ThreadPoolExecutor
barrier = threading.Barrier(10)

def ask(_):
    environ = RequestFactory(SERVER_NAME="127.0.0.1").get("/api/schema/").environ
    answered = []
    barrier.wait()
    body = b"".join(application(environ, lambda status, headers, *_: answered.append(status)))
    return answered[0], len(body)

with ThreadPoolExecutor(10) as threads:
    print(json.dumps(list(threads.map(ask, range(10)))))
"""


def test_description_that_several_ask_for_first_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, Any]] = []

    def slowly(*_: object, **__: object) -> dict[str, Any]:
        threading.Event().wait(0.2)  # so that all others come meanwhile
        made.append({"number": len(made)})
        return made[-1]

    monkeypatch.setattr(api_docs, "_described", {})
    monkeypatch.setattr(SchemaGenerator, "get_schema", slowly)
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: dict(api_docs.description()), range(4)))
    assert made == [{"number": 0}]
    assert answers == made * 4


@pytest.mark.long
def test_first_requests_for_the_description_may_come_in_parallel() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=settings.BASE_DIR, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    answers = [(status, length) for status, length in json.loads(done.stdout)]
    assert len(answers) == 10
    assert {status for status, _ in answers} == {"200 OK"}
    assert len(set(answers)) == 1
