"""Tasks in the dialect of Janus: our leader and our helper speak it to each other, and a collector to us."""

import json
import secrets
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from dap.helper.models import AggregationJob as HelperJob
from dap.helper.models import ReleasedShare
from dap.helper.registrations import janus_task_register
from dap.hpke_keys import HPKE_KEYS
from dap.leader.collection import collection_job_drive
from dap.leader.end_notices import end_notice_drive
from dap.leader.models import CollectionJob, Collector, EndNotice
from dap.leader.operations import task_end
from dap.leader.peers import partner_of, peer_of
from dap.leader.periodic_check import tasks_advance
from dap.leader.plain_tasks import PlainTask, helper_parameters, janus_task_create, plain_task_create
from dap.leader.uploads import reports_upload
from dap.models import ReportRejection, Task
from dap.operations import configuration_of
from dap.task_checks import MOST_PRECISION
from dap.task_files import TaskParameters, task_file_read, task_file_write
from panprivacy.formats import base64_text
from panprivacy.formats.errors import FieldError
from panprivacy.protocols.dap.aggregation import (
    AggregationJobContinueReq,
    AggregationJobInitReq,
    AggregationJobResp,
)
from panprivacy.protocols.dap.basics import Interval, ReportError, Role
from panprivacy.protocols.dap.collection import (
    AggregateShareAad,
    AggregateShareReq,
    CollectionJobReq,
    CollectionJobResp,
    Query,
)
from panprivacy.protocols.dap.dialects import JANUS
from panprivacy.protocols.dap.hpke import generate_keypair, open_aggregate_share
from panprivacy.protocols.dap.media import media_type, problem_type
from panprivacy.protocols.dap.tokens import BEARER, DAP_AUTH, Token
from panprivacy.protocols.dap.vdafs import verifier_for
from panprivacy.protocols.hpke import KemName
from partners.client import PeerAnswer, PeerClient, PeerRefusedError, PeerUnavailableError, TokenClient
from partners.partner import Partner
from partners.roles import PartnerRole
from tests.collections.dap.leader.scene import (
    CLOCK,
    HELPER_URL,
    HOUR,
    LEADER_KEY,
    LEADER_URL,
    PRECISION,
    Fault,
    Network,
    Pair,
    bad_gateway,
    doubled_request,
    helper_verification_key,
    killed_before_reading,
    killed_before_sending,
    lost_answer,
    lost_request,
    one_hot_sum,
    unsigned_garbage,
)

pytestmark = pytest.mark.django_db

COLLECTOR_TOKEN = Token(BEARER, "of-the-collector")


@pytest.fixture(autouse=True)
def _janus_is_a_partner(settings: Any) -> None:
    settings.JANUS_PARTNERS = [HELPER_URL, LEADER_URL]


class JanusPair(Pair):
    """A task that both sides run in the dialect of Janus; the helper was given a file."""

    def __init__(
        self,
        *,
        batch_mode: str = "time-interval",
        elsewhere: bool = False,
        slash: str = "",
        min_batch_size: int = 3,
    ) -> None:
        self.network = Network()
        self.collector_config, self.collector_key = generate_keypair(
            9, secrets.SystemRandom(), KemName.X25519
        )
        plain = PlainTask(
            vdaf="prio3histogram",
            parameters={"length": 4, "chunk_length": 2},
            min_batch_size=3,
            batch_mode=batch_mode,
            time_precision=PRECISION,
            collector_config=self.collector_config if elsewhere else None,
            collector_token=COLLECTOR_TOKEN.hashed() if elsewhere else None,
        )
        self.task = janus_task_create(
            plain=plain,
            leader_url=LEADER_URL,
            helper_url=HELPER_URL,
            now=self.now,
            random_source=secrets.SystemRandom(),
        )
        self.task_id = bytes(self.task.task_id)
        self.configuration = configuration_of(self.task)
        janus_task_register(parameters=self.parameters(), now=self.now)
        self.partner: Any = self

    def client(self) -> PeerClient:
        """The leader's, of this task."""
        return peer_of(self.task, self.network)

    def parameters(self) -> TaskParameters:
        """Of the helper, by way of a file."""
        return task_file_read(task_file_write(helper_parameters(self.task)).encode())

    def path(self, *parts: str) -> str:
        return "/".join(("/tasks", base64_text.encode_url(self.task_id), *parts))


@pytest.mark.parametrize("batch_mode", ["time-interval", "leader-selected"])
def test_sum_of_both_sides_in_the_dialect_is_right(batch_mode: str) -> None:
    pair = JanusPair(batch_mode=batch_mode)
    pair.upload(0, 1, 1, 3)
    if batch_mode == "leader-selected":
        pair.settle(1)
    job = pair.collect()
    pair.settle(2)
    assert pair.collected(job).values == one_hot_sum([0, 1, 1, 3])
    assert [(method, url.split("/")[6]) for method, url, _ in pair.network.requests] == [
        ("PUT", "aggregation_jobs"),
        ("PUT", "aggregate_shares"),
    ]
    assert pair.network.headers["Authorization"].startswith("Bearer ")
    assert "Signature" not in pair.network.headers


@pytest.mark.parametrize(
    "fault",
    [
        *(lost_request, lost_answer, doubled_request, bad_gateway),
        *(unsigned_garbage, killed_before_sending, killed_before_reading),
    ],
)
def test_every_fault_of_the_network_counts_reports_once(fault: Fault) -> None:
    pair = JanusPair()
    pair.upload(0, 1, 1, 3)
    job = pair.collect()
    for _ in range(4):
        pair.network.faults.append(fault)
        pair.settle(2)
    pair.network.faults.clear()
    pair.settle(2)
    assert pair.collected(job).values == one_hot_sum([0, 1, 1, 3])
    assert pair.counts() == (4, 4)


def test_helper_that_does_not_know_the_task_yet_is_asked_again() -> None:
    pair = JanusPair()
    unknown = problem_type("unrecognizedTask").encode()
    pair.network.faults.extend([lambda send: (400, {}, b'{"type": "%b"}' % unknown)] * 2)
    pair.upload(0, 1, 1, 3)
    job = pair.collect()
    pair.settle(1)
    pair.task.refresh_from_db()
    assert (pair.task.state, pair.counts()) == ("open", (0, 0))
    pair.settle(4)
    assert pair.collected(job).values == one_hot_sum([0, 1, 1, 3])


def prepared(pair: JanusPair, *buckets: int) -> tuple[str, bytes]:
    """Path and body of a job that the leader is about to make."""
    job = pair.planned(*buckets)
    pair.network.faults.append(lost_request)
    pair.drive(job.pk)
    (_, url, body) = pair.network.requests.pop()
    return url.removeprefix(HELPER_URL), body


def put(pair: JanusPair, path: str, body: bytes, client: PeerClient | None = None) -> PeerAnswer:
    return (client or pair.client()).send("PUT", path, body, media_type(AggregationJobInitReq))


def test_job_with_the_same_identifier_and_bytes_gets_the_same_answer() -> None:
    pair = JanusPair()
    path, body = prepared(pair, 0, 1, 3)
    first, second = put(pair, path, body), put(pair, path, body)
    assert (first.status, first.body) == (201, second.body)
    assert pair.client().get(path).body == first.body
    assert pair.client().send("DELETE", path).body == b""
    assert len(AggregationJobResp.decode(JANUS.read(AggregationJobResp, first.body)).verify_resps) == 3
    assert HelperJob.objects.count() == 1


def test_identifier_of_another_job_is_refused_and_other_one_replayed() -> None:
    pair = JanusPair()
    path, body = prepared(pair, 0, 1, 3)
    put(pair, path, body)
    _, other = prepared(pair, 2)
    with pytest.raises(PeerRefusedError) as refused:
        put(pair, path, other)
    assert refused.value.status == 409
    elsewhere = path[:-22] + base64_text.encode_url(bytes(16))
    again = AggregationJobResp.decode(JANUS.read(AggregationJobResp, put(pair, elsewhere, body).body))
    assert {resp.outcome.report_error for resp in again.verify_resps} == {ReportError.REPORT_REPLAYED}
    assert pair.counts()[1] == 3


def test_share_with_the_identifier_of_another_is_refused() -> None:
    pair = JanusPair()
    pair.upload(0, 1, 1, 3)
    pair.collect()
    pair.settle(2)
    _, url, body = pair.network.requests[-1]
    path, type_ = url.removeprefix(HELPER_URL), media_type(AggregateShareReq)
    released = pair.client().get(path).body
    assert pair.client().send("PUT", path, body, type_).body == released
    with pytest.raises(PeerRefusedError) as refused:
        pair.client().send("PUT", path, body[:-1] + bytes([body[-1] ^ 1]), type_)
    assert refused.value.status == 409
    assert ReleasedShare.objects.count() == 1


def test_helper_refuses_every_other_token_and_the_signing_leader() -> None:
    pair, other = JanusPair(), JanusPair()
    path, body = prepared(pair, 0, 1, 3)
    right = peer_token(pair)
    for token in (peer_token(other), Token(DAP_AUTH, right.value), Token(BEARER, right.value + "A")):
        client = TokenClient(url=HELPER_URL, token=token.headers(), transport=pair.network)
        for method in ("PUT", "GET", "DELETE", "POST"):
            with pytest.raises(PeerUnavailableError, match="status 403"):
                client.send(method, path, body, media_type(AggregationJobInitReq))
    with pytest.raises(PeerUnavailableError, match="403"):
        put(pair, path, body, signing(pair))
    assert pair.counts() == (0, 0)


def peer_token(pair: JanusPair) -> Token:
    value = pair.client()._token["Authorization"].removeprefix("Bearer ")  # type: ignore[attr-defined]
    return Token(BEARER, value)


def signing(pair: JanusPair) -> PeerClient:
    """The leader that is set up here, which signs."""
    key = helper_verification_key()
    return Partner(HELPER_URL, key, LEADER_URL, LEADER_KEY, pair.network).client()


def test_signing_leader_cannot_see_count_or_end_a_task_of_janus() -> None:
    pair = JanusPair()
    json = "application/json"
    for method, parts, body in (
        ("GET", (), b""),
        ("DELETE", (), b'{"reason": "mine"}'),
        ("POST", ("count",), b'{"reports": "3"}'),
    ):
        with pytest.raises(PeerRefusedError) as refused:
            signing(pair).send(method, pair.path(*parts), body, json if body else "")
        assert refused.value.token == "unrecognizedTask"
    assert pair.helper_task.state == "open"


def test_token_opens_no_task_of_a_leader_that_signs() -> None:
    pair, signed = JanusPair(), Pair()
    path, body = prepared(pair, 0, 1, 3)
    for method, place in (
        ("PUT", path),
        ("POST", path[:-23]),
        ("DELETE", f"/tasks/{base64_text.encode_url(signed.task_id)}"),
    ):
        place = place.replace(base64_text.encode_url(pair.task_id), base64_text.encode_url(signed.task_id))
        with pytest.raises(PeerUnavailableError, match="401"):
            pair.client().send(method, place, body, media_type(AggregationJobInitReq))


def test_draft_18_requests_of_a_janus_task_are_refused() -> None:
    pair = JanusPair()
    path, body = prepared(pair, 0, 1, 3)
    with pytest.raises(PeerRefusedError) as refused:
        put(pair, path, JANUS.read(AggregationJobInitReq, body))
    assert refused.value.token == "invalidMessage"
    with pytest.raises(PeerRefusedError) as refused:
        pair.client().post(path[:-23], body, media_type(AggregationJobInitReq))
    assert refused.value.status == 405
    put(pair, path, body)
    going_on = JANUS.write(AggregationJobContinueReq, AggregationJobContinueReq(1, ()).encode())
    with pytest.raises(PeerRefusedError) as refused:
        pair.client().post(path, going_on, media_type(AggregationJobContinueReq))
    assert refused.value.token == "stepMismatch"


def test_end_of_a_task_erases_its_tokens_and_asks_no_helper() -> None:
    pair = JanusPair(elsewhere=True)
    path, body = prepared(pair, 0, 1, 3)
    client = pair.client()
    call_command("helper_tasks", "end", pair.task_id.hex(), "--reason", "over")
    with pytest.raises(PeerUnavailableError, match="404"):
        put(pair, path, body, client)
    task_end(task=pair.task, reason="over", now=pair.now)
    end_notice_drive(task=pair.task, partner=partner_of(pair.task), now=pair.now)
    assert not EndNotice.objects.exists()
    assert set(Task.objects.values_list("peer_token", flat=True)) == {None}
    assert not Collector.objects.exists()


# A collector that runs Janus.


def ask(
    pair: JanusPair, method: str, identifier: int, body: bytes = b"", *, token: Token = COLLECTOR_TOKEN
) -> Any:
    path = f"/leader{pair.path('collection_jobs', base64_text.encode_url(bytes([identifier]) * 16))}"
    arguments = {"content_type": media_type(CollectionJobReq)} if body else {}
    return Client().generic(method, path, body, headers=token.headers(), **arguments)


def query(hour: int = HOUR) -> CollectionJobReq:
    return CollectionJobReq(Query.of_interval(Interval(hour, 1)))


def test_collector_of_janus_gets_the_right_sum() -> None:
    pair = JanusPair(elsewhere=True)
    pair.upload(0, 1, 1, 3)
    request = query()
    assert [ask(pair, "PUT", 7, request.encode()).status_code for _ in range(2)] == [201, 201]
    waiting = ask(pair, "GET", 7)
    assert (waiting.status_code, waiting.content, waiting["Retry-After"]) == (200, b"", "5")
    drive(pair)
    ready = ask(pair, "GET", 7)
    assert ready["Content-Type"] == media_type(CollectionJobResp)
    assert unsharded(pair, request, CollectionJobResp.decode(ready.content)) == one_hot_sum([0, 1, 1, 3])
    assert ask(pair, "DELETE", 7).status_code == 200
    assert ask(pair, "GET", 7).status_code == 404
    assert ask(pair, "PUT", 7, request.encode()).status_code == 409


def drive(pair: JanusPair) -> None:
    for _ in range(2):
        due = tasks_advance(now=pair.now)
        for job in due.aggregation_jobs:
            pair.drive(job)
        for job in due.collection_jobs:
            collection_job_drive(job=job, peer=pair.client(), now=pair.now)
        CLOCK.now += timedelta(minutes=6)


def unsharded(pair: JanusPair, request: CollectionJobReq, answer: CollectionJobResp) -> tuple[int, ...]:
    aad = AggregateShareAad(pair.task_id, pair.configuration, request)
    leader, helper = (
        open_aggregate_share(pair.collector_config, pair.collector_key, role, aad, share)
        for role, share in (
            (Role.LEADER, answer.leader_encrypted_agg_share),
            (Role.HELPER, answer.helper_encrypted_agg_share),
        )
    )
    verifier = verifier_for(pair.configuration, pair.task_id, Role.LEADER, bytes(32))
    return verifier.unshard(leader, helper, answer.report_count)


def test_two_jobs_of_a_collector_share_no_report() -> None:
    pair = JanusPair(elsewhere=True)
    pair.upload(0, 1, 1, 3)
    for identifier in (7, 8):
        assert ask(pair, "PUT", identifier, query().encode()).status_code == 201
    assert ask(pair, "PUT", 8, query(HOUR + 1).encode()).status_code == 409
    drive(pair)
    statuses = [ask(pair, "GET", identifier) for identifier in (7, 8)]
    assert sorted(answer.status_code for answer in statuses) == [200, 409]
    assert problem_type("batchOverlap") in str([answer.content for answer in statuses])


def test_two_jobs_for_the_next_batch_get_two_batches() -> None:
    pair = JanusPair(elsewhere=True, batch_mode="leader-selected")
    request = CollectionJobReq(Query.of_next_batch())
    for identifier in (7, 8):
        assert ask(pair, "PUT", identifier, request.encode()).status_code == 201
        pair.upload(0, 1, 1)
        drive(pair)
    answers = [CollectionJobResp.decode(ask(pair, "GET", identifier).content) for identifier in (7, 8)]
    assert [unsharded(pair, request, answer) for answer in answers] == [one_hot_sum([0, 1, 1])] * 2


def test_collector_with_another_token_gets_nothing() -> None:
    pair, other = JanusPair(elsewhere=True), JanusPair(elsewhere=True)
    assert ask(pair, "PUT", 7, query().encode()).status_code == 201
    for method, body in (("PUT", query().encode()), ("GET", b""), ("DELETE", b"")):
        for token in (peer_token(pair), Token(DAP_AUTH, COLLECTOR_TOKEN.value)):
            assert ask(pair, method, 7, body, token=token).status_code == 403
    assert ask(other, "GET", 7).status_code == 404
    assert ask(other, "PUT", 7, query(HOUR + 1).encode()).status_code == 201
    assert CollectionJob.objects.count() == 2


def test_token_opens_no_collection_of_a_collector_that_signs() -> None:
    janus, signed = JanusPair(elsewhere=True), Pair(collector_verification_key=bytes(32))
    janus.task_id = signed.task_id
    assert ask(janus, "PUT", 7, query().encode()).status_code == 401


def test_upload_to_a_deleted_key_is_told_an_error_that_janus_knows() -> None:
    pair = JanusPair()
    report = pair.report(0)
    HPKE_KEYS.model.objects.all().delete()
    (status,) = reports_upload(task=pair.task, reports=[report], now=pair.now)
    assert status.error is ReportError.HPKE_UNKNOWN_CONFIG_ID
    assert ReportRejection.objects.get().reason == "outdated_config"


# Files of tasks.


def leader_file(pair: JanusPair) -> bytes:
    """Of the same task for its leader, with addresses as Janus writes them."""
    helper = pair.parameters()
    configuration = replace(
        helper.configuration,
        leader_aggregator_endpoint=f"{LEADER_URL}/",
        helper_aggregator_endpoint=f"{HELPER_URL}/",
    )
    leader = replace(
        helper,
        role="Leader",
        configuration=configuration,
        token=Token(BEARER, "drawn-by-janus"),
        token_hash=None,
        collector_token_hash=COLLECTOR_TOKEN.hashed(),
    )
    return task_file_write(leader).encode()


def test_file_with_addresses_that_end_in_a_slash_begins_the_task(tmp_path: Path) -> None:
    pair = JanusPair()
    content = leader_file(pair)
    Task.objects.filter(pk=pair.task.pk).update(task_id=bytes(32))
    file = tmp_path / "task.yaml"
    file.write_bytes(content)
    for _ in range(2):  # the same again changes nothing
        call_command("task", "import", str(file))
    task = Task.objects.get(side="leader", task_id=pair.task_id)
    assert configuration_of(task).leader_aggregator_endpoint == f"{LEADER_URL}/"
    assert (task.peer_url, task.dialect) == (HELPER_URL, "janus")
    assert peer_of(task).address("/tasks") == f"{HELPER_URL}/tasks"


def test_file_of_the_leaders_command_is_what_the_helpers_takes(tmp_path: Path) -> None:
    pair = JanusPair()
    exported = tmp_path / "task.yaml"
    with exported.open("w") as out:
        call_command("task", "export", pair.task_id.hex(), stdout=out)
    call_command("helper_tasks", "import", str(exported))
    assert Task.objects.filter(side="helper").count() == 1
    assert task_file_read(exported.read_bytes()) == helper_parameters(pair.task)


@pytest.mark.parametrize("command", ["task", "helper_tasks"])
def test_file_of_a_server_that_is_no_partner_begins_nothing(
    command: str, settings: Any, tmp_path: Path
) -> None:
    pair = JanusPair()
    file = tmp_path / "task.yaml"
    file.write_bytes(leader_file(pair) if command == "task" else task_file_write(pair.parameters()).encode())
    Task.objects.update(task_id=bytes(32))
    settings.JANUS_PARTNERS = []
    with pytest.raises(CommandError, match="peer_aggregator_endpoint: must be one of PANAPP_JANUS_PARTNERS"):
        call_command(command, "import", str(file))
    assert not Task.objects.filter(task_id=pair.task_id).exists()


def changed(content: bytes, **changes: Any) -> bytes:
    """The file of a task with other parameters."""
    parameters = task_file_read(content)
    configuration = replace(parameters.configuration, **changes)
    return task_file_write(replace(parameters, configuration=configuration)).encode()


@pytest.mark.parametrize("command", ["task", "helper_tasks"])
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"time_precision": MOST_PRECISION + 1}, "time_precision: must be 1 to 31,622,400"),
        ({"min_batch_size": 1}, "min_batch_size: must be 2 to "),
    ],
)
def test_file_with_a_number_out_of_range_begins_nothing_on_either_side(
    command: str, changes: dict[str, int], words: str, tmp_path: Path
) -> None:
    pair = JanusPair()
    file = tmp_path / "task.yaml"
    content = leader_file(pair) if command == "task" else task_file_write(pair.parameters()).encode()
    file.write_bytes(changed(content, **changes))
    Task.objects.update(task_id=bytes(32))
    with pytest.raises(CommandError, match=words) as refused:
        call_command(command, "import", str(file))
    assert refused.value.returncode == 2
    assert not Task.objects.filter(task_id=pair.task_id).exists()


def test_file_of_a_task_that_differs_or_ended_changes_nothing(tmp_path: Path) -> None:
    pair = JanusPair()
    content, file = task_file_write(pair.parameters()).encode(), tmp_path / "task.yaml"
    file.write_bytes(changed(content, min_batch_size=4))
    with pytest.raises(CommandError, match="a task with this identifier exists") as refused:
        call_command("helper_tasks", "import", str(file))
    assert refused.value.returncode == 2
    file.write_bytes(content)
    call_command("helper_tasks", "end", pair.task_id.hex(), "--reason", "a test")
    with pytest.raises(CommandError, match=r"the task has ended: .*a test") as refused:
        call_command("helper_tasks", "import", str(file))
    assert refused.value.returncode == 2


def test_leader_without_the_partner_begins_no_task_with_it(settings: Any) -> None:
    settings.JANUS_PARTNERS = []
    with pytest.raises(FieldError, match="janus: must be one of PANAPP_JANUS_PARTNERS"):
        JanusPair()


def test_collector_with_a_token_needs_a_partner_that_runs_janus(settings: Any) -> None:
    settings.JANUS_PARTNERS = []
    plain = PlainTask(
        vdaf="prio3count",
        parameters={},
        min_batch_size=3,
        batch_mode="time-interval",
        time_precision=PRECISION,
        collector_config=generate_keypair(9, secrets.SystemRandom(), KemName.X25519)[0],
        collector_token=COLLECTOR_TOKEN.hashed(),
    )
    ours = Partner(HELPER_URL, helper_verification_key(), LEADER_URL, LEADER_KEY, Network())
    with pytest.raises(FieldError, match="collector_token_hash: needs a partner"):
        plain_task_create(plain=plain, partner=ours, now=CLOCK.now, random_source=secrets.SystemRandom())
    assert not Task.objects.exists()


PAGE = Path(__file__).parents[4] / "docs/operations/janus.md"


def test_commands_of_the_page_run_a_task_on_both_sides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = Partner(HELPER_URL, helper_verification_key(), LEADER_URL, LEADER_KEY, Network())
    monkeypatch.setattr(PartnerRole, "configured", lambda role: ours)
    config, _ = generate_keypair(9, secrets.SystemRandom(), KemName.X25519)
    digest = base64_text.encode_url(COLLECTOR_TOKEN.hashed().digest)
    file, values = tmp_path / "task.yaml", {"CONFIG": base64_text.encode_url(config.encode()), "HASH": digest}
    ran = []
    for line in PAGE.read_text().splitlines():
        if not line.startswith("    .venv/bin/python manage.py "):
            continue
        command, _, into = line.partition(" > ")
        for name, value in {**values, "https://dap.partner.example": HELPER_URL}.items():
            command = command.replace(name, value)
        name, *arguments = command.replace("task.yaml", str(file)).split()[2:]
        output = StringIO()
        call_command(name, *arguments, stdout=output)
        if into:
            file.write_text(output.getvalue())
        elif arguments[0] == "create":
            values["TASK_ID"] = json.loads(output.getvalue())["task_id"]
        ran.append((name, arguments[0]))
    assert ran == [("task", "create"), ("task", "export"), ("helper_tasks", "import"), ("task", "create")]
    assert sorted(Task.objects.values_list("side", flat=True)) == ["helper", "helper", "leader", "leader"]
