"""Collections with Janus' own binaries over HTTP: both directions, its client, and its collector.

JANUS_CHECKOUT names a checkout of github.com/divviup/janus in which they are built; docs/operations/janus.md
says how.
"""

import json
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import include, path
from django.utils import timezone

from dap.leader.aggregation import aggregation_job_drive
from dap.leader.collection import collection_job_drive
from dap.leader.peers import peer_of
from dap.leader.periodic_check import tasks_advance
from dap.models import Side
from dap.operations import task_named
from dap.selectors import report_count
from dap.task_files import HELPER, LEADER, TaskParameters, task_file_write
from panprivacy.device.dap_upload import TaskClient
from panprivacy.device.transport import HttpTransport
from panprivacy.formats import base64_text
from panprivacy.protocols.dap.basics import BatchMode, HpkeConfig
from panprivacy.protocols.dap.dialects import BEARER, DAP_AUTH, Token
from panprivacy.protocols.dap.task import TaskConfiguration
from panprivacy.protocols.dap.vdafs import (
    Prio3CountConfig,
    Prio3HistogramConfig,
    Prio3SumConfig,
    Prio3SumVecConfig,
)
from tests.peers.janus_processes import JanusServer, JanusTester, until

CHECKOUT = Path(os.environ.get("JANUS_CHECKOUT", "/nowhere"))
BINARIES = CHECKOUT / "target" / "debug"

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        not (BINARIES / "janus_aggregator").is_file(),
        reason="JANUS_CHECKOUT names no checkout of github.com/divviup/janus at 4ab28a36 with its binaries",
    ),
]

urlpatterns = [
    path("leader/", include("dap.leader.urls")),
    path("helper/", include("dap.helper.urls")),
]
"""Both sides of ours; a task has one of them."""

PRECISION = 3600
MIN_BATCH_SIZE = 12
TASK_INFO = b"task-info"
"""The one that Janus' client knows."""

VDAFS: dict[str, tuple[int, Any, dict[str, str], list[Any], Any]] = {
    "Prio3Count": (1, Prio3CountConfig(), {}, [1, 0, 1, 1], "9"),
    "Prio3Sum": (2, Prio3SumConfig(300), {"max_measurement": "300"}, [300, 0, 17, 5], "966"),
    "Prio3SumVec": (
        3,
        Prio3SumVecConfig(3, 7, 2),
        {"max_measurement": "7", "length": "3", "chunk_length": "2"},
        [[7, 0, 1], [1, 2, 3], [0, 0, 7], [5, 5, 5]],
        ["39", "21", "48"],
    ),
    "Prio3Histogram": (
        4,
        Prio3HistogramConfig(4, 2),
        {"length": "4", "chunk_length": "2"},
        [0, 3, 3, 1],
        ["3", "3", "0", "6"],
    ),
}
"""VDAF → its code point; parameters, and as Janus names them; measurements; their sum, three times."""


@pytest.fixture(scope="module")
def programs() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module")
def janus(programs: ExitStack, tmp_path_factory: pytest.TempPathFactory) -> JanusServer:
    return JanusServer(programs, CHECKOUT, BINARIES, tmp_path_factory.mktemp("janus"))


@pytest.fixture(scope="module")
def client(programs: ExitStack) -> JanusTester:
    return JanusTester(programs, BINARIES, "janus_interop_client")


@pytest.fixture(scope="module")
def collector(programs: ExitStack) -> JanusTester:
    return JanusTester(programs, BINARIES, "janus_interop_collector")


@pytest.fixture
def ours(live_server: Any, settings: Any, janus: JanusServer) -> str:
    """The base address of this side."""
    address = live_server.url.replace("localhost", "127.0.0.1")
    settings.ROOT_URLCONF = __name__
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "127.0.0.1"]
    settings.JANUS_PARTNERS = [janus.url.removesuffix("/")]
    settings.LEADER_URL, settings.HELPER_URL = f"{address}/leader", f"{address}/helper"
    return address


class Task:
    """A task of two organizations, of which one runs Janus, as Janus' collector does. All learn of it by
    files."""

    def __init__(
        self, leader: str, helper: str, vdaf: str, mode: BatchMode, collector: JanusTester, folder: Path
    ) -> None:
        number, parameters, words, self.measurements, self.sum = VDAFS[vdaf]
        self.collector, self.folder = collector, folder
        self.configuration = TaskConfiguration(
            task_info=TASK_INFO,
            leader_aggregator_endpoint=leader,
            helper_aggregator_endpoint=helper,
            time_precision=PRECISION,
            min_batch_size=MIN_BATCH_SIZE,
            batch_mode=mode,
            batch_config=b"",
            vdaf_type=number,
            vdaf_configuration=parameters.encode(),
            extensions=(),
        )
        self.task_id = bytes(1) + secrets.token_bytes(31)
        self._token = Token(BEARER, secrets.token_urlsafe())
        self._verify_key = secrets.token_bytes(32)
        self._named = {
            "task_id": base64_text.encode_url(self.task_id),
            "leader": leader,
            "helper": helper,
            "vdaf": {"type": vdaf, **words},
            "time_precision": PRECISION,
            "min_batch_size": MIN_BATCH_SIZE,
            "batch_mode": mode.value,
        }
        token = secrets.token_urlsafe()
        made = collector.ask("add_task", **self._named, collector_authentication_token=token)
        self._collector_token = Token(DAP_AUTH, token)
        self._collector_config = HpkeConfig.decode(base64_text.decode_url(made["collector_hpke_config"]))

    def file(self, role: str) -> str:
        """For the side of this role."""
        leads = role == LEADER
        return task_file_write(
            TaskParameters(
                role=role,
                task_id=self.task_id,
                configuration=self.configuration,
                verify_key=self._verify_key,
                collector_config=self._collector_config,
                token=self._token if leads else None,
                token_hash=None if leads else self._token.hashed(),
                collector_token_hash=self._collector_token.hashed() if leads else None,
            )
        )

    def imported(self, *command: str, role: str) -> None:
        """This side takes part."""
        file = self.folder / "task.yaml"
        file.write_text(self.file(role))
        said(*command, str(file))

    def report(self, client: JanusTester) -> None:
        """Every measurement from Janus' client, and twice from ours."""
        for measurement in self.measurements:
            client.ask("upload", **self._named, measurement=_in_words(measurement))
        mine = TaskClient(self.task_id, self.configuration, HttpTransport("http://127.0.0.1"))
        now = int(time.time()) // PRECISION
        assert mine.measure(self.measurements * 2, time=now).errors == (None,) * 2 * len(self.measurements)
        mine.close()

    def require_sum(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        """What Janus' collector reads of the batch; `meanwhile` is called until it is there."""
        query: dict[str, int] = {"type": self.configuration.batch_mode.value}
        if self.configuration.batch_mode is BatchMode.TIME_INTERVAL:
            start = int(time.time()) // PRECISION * PRECISION - PRECISION
            query |= {"batch_interval_start": start, "batch_interval_duration": 3 * PRECISION}
        started = self.collector.ask(
            "collection_start", task_id=self._named["task_id"], agg_param="", query=query
        )
        answer: dict[str, Any] = {}

        def ended() -> bool:
            meanwhile()
            answer.update(self.collector.ask("collection_poll", handle=started["handle"]))
            return answer["status"] == "complete"

        until(ended, "the collector has the result")
        assert (answer["report_count"], answer["result"]) == (3 * len(self.measurements), self.sum)


def _in_words(measurement: Any) -> Any:
    return [str(each) for each in measurement] if isinstance(measurement, list) else str(measurement)


@pytest.mark.parametrize("vdaf", VDAFS)
@pytest.mark.parametrize("mode", BatchMode)
def test_our_leader_and_a_helper_that_runs_janus(
    ours: str,
    janus: JanusServer,
    client: JanusTester,
    collector: JanusTester,
    tmp_path: Path,
    vdaf: str,
    mode: BatchMode,
) -> None:
    task = Task(f"{ours}/leader/", janus.url, vdaf, mode, collector, tmp_path)
    janus.provision(task.file(HELPER))
    task.imported("task", "import", role=LEADER)
    task.report(client)
    stored = task_named(task_id=task.task_id, side=Side.LEADER)
    assert stored is not None
    peer = peer_of(stored)

    def advance() -> None:
        due = tasks_advance(now=timezone.now())
        for job in due.aggregation_jobs:
            aggregation_job_drive(job=job, peer=peer, now=timezone.now())
        for collection in due.collection_jobs:
            collection_job_drive(job=collection, peer=peer, now=timezone.now())

    task.require_sum(advance)


@pytest.mark.parametrize("vdaf", VDAFS)
@pytest.mark.parametrize("mode", BatchMode)
def test_a_leader_that_runs_janus_and_our_helper(
    ours: str,
    janus: JanusServer,
    client: JanusTester,
    collector: JanusTester,
    tmp_path: Path,
    vdaf: str,
    mode: BatchMode,
) -> None:
    task = Task(janus.url, f"{ours}/helper/", vdaf, mode, collector, tmp_path)
    task.imported("helper_tasks", "import", role=HELPER)
    janus.provision(task.file(LEADER))
    task.report(client)
    stored = task_named(task_id=task.task_id, side=Side.HELPER)
    assert stored is not None
    # Before that there is no batch for the leader to select.
    until(lambda: report_count(stored) == 3 * len(task.measurements), "the helper has counted all reports")
    task.require_sum()


@pytest.mark.usefixtures("ours")
def test_task_of_the_command_has_a_helper_that_runs_janus(janus: JanusServer) -> None:
    described = said(
        *("task", "create", "--janus", janus.url, "--vdaf", "prio3sum", "--max-measurement", "300"),
        *("--min-batch-size", "12"),
    )
    task = json.loads(described)
    janus.provision(said("task", "export", task["task_id"]))
    configuration = TaskConfiguration.decode(base64_text.decode_url(task["task_configuration"]))
    client = TaskClient(
        base64_text.decode_url(task["task_id"]), configuration, HttpTransport("http://127.0.0.1")
    )
    numbers = range(12)
    now = int(time.time()) // PRECISION
    assert client.measure(numbers, time=now).errors == (None,) * len(numbers)
    client.close()
    collected = json.loads(said("task", "collect", task["task_id"]))
    assert (collected["report_count"], collected["values"]) == (12, [sum(numbers)])


def said(*command: str) -> str:
    """What a command prints."""
    out = StringIO()
    call_command(*command, stdout=out)
    return out.getvalue()
