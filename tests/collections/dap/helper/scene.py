"""A leader by the letter of the draft, its clients and its collector, against the helper's addresses."""

import hashlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from django.utils import timezone

from dap.hpke_keys import hpke_config_list
from dap.models import Side, Task
from dap.operations import task_named
from panprivacy.formats import base64_text
from panprivacy.protocols.dap.aggregation import (
    AggregationJobInitReq,
    AggregationJobResp,
    Continue,
    ReportShare,
    VerifyInit,
    leader_selected_batch_id_extension,
)
from panprivacy.protocols.dap.basics import BatchMode, Extension, Interval, Role
from panprivacy.protocols.dap.collection import (
    AggregateShare,
    AggregateShareAad,
    AggregateShareReq,
    BatchSelector,
    CollectionJobReq,
    Query,
)
from panprivacy.protocols.dap.hpke import (
    choose_config,
    generate_keypair,
    open_aggregate_share,
    seal_input_share,
)
from panprivacy.protocols.dap.media import media_type
from panprivacy.protocols.dap.task import TaskConfiguration
from panprivacy.protocols.dap.upload import HpkeConfigList, InputShareAad, PlaintextInputShare, ReportMetadata
from panprivacy.protocols.dap.vdafs import context_of, verifier_for
from panprivacy.protocols.prio3.interface import ReportInput, Transition
from panprivacy.protocols.prio3.prio3 import Prio3Count
from partners.client import PeerAnswer, PeerClient, PeerRefusedError
from partners.helper_calls import plain_task_register
from partners.partner import Partner, ask_json
from storage.signing_key import verification_key
from tests import concurrency
from tests.concurrency import KilledError
from tests.network import in_process, verification_key_of

LEADER_SIGNING_KEY = bytes(range(32))
LEADER_KEY = verification_key_of(LEADER_SIGNING_KEY)
LEADER_URL = "https://leader.test/leader"
HELPER_URL = "https://helper.test/helper"
PRECISION = 1_000
VDAF = Prio3Count()

transport = in_process("https://helper.test")


def partner() -> Partner:
    return Partner(
        HELPER_URL, verification_key().public_bytes_raw(), LEADER_URL, LEADER_SIGNING_KEY, transport
    )


def peer(
    signing_key: bytes = LEADER_SIGNING_KEY,
    *,
    transport: Any = transport,
    key: bytes | None = None,
    **options: Any,
) -> PeerClient:
    """The leader's client; `key` is whose answers it believes, by default the helper's."""
    return PeerClient(
        url=HELPER_URL,
        verification_key=verification_key().public_bytes_raw() if key is None else key,
        signing_key=signing_key,
        transport=transport,
        **options,
    )


def current_time() -> int:
    return int(timezone.now().timestamp()) // PRECISION


@dataclass(frozen=True)
class SentReport:
    """What the leader has of one report: its own input share, and what it passes on."""

    share: ReportShare
    leader_input_share: bytes

    @property
    def report_id(self) -> bytes:
        return self.share.report_metadata.report_id


@dataclass
class Leader:
    """One task, as its leader knows it."""

    configuration: TaskConfiguration
    task_id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    verify_key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    verify: bool = True

    def __post_init__(self) -> None:
        self.collector_config, self.collector_key = generate_keypair(7, secrets.SystemRandom())
        if self.verify:
            self.verifier = verifier_for(self.configuration, self.task_id, Role.LEADER, self.verify_key)
        self.out_shares: dict[bytes, bytes] = {}

    @property
    def path(self) -> str:
        return f"/tasks/{base64_text.encode_url(self.task_id)}"

    @property
    def task(self) -> Task:
        task = task_named(task_id=self.task_id, side=Side.HELPER)
        assert task is not None
        return task

    def status(self) -> dict[str, Any]:
        """What the helper says of it."""
        return ask_json(partner().client(), "GET", self.path)

    def register(self) -> None:
        plain_task_register(
            partner(),
            task_id=self.task_id,
            configuration=self.configuration,
            verify_key=self.verify_key,
            collector_config=self.collector_config,
        )

    def report(
        self,
        value: int = 1,
        *,
        time: int | None = None,
        report_id: bytes | None = None,
        under: TaskConfiguration | None = None,
        public_extensions: tuple[Extension, ...] = (),
        private_extensions: tuple[Extension, ...] = (),
        config_id: int | None = None,
        cheat: bool = False,
    ) -> SentReport:
        """An honest client's report, but for what is said."""
        metadata = ReportMetadata(
            report_id or secrets.token_bytes(16), current_time() if time is None else time, public_extensions
        )
        sharding = VDAF.shard_encoded if cheat else VDAF.shard
        measurement: Any = [value] if cheat else value
        public_share, (leaders, helpers) = sharding(
            context_of(self.task_id), measurement, metadata.report_id, secrets.token_bytes(VDAF.rand_size)
        )
        ciphertext = seal_input_share(
            choose_config(hpke_configs()),
            Role.HELPER,
            InputShareAad(self.task_id, under or self.configuration, metadata, public_share),
            PlaintextInputShare(private_extensions, helpers),
            secrets.SystemRandom(),
        )
        if config_id is not None:
            ciphertext = replace(ciphertext, config_id=config_id)
        return SentReport(ReportShare(metadata, public_share, ciphertext), leaders)

    def reports(self, count: int, **arguments: Any) -> list[SentReport]:
        return [self.report(**arguments) for _ in range(count)]

    def request(
        self,
        reports: Sequence[SentReport],
        *,
        batch_id: bytes | None = None,
        extensions: tuple[Extension, ...] = (),
        agg_param: bytes = b"",
        key_id: int = 0,
    ) -> bytes:
        """An AggregationJobInitReq; what the leader's verifier makes of the reports is kept for later."""
        inputs = [
            ReportInput(report.report_id, report.share.public_share, report.leader_input_share)
            for report in reports
        ]
        prepared = self.verifier.leader_init(inputs)
        self._states = {
            report.report_id: step
            for report, step in zip(reports, prepared, strict=True)
            if isinstance(step, Transition)
        }
        if batch_id is not None:
            extensions = (leader_selected_batch_id_extension(batch_id), *extensions)
        inits = tuple(VerifyInit(report.share, self._states[report.report_id].outbound) for report in reports)
        return AggregationJobInitReq(key_id, agg_param, extensions, inits).encode()

    def send_job(self, body: bytes) -> PeerAnswer:
        return peer().post(f"{self.path}/aggregation_jobs", body, media_type(AggregationJobInitReq))

    def aggregate(self, reports: Sequence[SentReport], **arguments: Any) -> list[str]:
        """Run a whole job; "ok" or the reason of the helper's rejection for each report."""
        answer = self.send_job(self.request(reports, **arguments))
        return self.finish(reports, answer.body)

    def finish(self, reports: Sequence[SentReport], body: bytes) -> list[str]:
        responses = AggregationJobResp.decode(body).verify_resps
        assert [response.report_id for response in responses] == [report.report_id for report in reports]
        said = []
        for response in responses:
            if isinstance(response.outcome, Continue):
                state = self._states[response.report_id].state
                (out_share,) = self.verifier.leader_finish([state], [response.outcome.payload])
                assert isinstance(out_share, bytes)
                self.out_shares[response.report_id] = out_share
                said.append("ok")
            else:
                said.append(response.outcome.report_error.reason)
        return said

    def share_request(
        self,
        reports: Sequence[SentReport],
        selector: BatchSelector,
        *,
        query: Query | None = None,
        report_count: int | None = None,
        checksum: bytes | None = None,
        **collection: Any,
    ) -> AggregateShareReq:
        """What an honest leader asks for `reports`, but for what is said."""
        xor = 0
        for report in reports:
            xor ^= int.from_bytes(hashlib.sha256(report.report_id).digest(), "big")
        if query is None:
            query = (
                Query.of_interval(selector.interval)
                if selector.batch_mode is BatchMode.TIME_INTERVAL
                else Query.of_next_batch()
            )
        return AggregateShareReq(
            CollectionJobReq(query, **collection),
            selector,
            len(reports) if report_count is None else report_count,
            xor.to_bytes(32, "big") if checksum is None else checksum,
        )

    def send_share(self, request: AggregateShareReq) -> PeerAnswer:
        return peer().post(f"{self.path}/aggregate_shares", request.encode(), media_type(AggregateShareReq))

    def collected(self, reports: Sequence[SentReport], request: AggregateShareReq) -> int:
        """The result that the helper's share gives."""
        return self.result(reports, request, self.send_share(request).body)

    def result(self, reports: Sequence[SentReport], request: AggregateShareReq, answer: bytes) -> int:
        """What the collector makes of both shares."""
        helpers = open_aggregate_share(
            self.collector_config,
            self.collector_key,
            Role.HELPER,
            AggregateShareAad(self.task_id, self.configuration, request.collection_job_req),
            AggregateShare.decode(answer).encrypted_aggregate_share,
        )
        leaders = self.verifier.aggregate(self.out_shares[report.report_id] for report in reports)
        (total,) = self.verifier.unshard(leaders, helpers, len(reports))
        return total


def configuration(**changes: Any) -> TaskConfiguration:
    """A plain count of 0s and 1s, of batches of at least 3."""
    values: dict[str, Any] = {
        "task_info": b"scene",
        "leader_aggregator_endpoint": LEADER_URL,
        "helper_aggregator_endpoint": HELPER_URL,
        "time_precision": PRECISION,
        "min_batch_size": 3,
        "batch_mode": BatchMode.TIME_INTERVAL,
        "batch_config": b"",
        "vdaf_type": VDAF.identifier,
        "vdaf_configuration": b"",
        **changes,
    }
    return TaskConfiguration(**values)


def registered(**changes: Any) -> Leader:
    leader = Leader(configuration(**changes))
    leader.register()
    return leader


def hpke_configs() -> HpkeConfigList:
    """As the helper hands them out; tests/faults asks the address itself."""
    return hpke_config_list(now=timezone.now())


def interval_selector(start: int, duration: int = 1) -> BatchSelector:
    return BatchSelector.of_interval(Interval(start, duration))


def at_once(*calls: Callable[[], PeerAnswer]) -> list[bytes | str | None]:
    """All calls at the same time. Returns, in their order, the answer's body or the token of the refusal."""

    def said(call: Callable[[], PeerAnswer]) -> bytes | str | None:
        try:
            return call().body
        except PeerRefusedError as refusal:
            return refusal.token

    return concurrency.at_once(*(partial(said, call) for call in calls))


@contextmanager
def killed_at(statement: int) -> Iterator[Callable[[], bool]]:
    """Dies before the database statement of this number, from 0; says whether it came to that."""
    died = False
    try:
        with concurrency.killed_at_statement(statement):
            yield lambda: died
    except KilledError:
        died = True
