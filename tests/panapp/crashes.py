"""Workers that are killed."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil
import pytest
from django.db import transaction

from publishing.publication import recipe_close
from recipes.models import Recipe
from reports.store import Step
from results.aggregation.models import Chunk, SubAggregate
from results.models import Release
from simulations.installation.services import Services, wait_until
from tests.factories import published_recipe, raw_reports_submit, report_of_values
from tests.patience import PATIENCE


@contextmanager
def chunk_held(recipe: Recipe) -> Iterator[None]:
    """Keep workers from finishing a chunk: they decrypt it, and then wait for this lock."""
    with transaction.atomic():
        # On SQLite the transaction itself holds the only write lock from its beginning.
        held = Chunk.objects.select_for_update().filter(recipe=recipe)
        assert held.exists(), "the chunk must still be there"
        list(held)
        yield


def worker_children(services: Services) -> list[psutil.Process]:
    """The one process that does the worker's tasks, and the beat, once they are there: a worker that was
    killed is started again, and starts others."""
    found: list[psutil.Process] = []

    def started() -> bool:
        with suppress(psutil.NoSuchProcess):
            found[:] = psutil.Process(services.pid("worker")).children(recursive=True)
        return len(found) == 2

    assert wait_until(started, PATIENCE)
    return found


def kill_all_of(services: Services, name: str) -> None:
    """Kill a program and its children, unless it is just being started."""
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(services.pid(name))
        for every in (*process.children(recursive=True), process):
            with suppress(psutil.NoSuchProcess):
                every.kill()


def busy_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def busy_child(services: Services, seconds: float) -> psutil.Process:
    """That which does tasks, once it has been busy for so long; the beat hardly is. What a worker runs for a
    moment while it starts may be found in its place: another one is looked for when that has gone."""
    found: list[psutil.Process] = []

    def busy() -> bool:
        found[:] = [child for child in before if busy_seconds(child) - before[child] > seconds]
        return len(found) > 0

    while not found:
        with suppress(psutil.NoSuchProcess):
            before = {child: busy_seconds(child) for child in worker_children(services)}
            assert wait_until(busy, PATIENCE, interval=0.01)
    return found[0]


def kill_in_mid_chunk(services: Services, *, whole_worker: bool, step: Step = Step.SUM) -> None:
    """Kill the process that decrypts a chunk, or the whole worker, and see that each report counts once.

    Args:
        step: in which chunks are decrypted: of rows, or of shards in the object store.
    """
    recipe = published_recipe(statistic="histogram", k=24, coin="bucket")
    ones, reports = 400, 600
    # A report's ciphertexts count once as a whole: one of them is its own, which is encrypted sooner.
    others = [report_of_values(recipe, [value] * 24)["ciphertexts"] for value in (0, 1)]
    batch = []
    for i in range(reports):
        report = report_of_values(recipe, [int(i < ones)])
        batch.append(report | {"ciphertexts": [*report["ciphertexts"], *others[i < ones]]})
    assert raw_reports_submit(recipe=recipe, reports=batch) == []
    recipe_close(recipe=recipe, actor=None)
    worker_children(services)
    assert wait_until(lambda: Chunk.objects.filter(step=step).exists(), PATIENCE, interval=0.005)
    # Of the second that 15,000 decryptions take: it has the chunk in hand, and is not done.
    victim = busy_child(services, 0.1)
    with chunk_held(recipe):
        victims = [victim] + ([victim.parent()] if whole_worker else [])
        for process in victims:
            process.kill()
    assert Chunk.objects.exists()
    assert SubAggregate.objects.get(recipe=recipe).reports == 0
    assert wait_until(lambda: Release.objects.exists(), PATIENCE)
    release = Release.objects.get()
    assert (release.reports, release.rejected) == (reports, {})
    expected = recipe.published.calibrated_statistic.estimate([ones] * 25, reports)
    assert tuple(release.values) == pytest.approx(expected.values)
