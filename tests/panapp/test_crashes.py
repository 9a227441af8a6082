"""Workers that are killed, and messages that arrive twice."""

from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from aggregation.models import Chunk
from devices_sim.transport import HttpTransport, WireReport
from panapp.services import wait_until
from recipes.operations import recipe_close
from releases.models import Release
from reports.operations import reports_submit
from tests.factories import fresh_nonce, published_recipe, report_of_values
from tests.processes import services_on_test_database

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes]


@pytest.mark.parametrize("whole_worker", [False, True])
def test_workers_killed_in_mid_chunk_change_nothing_in_the_result(whole_worker: bool) -> None:
    recipe = published_recipe()
    ones, reports = 1_300, 6_000
    encrypted = {value: report_of_values(recipe, [value])["ciphertexts"] for value in (0, 1)}
    batch = [{"nonce": fresh_nonce(), "ciphertexts": encrypted[int(i < ones)]} for i in range(reports)]
    for start in range(0, reports, 1_000):
        assert (
            reports_submit(recipe=recipe, reports=batch[start : start + 1_000], decode=lambda raw: raw) == []
        )
    recipe_close(recipe=recipe, actor=None)
    kills = 0
    with services_on_test_database() as services:
        assert wait_until(lambda: Chunk.objects.exists(), 30, interval=0.005)
        while kills < 3 and Chunk.objects.exists():
            worker = psutil.Process(services.pid("worker 1"))
            # The pool's child does the work; killing it loses whatever it was summing.
            victims = worker.children(recursive=True) + ([worker] if whole_worker else [])
            for process in victims:
                process.kill()
            kills += bool(victims)
            left = Chunk.objects.count()
            wait_until(lambda left=left: Chunk.objects.count() < left, 5)
        assert wait_until(lambda: Release.objects.exists(), 60)
    release = Release.objects.get()
    assert kills > 0
    assert (release.reports, release.rejected) == (reports, {})
    expected = recipe.published.mechanism.estimate((ones,), reports)
    assert tuple(release.values) == pytest.approx(expected.values)


def test_the_same_batch_posted_many_times_at_once_counts_once() -> None:
    recipe = published_recipe()
    encrypted = tuple(report_of_values(recipe, [1])["ciphertexts"])
    reports = [WireReport(fresh_nonce(), encrypted) for _ in range(300)]
    shuffled = [reports, list(reversed(reports)), reports[150:] + reports[:150], reports]

    with services_on_test_database(workers=1) as services:

        def post(batch: list[WireReport]) -> int:
            with HttpTransport(services.base_url) as transport:
                return transport.submit_batch(str(recipe.identifier), batch).accepted

        with ThreadPoolExecutor(8) as pool:
            accepted = sum(pool.map(post, shuffled * 2))
        assert accepted == len(reports)
        recipe_close(recipe=recipe, actor=None)
        assert wait_until(lambda: Release.objects.exists(), 60)
    assert Release.objects.get().reports == len(reports)
