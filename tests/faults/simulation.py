"""Random operations on a leader and a helper, with faults everywhere; and an oracle that no fault escapes.

Every report that a client makes has a histogram bucket of its own, so that each released batch says
which reports are in it: 0 or 1 per bucket. A 2 is a report that was counted twice, a huge number is a
pair of sums over different reports, and a missing 1 is a report that was lost.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from django.conf import settings
from django.db.models import Sum
from django.test import Client as Browser

from dap.hpke_keys import HPKE_KEYS
from dap.leader.aggregation import aggregation_job_drive, aggregation_jobs_plan
from dap.leader.collection import collection_job_create, collection_job_drive
from dap.leader.errors import CollectionRefusedError
from dap.leader.models import AggregationJob, CollectionJob, Uploads
from dap.leader.operations import task_create
from dap.leader.peers import peer_of
from dap.leader.periodic_check import tasks_advance
from dap.leader.results import Refusal, TaskResult, collection_result
from dap.models import BatchBucket, ReportRejection, Task
from dap.operations import task_close
from panprivacy.formats import base64_text
from panprivacy.protocols.dap.basics import BatchMode, HpkeConfig, Interval, ReportError, Role
from panprivacy.protocols.dap.collection import CollectionJobReq, Query
from panprivacy.protocols.dap.hpke import generate_keypair, seal_input_share
from panprivacy.protocols.dap.media import media_type
from panprivacy.protocols.dap.task import TaskConfiguration
from panprivacy.protocols.dap.token_extension import token_extension
from panprivacy.protocols.dap.upload import (
    HpkeConfigList,
    InputShareAad,
    PlaintextInputShare,
    Report,
    ReportMetadata,
    UploadErrors,
    UploadRequest,
)
from panprivacy.protocols.dap.vdafs import Prio3HistogramConfig, context_of, prio3_of
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.token import report_nonce
from partners.helper_calls import plain_task_register
from partners.partner import Partner
from tests.concurrency import KilledError, killed_at_statement
from tests.faults.machines import Machine
from tests.faults.network import Fault, Network
from tests.tokens import issued_token

HISTOGRAM = 4
PRECISION = 3600
MOST_REPORTS = 48
SMALLEST_BATCH = 3
START = datetime(2026, 3, 1, tzinfo=UTC)
OPERATIONS = (
    *("upload",) * 6,
    *("plan",) * 3,
    *("drive",) * 4,
    *("drive two at once",) * 3,
    *("drive a collection",) * 3,
    *("tick", "collect", "replay", "wait", "late", "rotate the leader's key", "rotate the helper's key"),
)


class Mortal(Protocol):
    """A simulation whose leader dies now and then: it counts that, and logs it."""

    choices: random.Random
    deaths: int
    log: list[str]


def mortal(simulation: Mortal, work: Callable[[], Any], *, statements: int = 30) -> Any:
    """What a piece of the leader's work returns; None if it dies before one of the counted statements."""
    if simulation.choices.random() > 0.2:
        return work()
    try:
        with killed_at_statement(simulation.choices.randrange(statements)):
            return work()
    except KilledError:
        simulation.deaths += 1
        simulation.log.append("  the leader died")
        return None


class Clock:
    """The time of both machines."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Simulation:
    """A leader (this thread's database), a helper (another machine), one task, and its clients.

    Attributes:
        seed: repeats operations and faults; randomness of the product itself stays the system's.
        recipe: whose tokens the reports carry; None where anybody may report.
        acknowledged: numbers of reports that the leader said it took.
        doubtful: numbers of those that were sent, and of which nobody knows.
        told: submissions of a report that were answered with an error.
        unheard: submissions of a report whose answer nobody heard.
        deaths: how often the leader died.
        log: what was done, for the reader of a failure.
    """

    seed: int
    helper: Machine
    clock: Clock
    batch_mode: BatchMode
    recipe: PublishedRecipe | None = None
    acknowledged: set[int] = field(default_factory=set)
    doubtful: set[int] = field(default_factory=set)
    told: int = 0
    unheard: int = 0
    deaths: int = 0
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.choices = random.Random(self.seed)
        self.network = Network(self.helper, self.choices)
        self.made: list[Report] = []
        self._handed_out: tuple[HpkeConfig, HpkeConfig] | None = None
        self.configuration = TaskConfiguration(
            task_info=b"faults",
            leader_aggregator_endpoint=settings.LEADER_URL,
            helper_aggregator_endpoint=settings.HELPER_URL,
            time_precision=PRECISION,
            min_batch_size=SMALLEST_BATCH,
            batch_mode=self.batch_mode,
            batch_config=b"",
            vdaf_type=HISTOGRAM,
            vdaf_configuration=Prio3HistogramConfig(length=MOST_REPORTS, chunk_length=7).encode(),
        )
        self.task_id = self.choices.randbytes(32)
        self.vdaf = prio3_of(self.configuration)
        self.task = self._register()
        if self.recipe is not None:
            self._ask_for_tokens(self.recipe)

    def _ask_for_tokens(self, recipe: PublishedRecipe) -> None:
        document = recipe.canonical.decode()
        Task.objects.update(document=document)
        self.helper.run(lambda: Task.objects.update(document=document))
        self.task.refresh_from_db()

    def _register(self) -> Task:
        config, private_key = generate_keypair(7, self.choices)
        verify_key = self.choices.randbytes(32)
        partner = Partner(
            url=settings.HELPER_URL,
            verification_key=settings.HELPER_KEY,
            leader_url=settings.LEADER_URL,
            signing_key=settings.SIGNING_KEY,
            transport=self.network,
        )
        plain_task_register(
            partner,
            task_id=self.task_id,
            configuration=self.configuration,
            verify_key=verify_key,
            collector_config=config,
        )
        return task_create(
            task_id=self.task_id,
            configuration=self.configuration,
            verify_key=verify_key,
            collector_config=config,
            collector_key=private_key,
            helper_url=settings.HELPER_URL,
            helper_key=settings.HELPER_KEY,
            now=self.clock.now,
        )

    # Clients ---------------------------------------------------------------------------------------

    def upload(self) -> None:
        """New reports; the answer may get lost, and the leader may die."""
        first = len(self.made)
        while len(self.made) < min(first + self.choices.randint(1, 4), MOST_REPORTS):
            self.made.append(self._report(len(self.made), hours_ago=self.choices.randrange(2)))
        if self.made[first:]:
            self._send(dict(enumerate(self.made[first:], first)))

    def replay(self) -> None:
        """Reports of before once more: as a client that got no answer, or an attacker, would."""
        if self.made:
            numbers = self.choices.sample(range(len(self.made)), min(3, len(self.made)))
            self._send({number: self.made[number] for number in numbers})

    def _report(self, number: int, hours_ago: int = 0) -> Report:
        """A report of the bucket `number`, sealed to the keys that are handed out now."""
        hours = int(self.clock.now.timestamp()) // PRECISION
        metadata = self._metadata(hours - hours_ago)
        context = context_of(self.task_id)
        public, shares = self.vdaf.shard(
            context, number, metadata.report_id, self.choices.randbytes(self.vdaf.rand_size)
        )
        aad = InputShareAad(self.task_id, self.configuration, metadata, public)
        sealed = [
            seal_input_share(config, role, aad, PlaintextInputShare((), share), self.choices)
            for config, role, share in zip(self._configs(), (Role.LEADER, Role.HELPER), shares, strict=True)
        ]
        return Report(metadata, public, *sealed)

    def _metadata(self, time: int) -> ReportMetadata:
        if self.recipe is None:
            return ReportMetadata(self.choices.randbytes(16), time)
        token = issued_token(self.recipe, self.choices)
        return ReportMetadata(report_nonce(token), time, (token_extension(token.encode()),))

    def _configs(self) -> tuple[HpkeConfig, HpkeConfig]:
        """What both sides hand out now. Asked anew only after a rotation: nothing else changes it."""
        if self._handed_out is None:
            self._handed_out = self._config("leader"), self.helper.run(lambda: self._config("helper"))
        return self._handed_out

    def _config(self, side: str) -> HpkeConfig:
        return HpkeConfigList.decode(Browser().get(f"/{side}/hpke_config").content).configs[0]

    def _send(self, reports: dict[int, Report], *, faults: bool = True) -> None:
        body = UploadRequest(tuple(reports.values())).encode()
        answer = self._in_leader(lambda: self._post_reports(body), may_die=faults)
        if answer is None or (faults and self.choices.random() < 0.15):
            self.log.append(f"  answer lost: {sorted(reports)}")
            self.doubtful |= set(reports) - self.acknowledged
            self.unheard += len(reports)
            return
        refused = {status.id: status.error for status in UploadErrors.decode(answer).status} if answer else {}
        for number, report in reports.items():
            error = refused.get(report.report_metadata.report_id)
            if error is None:
                assert number not in self.acknowledged, f"report {number} was taken twice"
                self.acknowledged.add(number)
                self.doubtful.discard(number)
            else:
                self.told += 1
                self.log.append(f"  report {number}: {error.reason}")
                expected = {ReportError.REPORT_REPLAYED, ReportError.OUTDATED_CONFIG}
                assert error in expected, f"an honest report was refused: {error}"

    def _post_reports(self, body: bytes) -> bytes:
        address = f"/leader/tasks/{base64_text.encode_url(self.task_id)}/reports"
        response = Browser().post(address, body, content_type=media_type(UploadRequest))
        assert response.status_code == 200, response.content
        return response.content

    # The leader's processes ------------------------------------------------------------------------

    def _in_leader(self, work: Any, *, may_die: bool = True) -> Any:
        """Run a piece of the leader's work, which may die before any of its statements."""
        return mortal(self, work) if may_die else work()

    def _drive(self, job: AggregationJob | CollectionJob | None, faults: bool) -> None:
        if job is None:
            return
        if faults:
            self.network.next_fault = self.choices.choice([Fault.NONE, Fault.NONE, *Fault])
            self.log.append(f"  {self.network.next_fault.value}")
        drive = aggregation_job_drive if isinstance(job, AggregationJob) else collection_job_drive
        peer = peer_of(self.task, self.network)
        self._in_leader(lambda: drive(job=job.pk, peer=peer, now=self.clock.now), may_die=faults)
        self.network.next_fault = Fault.NONE

    def collect(self) -> None:
        """Ask for a batch: the next one, or an interval that may not be over, or was collected before."""
        query = Query.of_next_batch()
        if self.batch_mode is BatchMode.TIME_INTERVAL:
            hour = int(self.clock.now.timestamp()) // PRECISION
            start = hour - self.choices.randint(1, 6)
            query = Query.of_interval(Interval(start, self.choices.randint(1, hour - start)))
        self._ask(query, faults=True)

    def _ask(self, query: Query, *, faults: bool = False) -> None:
        request = CollectionJobReq(query)
        try:
            self._in_leader(
                lambda: collection_job_create(task=self.task, request=request, now=self.clock.now),
                may_die=faults,
            )
        except CollectionRefusedError as refusal:
            self.log.append(f"  refused: {refusal}")

    def step(self) -> None:
        """One random operation with whatever goes wrong."""
        operation = self.choices.choice(OPERATIONS)
        self.log.append(operation)
        match operation:
            case "upload":
                self.upload()
            case "replay":
                self.replay()
            case "plan":
                self.task.refresh_from_db()
                self._in_leader(lambda: aggregation_jobs_plan(task=self.task, now=self.clock.now))
            case "tick":
                self._in_leader(lambda: tasks_advance(now=self.clock.now))
            case "drive":
                self._drive(self._one_of(AggregationJob.objects.all()), faults=True)
            case "drive two at once":
                self._drive_two(AggregationJob.objects.all())
            case "drive a collection":
                self._drive(self._one_of(CollectionJob.objects.filter(state="asking")), faults=True)
            case "collect":
                self.collect()
            case "wait":
                self.clock.now += timedelta(seconds=self.choices.choice([1, 60, 1800, 7200]))
            case "late":
                self.network.deliver_late()
            case "rotate the leader's key":
                self._handed_out = None
                self._in_leader(lambda: HPKE_KEYS.rotate(now=self.clock.now))
            case "rotate the helper's key":
                self._handed_out = None
                self.helper.run(lambda: HPKE_KEYS.rotate(now=self.clock.now))

    def _drive_two(self, jobs: Any) -> None:
        """One worker has sent its job, or is about to; another drives one from beginning to end, with faults
        of its own. It may be the same job."""
        other = self._one_of(jobs)

        def meanwhile() -> None:
            self.log.append("  meanwhile")
            self._drive(other, faults=True)

        self.network.meanwhile = meanwhile
        self._drive(self._one_of(jobs), faults=True)
        self.network.meanwhile = None

    def _one_of(self, rows: Any) -> Any:
        found = list(rows.only("pk").order_by("pk"))
        return self.choices.choice(found) if found else None

    # The end ---------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Let everything go well from here: whatever was under way must come to an end by itself.

        What a client got no answer for, it sends again. Then every batch that is large enough is asked for.
        """
        self.log.append("settle")
        self.network.deliver_late()
        doubtful = {number: self.made[number] for number in sorted(self.doubtful)}
        if doubtful:
            self._send(doubtful, faults=False)
        self.clock.now += timedelta(hours=9)
        task_close(task=self.task)
        for _ in range(30):
            if not self._advance():
                break
            self.clock.now += timedelta(minutes=10)
        else:
            raise AssertionError("something never comes to an end")
        if self.batch_mode is BatchMode.TIME_INTERVAL:
            for hour in sorted(self._uncollected_hours()):
                self._ask(Query.of_interval(Interval(hour, 1)))
        else:
            self._ask(Query.of_next_batch())
        for _ in range(30):
            if not self._advance():
                return
            self.clock.now += timedelta(minutes=10)
        raise AssertionError("a collection never comes to an end")

    def _advance(self) -> bool:
        """One round of the leader's work without faults; whether anything is left to do."""
        self.task.refresh_from_db()
        due = tasks_advance(now=self.clock.now)
        for job in due.aggregation_jobs:
            self._drive(AggregationJob.objects.get(pk=job), faults=False)
        for job in due.collection_jobs:
            self._drive(CollectionJob.objects.get(pk=job), faults=False)
        jobs = CollectionJob.objects.filter(state__in=("waiting", "asking"))
        return (
            AggregationJob.objects.exists()
            or jobs.exists()
            or (
                Uploads.objects.filter(task=self.task, job=None).exists()
                and bool(aggregation_jobs_plan(task=self.task, now=self.clock.now))
            )
        )

    def _uncollected_hours(self) -> set[int]:
        buckets = BatchBucket.objects.filter(task=self.task, collected=False)
        return {Interval.decode(bytes(bucket.identifier)).start for bucket in buckets}

    def verdict(self) -> "Verdict":
        """What came of every report."""
        results, refusals = [], []
        for job in CollectionJob.objects.filter(task=self.task).order_by("pk"):
            result = collection_result(job)
            assert result is not None, "a collection job that has not ended"
            (refusals if isinstance(result, Refusal) else results).append(result)
        return Verdict(
            results=results,
            refusals=refusals,
            counted=_left(BatchBucket.objects.filter(task=self.task, collected=False)),
            counted_by_helper=self.helper.run(
                lambda: _left(BatchBucket.objects.filter(task__task_id=self.task_id, collected=False))
            ),
            stored=Uploads.objects.filter(task=self.task).aggregate(n=Sum("count"))["n"] or 0,
            rejected=Counter(
                {
                    (row.side, row.reason): row.count
                    for row in ReportRejection.objects.filter(task=self.task, count__gt=0)
                }
            ),
        )


def _left(buckets: Any) -> int:
    return buckets.aggregate(n=Sum("report_count"))["n"] or 0


@dataclass(frozen=True)
class Verdict:
    """The end of a simulation.

    Attributes:
        results, refusals: of every collection job.
        counted, counted_by_helper: reports in batches that were not collected.
        stored: reports that were never opened, as no batch of theirs could become large enough.
        rejected: (side, reason) → reports, as the leader shows them.
    """

    results: list[TaskResult]
    refusals: list[Refusal]
    counted: int
    counted_by_helper: int
    stored: int
    rejected: Counter[tuple[str, str]]
