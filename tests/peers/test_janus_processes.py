"""Collections with Janus' own binaries over HTTP: both directions, its client, and its collector.

JANUS_CHECKOUT names a checkout of github.com/divviup/janus in which they are built; docs/operations/janus.md
says how.
"""

import itertools
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.utils import timezone

from dap.leader.aggregation import aggregation_job_drive
from dap.leader.collection import collection_job_drive
from dap.leader.peers import peer_of
from dap.leader.periodic_check import tasks_advance
from dap.leader.plain_tasks import PlainTask
from dap.models import HpkeKey, Side
from dap.operations import task_named
from dap.task_files import HELPER, LEADER, TaskParameters, task_file_read, task_file_write
from panprivacy.device.dap_upload import TaskClient
from panprivacy.device.transport import HttpTransport
from panprivacy.formats import base64_text
from panprivacy.protocols.dap.basics import BatchMode, HpkeConfig, Interval
from panprivacy.protocols.dap.client import shard_measurement
from panprivacy.protocols.dap.collection import CollectionJobReq, Query
from panprivacy.protocols.dap.dialects import JANUS
from panprivacy.protocols.dap.hpke import generate_keypair
from panprivacy.protocols.dap.media import media_type
from panprivacy.protocols.dap.task import TaskConfiguration
from panprivacy.protocols.dap.tokens import BEARER, DAP_AUTH, Token
from panprivacy.protocols.dap.upload import Report
from panprivacy.protocols.dap.vdafs import (
    Prio3CountConfig,
    Prio3HistogramConfig,
    Prio3SumConfig,
    Prio3SumVecConfig,
)
from panprivacy.protocols.hpke import KemName
from tests.collections.dap.leader.scene import one_hot_sum
from tests.collections.dap.leader.test_janus_conversation import BUCKETS, FILE, StoredPair
from tests.network import Answer
from tests.peers.janus_processes import JanusServer, JanusTester, sent, until
from web.transport import https_transport

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
    address: str = live_server.url.replace("localhost", "127.0.0.1")
    settings.ROOT_URLCONF = __name__
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "127.0.0.1"]
    settings.JANUS_PARTNERS = [janus.url.removesuffix("/")]
    settings.LEADER_URL, settings.HELPER_URL = f"{address}/leader", f"{address}/helper"
    return address


class Task:
    """A task of two organizations. One runs Janus; the collector is Janus' own. Files describe the task."""

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
            uploaded = client.ask("upload", **self._named, measurement=_in_words(measurement))
            assert uploaded["status"] == "success", uploaded
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
        asked = {"task_id": self._named["task_id"], "agg_param": "", "query": query}
        handle = self.collector.ask("collection_start", **asked)["handle"]
        answer: dict[str, Any] = {}

        def ended() -> bool:
            nonlocal handle
            meanwhile()
            answer.update(self.collector.ask("collection_poll", handle=handle))
            # A leader that runs Janus refuses the query until it has a batch to select.
            if "The batch implied by the query is invalid" in (answer["error"] or ""):
                handle = self.collector.ask("collection_start", **asked)["handle"]
                return False
            assert answer["status"] != "error", answer
            return bool(answer["status"] == "complete")

        until(ended, "the collector has the result")
        assert (answer["report_count"], answer["result"]) == (3 * len(self.measurements), self.sum)


def _in_words(measurement: Any) -> Any:
    return [str(each) for each in measurement] if isinstance(measurement, list) else str(measurement)


TaskOf = Callable[[str, str], Task]


@pytest.fixture(params=itertools.product(BatchMode, VDAFS), ids=lambda each: f"{each[0].name}-{each[1]}")
def task_of(request: pytest.FixtureRequest, collector: JanusTester, tmp_path: Path) -> TaskOf:
    """Makes a task of a leader and a helper by their addresses, in every batch mode and with every VDAF."""
    mode, vdaf = request.param
    return lambda leader, helper: Task(leader, helper, vdaf, mode, collector, tmp_path)


def test_our_leader_and_a_helper_that_runs_janus(
    ours: str, janus: JanusServer, client: JanusTester, task_of: TaskOf
) -> None:
    task = task_of(f"{ours}/leader/", janus.url)
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


def test_a_leader_that_runs_janus_and_our_helper(
    ours: str, janus: JanusServer, client: JanusTester, task_of: TaskOf
) -> None:
    task = task_of(janus.url, f"{ours}/helper/")
    task.imported("helper_tasks", "import", role=HELPER)
    janus.provision(task.file(LEADER))
    task.report(client)
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


RECORDED: list[dict[str, str]] = []


def noting(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware that writes down what the helper is asked, and what it answers."""

    def noted(request: HttpRequest) -> HttpResponse:
        body = request.body
        response = get_response(request)
        if request.method == "PUT" and request.path.startswith("/helper"):
            RECORDED.append(
                exchanged(str(request.method), request.path.removeprefix("/helper"), body, response.content)
            )
        return response

    return noted


def exchanged(method: str, path: str, request: bytes, answer: bytes) -> dict[str, str]:
    return {"method": method, "path": path, "request": request.hex(), "answer": answer.hex()}


@pytest.mark.skipif("JANUS_RECORD" not in os.environ, reason="conversations are written with JANUS_RECORD=1")
def test_conversations_are_written_anew(
    settings: Any, request: pytest.FixtureRequest, janus: JanusServer
) -> None:
    settings.MIDDLEWARE = [f"{__name__}.noting", *settings.MIDDLEWARE]
    address = request.getfixturevalue("ours")
    stored = new_conversation(f"{address}/leader", janus.url)
    leader = recorded_with(StoredPair(stored, settings), janus, stored)
    HpkeKey.objects.all().delete()
    stored = new_conversation(janus.url, f"{address}/helper")
    pair = StoredPair(stored, settings)
    leads = replace(
        task_file_read(stored["file"].encode()),
        role=LEADER,
        token=Token.from_bytes(stored["token"].encode()),
        token_hash=None,
        collector_token_hash=Token(DAP_AUTH, "of-the-collector").hashed(),
    )
    janus.provision(task_file_write(leads))
    upload(pair)
    until(lambda: pair.counts()[1] == len(BUCKETS), "the helper has counted all reports")
    collection = Query.of_interval(Interval(pair.time, 1))
    path = f"{janus.url}tasks/{base64_text.encode_url(pair.task_id)}/collection_jobs/{'A' * 22}"
    sent(
        "PUT",
        path,
        JANUS.write(CollectionJobReq, CollectionJobReq(collection).encode()),
        {
            "Content-Type": media_type(CollectionJobReq),
            "DAP-Auth-Token": "of-the-collector",
        },
    )
    until(lambda: "aggregate_shares" in RECORDED[-1]["path"], "the helper has released its share")
    conversations = {"our_helper": stored | {"exchanges": RECORDED}, "our_leader": leader}
    FILE.write_text(json.dumps(conversations, indent=1) + "\n")


def new_conversation(leader: str, helper: str) -> dict[str, Any]:
    """A task with fresh keys, which are stored with it."""
    config, private_key = generate_keypair(1, secrets.SystemRandom(), KemName.X25519)
    collector_config, collector_key = generate_keypair(9, secrets.SystemRandom(), KemName.X25519)
    token = Token(BEARER, "of-the-conversation")
    configuration = PlainTask(
        vdaf="prio3histogram",
        parameters={"length": 4, "chunk_length": 2},
        min_batch_size=3,
        batch_mode="time-interval",
        time_precision=PRECISION,
    ).configuration(leader_url=leader, helper_url=helper, task_info=TASK_INFO)
    task = TaskParameters(
        role=HELPER,
        task_id=bytes(1) + secrets.token_bytes(31),
        configuration=configuration,
        verify_key=secrets.token_bytes(32),
        collector_config=collector_config,
        token_hash=token.hashed(),
    )
    return {
        "hpke_config": config.encode().hex(),
        "hpke_private_key": private_key.hex(),
        "collector_private_key": collector_key.hex(),
        "token": f"{token.type}\n{token.value}",
        "file": task_file_write(task),
        "time": timezone.now().isoformat(),
    }


def recorded_with(pair: StoredPair, janus: JanusServer, stored: dict[str, Any]) -> dict[str, Any]:
    """What our leader and a helper that runs Janus say."""
    janus.provision(stored["file"])
    exchanges = []

    def carry(method: str, url: str, headers: Any, body: bytes) -> Answer:
        status, answered, content = https_transport(method, url, headers, body)
        exchanges.append(exchanged(method, url.removeprefix(janus.url.rstrip("/")), body, content))
        return status, answered, content

    pair.network = carry
    reports = upload(pair)
    job = pair.collect()

    def there() -> bool:
        pair.tick()
        return pair.result(job) is not None

    until(there, "there is a result")
    assert pair.collected(job).values == one_hot_sum(BUCKETS)
    return {
        **stored,
        "reports": b"".join(report.encode() for report in reports).hex(),
        "exchanges": exchanges,
    }


def upload(pair: StoredPair) -> list[Report]:
    """A report of our client for each of `BUCKETS`, sealed to keys that every DAP client has."""
    client = TaskClient(
        pair.task_id, pair.configuration, HttpTransport("http://127.0.0.1"), kem=KemName.X25519
    )
    source = secrets.SystemRandom()
    sharded = [
        shard_measurement(pair.task_id, pair.configuration, bucket, time=pair.time, random_source=source)
        for bucket in BUCKETS
    ]
    reports = list(map(client.sealing(), sharded))
    assert client.upload_sealed(reports).errors == (None,) * len(reports)
    client.close()
    return reports
