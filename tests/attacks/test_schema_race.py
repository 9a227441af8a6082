"""Requests in parallel for `GET /api/schema/`, the first after a start, must all be answered alike."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator

from pages import api_docs


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
