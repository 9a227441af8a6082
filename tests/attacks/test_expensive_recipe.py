"""Strangers flood one recipe whose reports are expensive to decrypt, to keep another one from its result.

A recipe has at most `RECIPE_CHUNKS` chunks with workers or on their way, and the next one is sent when
one is done. So the other recipe waits for 5 chunks at most, however many there are: for 50 s with one
worker and chunks of 10 s. Any closed recipe can be withheld, and the tasks of its chunks then find nothing.
"""

import threading
from collections import deque
from typing import Any

import pytest
from celery import current_app
from django.db import connection

from publishing.publication import recipe_close
from recipes.models import Recipe
from reports.models import StoredReports
from results.aggregation.models import Chunk
from results.aggregation.tasks import TASK as STEP
from results.aggregation.tasks import process_chunk
from results.models import Release
from results.operations import result_withhold
from results.tasks import advance_collection
from tests.concurrency import at_once
from tests.driving import collections_advance
from tests.factories import published_recipe, report_of_values, submitted
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db

FLOOD = 20
"""Chunks of the flooded recipe; some 500 in the attack as it was made."""


class OneWorker:
    """A queue, first come, first served, and the one worker that serves it. It takes the steps of recipes
    that chunks send for, too."""

    def __init__(self) -> None:
        self.queue: deque[str] = deque()
        self.steps: deque[tuple[str, str]] = deque()
        self.done: list[Recipe] = []

    def send(self, task: str, args: tuple[str, str]) -> None:
        assert task == STEP
        self.steps.append(args)

    def work(self) -> None:
        key = self.queue.popleft()
        chunk = Chunk.objects.select_related("recipe").filter(pk=key).first()
        if chunk is not None:
            self.done.append(chunk.recipe)
        process_chunk(key)
        while self.steps:
            advance_collection(*self.steps.popleft())


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch, settings: Any) -> OneWorker:
    worker = OneWorker()
    monkeypatch.setattr(process_chunk, "delay", worker.queue.append)
    monkeypatch.setattr(current_app, "send_task", worker.send)
    settings.CHUNK_REPORTS = 1
    return worker


def closed_with(reports: int, name: str) -> Recipe:
    recipe = published_recipe(cohort_size=2, name=name)
    bodies = [report_of_values(recipe, [1]) for _ in range(reports)]
    assert submitted(recipe, *bodies) == []
    return recipe_close(recipe=recipe, actor=None)


def test_a_flooded_recipe_keeps_another_waiting_for_its_share_only(
    worker: OneWorker, settings: Any, django_capture_on_commit_callbacks: Any
) -> None:
    flooded = closed_with(FLOOD, "Flooded")
    with django_capture_on_commit_callbacks(execute=True):
        collections_advance()
    innocent = closed_with(2, "Innocent")
    while not Release.objects.filter(recipe=innocent).exists():
        with django_capture_on_commit_callbacks(execute=True):
            collections_advance()
        with django_capture_on_commit_callbacks(execute=True):
            worker.work()
    # The tick sends both of its chunks behind those that are underway, and they are the last ones.
    assert worker.done.count(flooded) <= settings.RECIPE_CHUNKS + 1
    assert Release.objects.get().reports == 2
    # Nothing is lost of the other: it goes on to its end.
    while worker.queue:
        with django_capture_on_commit_callbacks(execute=True):
            worker.work()
    assert Release.objects.get(recipe=flooded).reports == FLOOD


def test_flooded_recipe_is_withheld_soon(worker: OneWorker, django_capture_on_commit_callbacks: Any) -> None:
    flooded = closed_with(FLOOD, "Flooded")
    with django_capture_on_commit_callbacks(execute=True):
        collections_advance()
        result_withhold(recipe=flooded, reason="its reports take too long", actor=None)
    assert not Chunk.objects.exists()
    assert not StoredReports.objects.exists()
    while worker.queue:
        worker.work()
    assert worker.done == []
    assert Release.objects.get().outcome == Release.Outcome.WITHHELD


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
@pytest.mark.django_db(transaction=True)
def test_recipe_is_withheld_while_chunks_are_finished(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """Neither waits for the other for ever."""
    settings.CHUNK_REPORTS = 1
    monkeypatch.setattr(process_chunk, "delay", lambda chunk: None)
    flooded = closed_with(4, "Flooded")
    collections_advance()
    finishing, withholding = threading.Event(), threading.Event()

    def pause_with_the_first_lock(execute: Any, sql: str, *arguments: Any) -> Any:
        answer = execute(sql, *arguments)
        if sql.endswith("UPDATE") and not finishing.is_set():
            finishing.set()
            withholding.wait(1)
        return answer

    def work() -> None:
        with connection.execute_wrapper(pause_with_the_first_lock):
            process_chunk(str(Chunk.objects.values_list("pk", flat=True)[0]))

    def withhold() -> None:
        assert finishing.wait(PATIENCE)
        result_withhold(recipe=flooded, reason="its reports take too long", actor=None)
        withholding.set()

    at_once(work, withhold)
    assert Release.objects.get().cause == Release.Cause.GIVEN_UP
    assert not Chunk.objects.exists()
