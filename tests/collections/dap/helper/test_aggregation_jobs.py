"""What the helper does with the reports of a job, whatever the leader, the network or the clock do."""

import random
import secrets
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import cache, partial
from typing import Any

import pytest
from django.utils import timezone

from dap.buckets import checksum_of
from dap.helper.aggregation_jobs import aggregation_job_create
from dap.helper.models import AggregationJob
from dap.limits import EXTENSION_BYTES
from dap.models import AggregatedReport, BatchBucket, Side
from dap.selectors import rejections_of, report_count
from panprivacy.protocols.dap.aggregation import (
    AggregationJobContinueReq,
    AggregationJobInitReq,
    AggregationJobResp,
    VerifyContinue,
)
from panprivacy.protocols.dap.basics import BatchMode, Extension, Interval
from panprivacy.protocols.dap.media import media_type
from panprivacy.protocols.dap.task import task_interval_extension
from panprivacy.protocols.dap.token_extension import token_extension
from panprivacy.protocols.privacy_pass.tokens import TOKEN_BYTES
from partners.client import PeerRefusedError, PeerUnavailableError
from tests.collections.dap.helper.scene import (
    PRECISION,
    Leader,
    SentReport,
    at_once,
    configuration,
    current_time,
    killed_at,
    peer,
    registered,
)
from tests.panprivacy.recipe.test_token import with_tokens
from tests.panprivacy.statistics.test_servers import two_servers
from tests.tokens import issued_token

pytestmark = pytest.mark.django_db

UNKNOWN = Extension(0x7FFF, b"?")


def commitments(leader: Leader) -> tuple[int, int]:
    """Reports in buckets, and report identifiers used up."""
    return report_count(leader.task), AggregatedReport.objects.filter(task=leader.task).count()


class TestAnswers:
    def test_job_of_honest_reports_adds_each_of_them_once(self) -> None:
        leader = registered()
        reports = leader.reports(4)
        assert leader.aggregate(reports) == ["ok"] * 4
        bucket = BatchBucket.objects.get()
        assert bucket.report_count == 4
        assert bytes(bucket.checksum) == checksum_of(report.report_id for report in reports)
        assert (bucket.first_time, bucket.last_time) == (current_time(), current_time())

    def test_job_sent_again_gets_the_same_bytes_also_when_it_was_deleted(self) -> None:
        """A copy of the request may still be on its way."""
        leader = registered()
        body = leader.request([leader.report(2, cheat=True), *leader.reports(3)])
        first = leader.send_job(body)
        assert peer().get(first.location).body == first.body
        assert peer().get(f"{first.location}?step=0").body == first.body
        for _ in range(2):
            again = leader.send_job(body)
            assert (again.body, again.location) == (first.body, first.location)
            assert peer().send("DELETE", first.location).status == 200
        assert commitments(leader) == (3, 4)
        assert rejections_of(leader.task, Side.HELPER) == {"vdaf_verify_error": 1}

    def test_second_step_and_unknown_job_are_refused(self) -> None:
        leader = registered()
        created = leader.send_job(leader.request(leader.reports(3)))
        body = AggregationJobContinueReq(1, (VerifyContinue(bytes(16), b"x"),)).encode()
        with pytest.raises(PeerRefusedError) as refusal:
            peer().post(created.location, body, media_type(AggregationJobContinueReq))
        assert refusal.value.token == "stepMismatch"
        with pytest.raises(PeerRefusedError) as refusal:
            peer().get(f"{leader.path}/aggregation_jobs/{'A' * 22}")
        assert refusal.value.token == "unrecognizedAggregationJob"


def altered(leader: Leader) -> SentReport:
    report = leader.report()
    payload = report.share.encrypted_input_share.payload
    changed = replace(report.share.encrypted_input_share, payload=bytes((payload[0] ^ 1,)) + payload[1:])
    return replace(report, share=replace(report.share, encrypted_input_share=changed))


def exchanged(leader: Leader) -> SentReport:
    report, other = leader.report(), leader.report()
    share = replace(report.share, encrypted_input_share=other.share.encrypted_input_share)
    return replace(report, share=share)


def under(**change: Any) -> Callable[[Leader], SentReport]:
    """A share sealed under other parameters than the task's."""
    return lambda leader: leader.report(under=configuration(**change))


def measuring(value: int) -> Callable[[Leader], SentReport]:
    return lambda leader: leader.report(value % (2**64 - 2**32 + 1), cheat=True)


BAD: dict[str, tuple[Callable[[Leader], SentReport], str]] = {
    "2": (measuring(2), "vdaf_verify_error"),
    "-1": (measuring(-1), "vdaf_verify_error"),
    "a billion": (measuring(10**9), "vdaf_verify_error"),
    "another smallest batch": (under(min_batch_size=2), "hpke_decrypt_error"),
    "another precision": (under(time_precision=PRECISION + 1), "hpke_decrypt_error"),
    "another leader": (under(leader_aggregator_endpoint="https://other.test"), "hpke_decrypt_error"),
    "another task": (under(task_info=b"other"), "hpke_decrypt_error"),
    "an altered share": (altered, "hpke_decrypt_error"),
    "the share of another report": (exchanged, "hpke_decrypt_error"),
    "an unknown key": (lambda leader: leader.report(config_id=255), "hpke_unknown_config_id"),
    "a time ahead": (lambda leader: leader.report(time=current_time() + 2), "report_too_early"),
    "a time that no database holds": (lambda leader: leader.report(time=2**64 - 1), "report_too_early"),
    "public extension": (lambda leader: leader.report(public_extensions=(UNKNOWN,)), "invalid_message"),
    "private extension": (lambda leader: leader.report(private_extensions=(UNKNOWN,)), "invalid_message"),
}


def rejection(leader: Leader, bad: SentReport) -> str:
    """Why a report was rejected; one bad report never takes the others of its job down."""
    said = leader.aggregate([leader.report(), bad, leader.report()])
    assert (said[0], said[2]) == ("ok", "ok")
    assert report_count(leader.task) == 2
    assert rejections_of(leader.task, Side.HELPER) == {said[1]: 1}
    return said[1]


class TestRejections:
    def test_report_counts_once_and_within_the_time_of_its_task(self) -> None:
        now = current_time()
        leader = registered(extensions=(task_interval_extension(Interval(now - 1, 2)),))
        reports = [leader.report(time=now + offset) for offset in (-2, -1, 0, 1)]
        assert leader.aggregate(reports) == ["task_not_started", "ok", "ok", "task_expired"]
        assert leader.aggregate([leader.report(), reports[1]]) == ["ok", "report_replayed"]
        assert commitments(leader) == (3, 3)

    @pytest.mark.parametrize(("made", "reason"), BAD.values(), ids=BAD)
    def test_bad_report_is_counted_by_reason(self, made: Callable[[Leader], SentReport], reason: str) -> None:
        leader = registered()
        assert rejection(leader, made(leader)) == reason

    def test_report_that_failed_verification_has_no_second_try(self) -> None:
        """Else a leader could try messages until one is accepted, and learn from which."""
        leader = registered()
        cheat = leader.report(2, cheat=True)
        assert leader.aggregate([cheat]) == ["vdaf_verify_error"]
        assert leader.aggregate([leader.report(report_id=cheat.report_id)]) == ["report_replayed"]
        assert commitments(leader) == (0, 1)

    def test_report_that_came_too_early_may_come_again(self) -> None:
        leader = registered()
        report = leader.report(time=current_time() + 2)
        assert leader.aggregate([report]) == ["report_too_early"]
        later = timezone.now() + timedelta(seconds=3 * PRECISION)
        again = [report, leader.report()]  # another job
        _, answer = aggregation_job_create(task=leader.task, body=leader.request(again), now=later)
        assert leader.finish(again, answer) == ["ok", "ok"]


def twice(leader: Leader) -> bytes:
    """One report, and it again."""
    body = leader.request([leader.report()])
    return body + body[1 + 4 + 2 :]


def asking(**changes: Any) -> Callable[[Leader], bytes]:
    return lambda leader: leader.request(leader.reports(1), **changes)


SELECTED = {"batch_mode": BatchMode.LEADER_SELECTED}
REFUSED: dict[str, tuple[dict[str, Any], Callable[[Leader], bytes], str]] = {
    "a report twice": ({}, twice, "invalidMessage"),
    "cut short": ({}, lambda leader: leader.request(leader.reports(2))[:-1], "invalidMessage"),
    "followed by a byte": ({}, lambda leader: leader.request(leader.reports(2)) + b"\0", "invalidMessage"),
    "one byte": ({}, lambda _: b"\0", "invalidMessage"),
    "no reports": ({}, lambda _: AggregationJobInitReq(0, b"", (), ()).encode(), "invalidMessage"),
    "aggregation parameter": ({}, asking(agg_param=b"p"), "invalidAggregationParameter"),
    "verification key": ({}, asking(key_id=1), "invalidMessage"),
    "batch identifier": ({}, asking(batch_id=bytes(32)), "invalidMessage"),
    "no batch identifier": (SELECTED, asking(), "invalidMessage"),
    "extension": ({}, asking(extensions=(UNKNOWN,)), "unsupportedExtension"),
}


class TestRefusals:
    """A request that is refused as a whole leaves no trace."""

    def require_no_trace(self, leader: Leader) -> None:
        assert commitments(leader) == (0, 0)
        assert rejections_of(leader.task, Side.HELPER) == {}
        assert not AggregationJob.objects.exists()

    @pytest.mark.parametrize(("changes", "made", "token"), REFUSED.values(), ids=REFUSED)
    def test_bad_requests_fail(
        self, changes: dict[str, Any], made: Callable[[Leader], bytes], token: str
    ) -> None:
        leader = registered(**changes)
        with pytest.raises(PeerRefusedError) as refusal:
            leader.send_job(made(leader))
        assert refusal.value.token == token
        assert refusal.value.problem["taskid"] == leader.path.removeprefix("/tasks/")
        named = [0x7FFF] if token == "unsupportedExtension" else None
        assert refusal.value.problem.get("unsupported_extensions") == named
        self.require_no_trace(leader)

    def test_request_that_is_too_large_is_put_off_and_loses_no_report(self, settings: Any) -> None:
        leader = registered()
        settings.JOB_REPORTS, settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 2, 100_000
        long = (Extension(0x7FFF, bytes(EXTENSION_BYTES // 2)),)
        for body, words in (
            (leader.request(leader.reports(3)), "status 413.*A job has at most 2 reports."),
            (leader.request(leader.reports(2, public_extensions=long)), "bytes of extensions"),
            (bytes(100_001), "A body here is at most 100,000 bytes."),
        ):
            with pytest.raises(PeerUnavailableError, match=words):
                leader.send_job(body)
        self.require_no_trace(leader)

    def test_other_media_type_and_unknown_task_are_refused(self) -> None:
        leader = registered()
        body = leader.request(leader.reports(1))
        with pytest.raises(PeerRefusedError) as refusal:
            peer().post(f"{leader.path}/aggregation_jobs", body, "application/json")
        assert refusal.value.status == 415
        self.require_no_trace(leader)
        leader.task_id = secrets.token_bytes(32)
        with pytest.raises(PeerRefusedError) as refusal:
            leader.send_job(body)
        assert refusal.value.token == "unrecognizedTask"
        assert refusal.value.problem["taskid"] == leader.path.removeprefix("/tasks/")


class TestKilled:
    def test_job_killed_at_any_statement_leaves_nothing(self) -> None:
        leader = registered(min_batch_size=2)
        statement = 0
        while True:
            count = report_count(leader.task)
            reports = [*leader.reports(2), leader.report(2, cheat=True)]
            body = leader.request(reports)
            used, rejected = commitments(leader), rejections_of(leader.task, Side.HELPER)
            with killed_at(statement) as died:
                aggregation_job_create(task=leader.task, body=body, now=timezone.now())
            if not died():
                break
            assert commitments(leader) == used
            assert rejections_of(leader.task, Side.HELPER) == rejected

            assert leader.finish(reports, leader.send_job(body).body) == ["ok", "ok", "vdaf_verify_error"]
            assert report_count(leader.task) == count + 2
            statement += 1
        assert statement > 8, "the wrapper must have seen the job's statements"


@pytest.mark.django_db(transaction=True)
class TestRaces:
    def at_once(self, leader: Leader, *bodies: bytes) -> list[bytes]:
        answers = at_once(*(partial(leader.send_job, body) for body in bodies))
        assert all(isinstance(answer, bytes) for answer in answers), answers
        return answers

    def test_identical_jobs_at_once_get_the_same_bytes_and_count_once(self) -> None:
        leader = registered()
        for _ in range(3):
            before = report_count(leader.task)
            body = leader.request(leader.reports(8))
            first, *others = self.at_once(leader, body, body, body, body)
            assert others == [first] * 3
            assert list(outcomes(first).values()) == [True] * 8
            assert report_count(leader.task) == before + 8

    def test_jobs_that_share_reports_at_once_count_each_report_once(self) -> None:
        leader = registered()
        for _ in range(3):
            before = report_count(leader.task)
            reports = leader.reports(8)
            bodies = [
                leader.request(reports),
                leader.request(reports[::-1]),
                leader.request(reports[4:] + reports[:4]),
            ]
            answers = self.at_once(leader, *bodies)
            good = [outcomes(answer) for answer in answers]
            for report in reports:
                assert sum(outcome[report.report_id] for outcome in good) == 1
            assert report_count(leader.task) == before + 8

    def test_jobs_for_several_buckets_in_opposite_order_at_once_all_count(self) -> None:
        leader = registered()
        times = [current_time() - offset for offset in range(4)]
        for _ in range(3):
            before = report_count(leader.task)
            up = leader.request([leader.report(time=time) for time in times])
            down = leader.request([leader.report(time=time) for time in reversed(times)])
            self.at_once(leader, up, down)
            assert report_count(leader.task) == before + 8


def outcomes(answer: bytes) -> dict[bytes, bool]:
    responses = AggregationJobResp.decode(answer).verify_resps
    return {response.report_id: not hasattr(response.outcome, "report_error") for response in responses}


SOURCE = random.Random(9578)
RECIPE = with_tokens(two_servers())


@cache
def token(number: int) -> bytes:
    return issued_token(RECIPE, SOURCE).encode()


def token_task() -> Leader:
    leader = registered()
    task = leader.task
    task.document = RECIPE.canonical.decode()
    task.save(update_fields=["document"])
    return leader


def report(leader: Leader, token: bytes, **options: Any) -> SentReport:
    """What a device reports with this token."""
    extensions = (token_extension(token),)
    return leader.report(report_id=token[18:34], public_extensions=extensions, **options)


def passed_on(sent: SentReport, *extensions: Extension) -> SentReport:
    """By a leader that exchanges the report's extensions."""
    metadata = replace(sent.share.report_metadata, public_extensions=extensions)
    return replace(sent, share=replace(sent.share, report_metadata=metadata))


def test_token_counts_once_whatever_the_leader_makes_up_under_it() -> None:
    """The leader may seal shares of its own making, but has no second token for them."""
    leader = token_task()
    sent = [report(leader, token(0)), report(leader, token(1), value=0)]
    assert leader.aggregate(sent) == ["ok", "ok"]
    assert leader.aggregate(sent[::-1]) == ["report_replayed"] * 2
    made_up = report(leader, token(1), value=1)
    assert leader.aggregate([made_up, leader.report()]) == ["report_replayed", "invalid_message"]


def test_token_that_the_leader_or_the_device_changes_rejects_the_report() -> None:
    leader = token_task()
    stripped, exchanged, altered, kept, put_on = (report(leader, token(number)) for number in range(5))
    mine = altered.share.report_metadata.public_extensions[0].extension_data
    bare = leader.report(report_id=put_on.report_id)
    private = report(leader, token(5), private_extensions=(token_extension(token(5)),))
    job = [
        passed_on(stripped),
        passed_on(exchanged, token_extension(token(5))),
        passed_on(altered, token_extension(mine[:-1] + bytes([mine[-1] ^ 1]))),
        private,
        passed_on(bare, token_extension(token(4))),
        kept,
    ]
    assert leader.aggregate(job) == ["invalid_message"] * 4 + ["hpke_decrypt_error", "ok"]
    rejected = {"token_missing": 1, "token_invalid": 2, "invalid_message": 1, "hpke_decrypt_error": 1}
    assert rejections_of(leader.task, Side.HELPER) == rejected


def test_task_without_tokens_rejects_them_and_never_finds_them_too_large() -> None:
    """Together they are more bytes than a request may have of unknown extensions."""
    leader = registered()
    sent = report(leader, token(0))
    count = EXTENSION_BYTES // TOKEN_BYTES + 1
    metadata = sent.share.report_metadata
    job = [
        replace(sent, share=replace(sent.share, report_metadata=replace(metadata, report_id=bytes([n]) * 16)))
        for n in range(count)
    ]
    assert leader.aggregate(job) == ["invalid_message"] * count
    assert rejections_of(leader.task, Side.HELPER) == {"invalid_message": count}
