"""Reports in object storage with running services: each counts once, though web and worker are killed and the
way to the store is cut."""

import json
import random
import secrets
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from publishing.publication import recipe_close
from recipes.models import Recipe
from reports.models import ReportSegment, StoredReports
from reports.store import Step
from results.models import Release
from simulations.installation.services import Services, wait_until
from tests.factories import as_json, published_recipe, report_of_values
from tests.object_store import StoreServer
from tests.panapp import crashes
from tests.patience import PATIENCE
from tests.processes import services_on_test_database
from web.bodies import JSON_TYPE

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes, pytest.mark.long]

KILLS = 12


class Way:
    """The way to a store's server, which can be cut and comes back at the same address."""

    def __init__(self, server: StoreServer) -> None:
        # An address of this machine that nobody else uses, so that the port stays free while it is cut.
        self.address = (
            f"127.{secrets.randbelow(254) + 1}.{secrets.randbelow(256)}.{secrets.randbelow(254) + 1}"
        )
        self._to_port, self.port = server.port, 0
        self._process: subprocess.Popen[str] | None = None
        self.open()

    def open(self) -> None:
        command = [
            sys.executable,
            "-m",
            "tests.relay_process",
            self.address,
            str(self.port),
            str(self._to_port),
        ]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.port = int(self._process.stdout.readline())

    def cut(self) -> None:
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture
def way(store_server: StoreServer) -> Iterator[Way]:
    made = Way(store_server)
    yield made
    made.cut()


@pytest.fixture
def services(s3_store: str, way: Way, store_server: StoreServer) -> Iterator[Services]:
    environment = {
        **store_server.environment,
        "AWS_ENDPOINT_URL": f"http://{way.address}:{way.port}",
        "PANAPP_REPORT_STORE": s3_store,
    }
    with services_on_test_database(environment=environment) as started:
        yield started


def test_worker_killed_in_mid_shard_changes_nothing_in_the_result(services: Services) -> None:
    """All of it. Its child alone: test_installation.py, where chunks are of rows."""
    crashes.kill_in_mid_chunk(services, whole_worker=True, step=Step.SHARD)
    assert not StoredReports.objects.exists()


def brought(base_url: str, recipe: Recipe, body: bytes) -> bool:
    """Whether a report was acknowledged."""
    request = urllib.request.Request(  # noqa: S310  # our own server
        f"{base_url}/api/v1/recipes/{recipe.identifier}/reports/", body, {"Content-Type": JSON_TYPE}
    )
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310  # as above
            return answer.status == 201
    except urllib.error.HTTPError as error:
        if error.code != 503:
            raise
        return False
    except OSError:
        return False


def test_acknowledged_reports_count_once_whatever_is_killed(
    services: Services, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The web process, the worker with its child and the store, at random times, while reports come and while
    they are added up. A report is brought until it is acknowledged, so some are stored twice."""
    monkeypatch.setattr("simulations.installation.services.MOST_RESTARTS", 10 * KILLS)
    recipe = published_recipe(cohort_size=50)
    ones, reports = 130, 400
    waiting = [
        json.dumps(as_json(report_of_values(recipe, [int(number < ones)]))).encode()
        for number in range(reports)
    ]
    lock, ending, moment = threading.Lock(), threading.Event(), random.SystemRandom()
    acknowledged = [0]

    def bring() -> None:
        while not ending.is_set():
            with lock:
                if not waiting:
                    return
                body = waiting.pop()
            while not ending.is_set() and not brought(services.base_url, recipe, body):
                ending.wait(0.2)
            with lock:
                acknowledged[0] += 1

    def kill_something() -> None:
        what = moment.choice(("web", "worker", "way"))
        if what == "way":
            way.cut()
            ending.wait(moment.uniform(0, 1.5))
            way.open()
        else:
            crashes.kill_all_of(services, what)

    threads = [threading.Thread(target=bring) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(KILLS):
            kill_something()
            ending.wait(moment.uniform(0.1, 1.5))
        assert wait_until(lambda: acknowledged[0] == reports, PATIENCE)
    finally:
        ending.set()
        for thread in threads:
            thread.join(PATIENCE)
    assert sum(ReportSegment.objects.values_list("count", flat=True)) >= reports
    ending.clear()
    recipe_close(recipe=recipe, actor=None)
    for _ in range(KILLS // 2):
        if Release.objects.exists():
            break
        kill_something()
        ending.wait(moment.uniform(0.5, 3))
    assert wait_until(lambda: Release.objects.exists(), PATIENCE)
    release = Release.objects.get()
    assert (release.outcome, release.reports) == (Release.Outcome.RELEASED, reports), release.reason
    expected = recipe.published.calibrated_statistic.estimate([ones], reports)
    assert tuple(release.values) == pytest.approx(expected.values)
