"""A leader and a helper in one process and one database, and a network that fails as it is told.

The helper is the real one, behind its own addresses; only HTTP is left out.
"""

import json
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings

from dap.hpke_keys import hpke_config_list
from dap.leader.aggregation import aggregation_job_drive, aggregation_jobs_plan
from dap.leader.collection import collection_job_create, collection_job_drive
from dap.leader.end_notices import end_notice_drive
from dap.leader.models import AggregationJob, CollectionJob, CountNoise
from dap.leader.operations import task_create
from dap.leader.periodic_check import tasks_advance
from dap.leader.results import Refusal, TaskResult, collection_result, task_result
from dap.leader.uploads import reports_upload
from dap.models import Side, Task
from dap.operations import task_close, task_named
from dap.selectors import rejections_of, report_count
from panprivacy.protocols.dap.basics import BatchMode, Extension, Interval, Role
from panprivacy.protocols.dap.collection import CollectionJobReq, Query
from panprivacy.protocols.dap.hpke import generate_keypair, seal_input_share
from panprivacy.protocols.dap.signatures import sign_response
from panprivacy.protocols.dap.task import TaskConfiguration, task_interval_extension
from panprivacy.protocols.dap.upload import InputShareAad, PlaintextInputShare, Report, ReportMetadata
from panprivacy.protocols.dap.vdafs import Prio3HistogramConfig, context_of, prio3_of
from partners.helper_calls import plain_task_register, task_end_at_helper
from partners.partner import Partner
from tests.concurrency import KilledError
from tests.network import Answer, deliver, verification_key_of

_DOCUMENTS = Path(__file__).resolve().parents[3] / "panprivacy" / "recipe" / "published_documents.json"
DOCUMENT = json.dumps(json.loads(_DOCUMENTS.read_text())[-1]["document"])
"""Of a recipe, for tasks that are collected by themselves; anybody may report of it."""

LEADER_URL = "https://leader.example/leader"
HELPER_URL = "https://helper.example/helper"
LEADER_KEY = bytes(range(32))
"""The leader's signing key; the helper's is the one of the settings."""

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
PRECISION = 3600
HOUR = int(NOW.timestamp()) // PRECISION
"""The time of a report made now."""

HISTOGRAM_4 = 4

Fault = Callable[[Callable[[], Answer]], Answer]


def leader_verification_key() -> bytes:
    return verification_key_of(LEADER_KEY)


def delivered(send: Callable[[], Answer]) -> Answer:
    return send()


def lost_request(send: Callable[[], Answer]) -> Answer:
    raise TimeoutError


def lost_answer(send: Callable[[], Answer]) -> Answer:
    send()
    raise TimeoutError


def doubled_request(send: Callable[[], Answer]) -> Answer:
    send()
    return send()


def unsigned_garbage(send: Callable[[], Answer]) -> Answer:
    send()
    return 200, {}, b"<html>Welcome to the airport</html>"


def bad_gateway(send: Callable[[], Answer]) -> Answer:
    return 502, {}, b""


def altered_answer(send: Callable[[], Answer]) -> Answer:
    status, headers, body = send()
    return status, headers, body[:-1] + bytes([body[-1] ^ 1])


def killed_before_sending(send: Callable[[], Answer]) -> Answer:
    raise KilledError


def killed_before_reading(send: Callable[[], Answer]) -> Answer:
    send()
    raise KilledError


FAULTS: Sequence[Fault] = (
    lost_request,
    lost_answer,
    doubled_request,
    unsigned_garbage,
    bad_gateway,
    altered_answer,
    killed_before_sending,
    killed_before_reading,
)


class Clock:
    """Stands still unless it is moved."""

    now = NOW


CLOCK = Clock()


class Network:
    """Carries requests to the helper; `faults` befall the next ones, in order."""

    def __init__(self) -> None:
        self.faults: deque[Fault] = deque()
        self.requests: list[tuple[str, str, bytes]] = []
        self.headers: Mapping[str, str] = {}

    def __call__(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        self.requests.append((method, url, body))
        self.headers = headers
        fault = self.faults.popleft() if self.faults else None
        send = lambda: self._deliver(method, url, headers, body)  # noqa: E731  # one of several
        return send() if fault is None else fault(send)

    def _deliver(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        path = url.removeprefix("https://helper.example")
        return deliver(method, path, headers, body, urlconf="tests.network_urls", base="/helper")


class Pair:
    """One plain task that both take part in: Prio3Histogram over `length` buckets, or another VDAF."""

    def __init__(
        self,
        *,
        length: int = HISTOGRAM_4,
        vdaf: tuple[int, bytes] | None = None,
        min_batch_size: int = 3,
        batch_mode: BatchMode = BatchMode.TIME_INTERVAL,
        interval: Interval | None = None,
        document: str = "",
        collector_verification_key: bytes | None = None,
        task_id: bytes | None = None,
    ) -> None:
        self.network = Network()
        self.partner = Partner(
            url=HELPER_URL,
            verification_key=helper_verification_key(),
            leader_url=LEADER_URL,
            signing_key=LEADER_KEY,
            transport=self.network,
        )
        vdaf_type, vdaf_configuration = vdaf or (4, Prio3HistogramConfig(length, 2).encode())
        self.configuration = TaskConfiguration(
            task_info=b"a test",
            leader_aggregator_endpoint=LEADER_URL,
            helper_aggregator_endpoint=HELPER_URL,
            time_precision=PRECISION,
            min_batch_size=min_batch_size,
            batch_mode=batch_mode,
            batch_config=b"",
            vdaf_type=vdaf_type,
            vdaf_configuration=vdaf_configuration,
            extensions=() if interval is None else (task_interval_extension(interval),),
        )
        # Reads like no option of a command line.
        self.task_id = bytes(1) + secrets.token_bytes(31) if task_id is None else task_id
        verify_key = secrets.token_bytes(32)
        collector_config, collector_key = generate_keypair(7, secrets.SystemRandom())
        plain_task_register(
            self.partner,
            task_id=self.task_id,
            configuration=self.configuration,
            verify_key=verify_key,
            collector_config=collector_config,
        )
        self.task = task_create(
            task_id=self.task_id,
            configuration=self.configuration,
            verify_key=verify_key,
            collector_config=collector_config,
            collector_key=collector_key,
            collector_verification_key=collector_verification_key,
            helper_url=HELPER_URL,
            helper_key=self.partner.verification_key,
            document=document,
            now=self.now,
        )
        if self.task.document:
            CountNoise.objects.create(task=self.task, noise=0)
        self.network.requests.clear()

    @property
    def now(self) -> datetime:
        """What every clock of both sides says."""
        return CLOCK.now

    @property
    def time(self) -> int:
        """The time that a report made now bears."""
        return int(self.now.timestamp()) // PRECISION

    @property
    def helper_task(self) -> Task:
        task = task_named(task_id=self.task_id, side=Side.HELPER)
        assert task is not None
        return task

    def report(
        self,
        bucket: Any,
        *,
        time: int | None = None,
        report_id: bytes | None = None,
        extensions: tuple[Extension, ...] = (),
        encoded: bool = False,
    ) -> Report:
        """An honest client's report; with `encoded` of field elements, as a cheat would choose them."""
        vdaf = prio3_of(self.configuration)
        time = self.time if time is None else time
        metadata = ReportMetadata(report_id or secrets.token_bytes(16), time, extensions)
        shard = vdaf.shard_encoded if encoded else vdaf.shard
        rand = secrets.token_bytes(vdaf.rand_size)
        return self.sealed(metadata, *shard(context_of(self.task_id), bucket, metadata.report_id, rand))

    def sealed(self, metadata: ReportMetadata, public: bytes, shares: tuple[bytes, bytes]) -> Report:
        aad = InputShareAad(self.task_id, self.configuration, metadata, public)
        config = hpke_config_list(now=self.now).configs[0]
        leader, helper = (
            seal_input_share(config, role, aad, PlaintextInputShare((), share), secrets.SystemRandom())
            for role, share in zip((Role.LEADER, Role.HELPER), shares, strict=True)
        )
        return Report(metadata, public, leader, helper)

    def forged(self) -> Report:
        """Shares of a measurement that is none: twice in the first bucket."""
        length = prio3_of(self.configuration).circuit.measurement_length
        return self.report([2, *[0] * (length - 1)], encoded=True)

    def garbled(self) -> Report:
        """A leader's share that does not decode: it has the length of one, and no element of the field."""
        report, vdaf = self.report(0), prio3_of(self.configuration)
        leader, helper = (b"\xff" * vdaf.input_share_bytes(side) for side in (0, 1))
        return self.sealed(report.report_metadata, report.public_share, (leader, helper))

    def forget_at_helper(self) -> None:
        """End the task on the helper's side alone."""
        task_end_at_helper(self.partner, task_id=self.task_id, reason="an operator's mistake")
        self.network.requests.clear()

    def upload(self, *buckets: int) -> list[Report]:
        """Reports of honest clients, one for each bucket named, all accepted."""
        reports = [self.report(bucket) for bucket in buckets]
        assert reports_upload(task=self.task, reports=reports, now=self.now) == []
        return reports

    def close(self) -> None:
        self.task = task_close(task=self.task)

    def collect(self, interval: Interval | None = None) -> CollectionJob:
        """A collection job for the hour that it is, or the next batch."""
        if self.configuration.batch_mode is BatchMode.LEADER_SELECTED:
            query = Query.of_next_batch()
        else:
            query = Query.of_interval(interval or Interval(self.time, 1))
        return collection_job_create(task=self.task, request=CollectionJobReq(query), now=self.now)

    def tick(self) -> None:
        """One periodic look and all the work it hands out; a killed worker loses what it had in hand."""
        due = tasks_advance(now=self.now)
        for job in due.aggregation_jobs:
            self._survive(lambda job=job: self.drive(job))
        for job in due.collection_jobs:
            peer = self.partner.client()
            self._survive(lambda job=job, peer=peer: collection_job_drive(job=job, peer=peer, now=self.now))
        for _ in due.end_notices:
            self._survive(lambda: end_notice_drive(task=self.task, partner=self.partner, now=self.now))
        CLOCK.now += timedelta(seconds=2)

    def ticks(self, count: int) -> None:
        for _ in range(count):
            self.tick()

    def drive(self, job: Any) -> None:
        aggregation_job_drive(job=job, peer=self.partner.client(), now=self.now)

    def settle(self, ticks: int = 8) -> None:
        """Ticks that are far enough apart for every lease and wait to be over."""
        for _ in range(ticks):
            self.tick()
            CLOCK.now += timedelta(minutes=6)

    def result(self, job: CollectionJob | None = None) -> TaskResult | Refusal | None:
        """Of a job, or of the collection that the task of a recipe makes by itself."""
        if job is None:
            return task_result(self.task)
        job.refresh_from_db()
        return collection_result(job)

    def collected(self, job: CollectionJob | None = None) -> TaskResult:
        result = self.result(job)
        assert isinstance(result, TaskResult), result
        return result

    def refused(self, job: CollectionJob | None = None) -> Refusal:
        result = self.result(job)
        assert isinstance(result, Refusal), result
        return result

    def planned(self, *buckets: int) -> AggregationJob:
        """One job, of these reports and everything else that waits."""
        if buckets:
            self.upload(*buckets)
        CLOCK.now += timedelta(hours=1)
        (job,) = aggregation_jobs_plan(task=self.task, now=self.now)
        return AggregationJob.objects.get(pk=job)

    def signed(self, body: bytes = b"", *, status: int = 200, **headers: str) -> Answer:
        """The helper's answer to the request that is on its way."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        signature = sign_response(
            status=status,
            headers=given,
            body=body,
            request_headers=self.network.headers,
            signing_key=Ed25519PrivateKey.from_private_bytes(settings.SIGNING_KEY),
        )
        return status, given | signature, body

    def counts(self) -> tuple[int, int]:
        """Reports that leader and helper added up."""
        return report_count(self.task), report_count(self.helper_task)

    def rejections(self) -> dict[str, dict[str, int]]:
        """On the leader's side: who rejected how many, and why."""
        return {side.value: rejections_of(self.task, side) for side in Side}

    @staticmethod
    def _survive(work: Callable[[], None]) -> None:
        with suppress(KilledError):
            work()


def helper_verification_key() -> bytes:
    return verification_key_of(settings.SIGNING_KEY)


def one_hot_sum(buckets: Iterable[int], length: int = HISTOGRAM_4) -> tuple[int, ...]:
    """The histogram of `buckets`."""
    counts = [0] * length
    for bucket in buckets:
        counts[bucket] += 1
    return tuple(counts)
