"""What the helper does with the reports of a job, whatever the leader, the network or the clock do."""

import secrets
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from dap.buckets import checksum_of
from dap.hpke_keys import HPKE_KEYS
from dap.limits import EXTENSION_BYTES
from dap.models import AggregatedReport, BatchBucket, HpkeKey, Side
from dap.selectors import rejections_of, report_count
from helper.aggregating import aggregation_job_create
from helper.models import AggregationJob
from panprivacy.dap.aggregation import (
    AggregationJobContinueReq,
    AggregationJobInitReq,
    AggregationJobResp,
    VerifyContinue,
)
from panprivacy.dap.basics import BatchMode, Extension, Interval
from panprivacy.dap.media import media_type
from panprivacy.dap.task import task_interval_extension
from peers.client import PeerRefusedError, PeerUnavailableError
from tests.collections.helper.scene import (
    PRECISION,
    Leader,
    at_once,
    configuration,
    current_time,
    killed_at,
    peer,
    registered,
    rejected_ciphertext,
)

UNKNOWN = Extension(0x7FFF, b"?")


def commitments(leader: Leader) -> tuple[int, int]:
    """Reports in buckets, and report identifiers used up."""
    return report_count(leader.task), AggregatedReport.objects.filter(task=leader.task).count()


@pytest.mark.django_db
class TestAnswers:
    def test_job_of_honest_reports_adds_each_of_them_once(self) -> None:
        leader = registered()
        reports = leader.reports(4)

        assert leader.aggregate(reports) == ["ok"] * 4

        bucket = BatchBucket.objects.get()
        assert bucket.report_count == 4
        assert bytes(bucket.checksum) == checksum_of(report.report_id for report in reports)
        assert (bucket.first_time, bucket.last_time) == (current_time(), current_time())

    def test_job_sent_again_gets_the_same_bytes_and_adds_nothing(self) -> None:
        leader = registered()
        body = leader.request(leader.reports(3))
        first = leader.send_job(body)

        for _ in range(3):
            again = leader.send_job(body)
            assert (again.body, again.location) == (first.body, first.location)
        assert commitments(leader) == (3, 3)

    def test_job_with_rejections_sent_again_counts_them_once(self) -> None:
        leader = registered()
        body = leader.request([leader.report(2, cheat=True), *leader.reports(2)])
        leader.send_job(body)

        leader.send_job(body)

        assert rejections_of(leader.task, Side.HELPER) == {"vdaf_verify_error": 1}

    def test_job_is_found_at_its_location(self) -> None:
        leader = registered()
        created = leader.send_job(leader.request(leader.reports(3)))

        assert peer().get(created.location).body == created.body
        assert peer().get(f"{created.location}?step=0").body == created.body

    def test_deleted_job_keeps_its_answer_for_a_copy_of_the_request_that_is_still_on_its_way(self) -> None:
        leader = registered()
        body = leader.request(leader.reports(3))
        created = leader.send_job(body)

        assert peer().send("DELETE", created.location).status == 200

        assert leader.send_job(body).body == created.body
        assert commitments(leader) == (3, 3)

    def test_continuation_is_refused_since_there_is_no_second_step(self) -> None:
        leader = registered()
        created = leader.send_job(leader.request(leader.reports(3)))
        body = AggregationJobContinueReq(1, (VerifyContinue(bytes(16), b"x"),)).encode()

        with pytest.raises(PeerRefusedError) as refusal:
            peer().post(created.location, body, media_type(AggregationJobContinueReq))

        assert refusal.value.token == "stepMismatch"

    def test_unknown_job_is_refused(self) -> None:
        leader = registered()
        with pytest.raises(PeerRefusedError) as refusal:
            peer().get(f"{leader.path}/aggregation_jobs/{'A' * 22}")
        assert refusal.value.token == "unrecognizedAggregationJob"


@pytest.mark.django_db
class TestRejections:
    """One bad report never takes the others of its job down, and is counted by its reason."""

    def outcome(self, leader: Leader, bad: Any) -> str:
        before = report_count(leader.task)
        said = leader.aggregate([leader.report(), bad, leader.report()])
        assert (said[0], said[2]) == ("ok", "ok")
        assert report_count(leader.task) == before + 2
        assert rejections_of(leader.task, Side.HELPER) == {said[1]: 1}
        return said[1]

    @pytest.mark.parametrize("value", [2, -1, 10**9])
    def test_measurement_that_is_neither_0_nor_1(self, value: int) -> None:
        leader = registered()
        bad = leader.report(value % (2**64 - 2**32 + 1), cheat=True)
        assert self.outcome(leader, bad) == "vdaf_verify_error"

    @pytest.mark.parametrize(
        "change",
        [
            {"min_batch_size": 2},
            {"time_precision": PRECISION + 1},
            {"leader_aggregator_endpoint": "https://other.test"},
            {"task_info": b"other"},
        ],
    )
    def test_share_sealed_under_other_parameters_than_the_tasks(self, change: dict[str, Any]) -> None:
        leader = registered()
        assert self.outcome(leader, leader.report(under=configuration(**change))) == "hpke_decrypt_error"

    def test_share_that_was_altered(self) -> None:
        leader = registered()
        report = leader.report()
        altered = rejected_ciphertext(report.share.encrypted_input_share)
        bad = replace(report, share=replace(report.share, encrypted_input_share=altered))
        assert self.outcome(leader, bad) == "hpke_decrypt_error"

    def test_share_of_another_report(self) -> None:
        leader = registered()
        report, other = leader.report(), leader.report()
        share = replace(report.share, encrypted_input_share=other.share.encrypted_input_share)
        assert self.outcome(leader, replace(report, share=share)) == "hpke_decrypt_error"

    def test_share_for_a_key_that_nobody_made(self) -> None:
        leader = registered()
        report = leader.report(config_id=255)
        assert self.outcome(leader, report) == "hpke_unknown_config_id"

    def test_time_too_far_ahead(self) -> None:
        leader = registered()
        assert self.outcome(leader, leader.report(time=current_time() + 2)) == "report_too_early"

    def test_time_that_no_database_holds(self) -> None:
        leader = registered()
        assert self.outcome(leader, leader.report(time=2**64 - 1)) == "report_too_early"

    @pytest.mark.parametrize(("offset", "reason"), [(-2, "task_not_started"), (1, "task_expired")])
    def test_time_outside_of_the_task_interval(self, offset: int, reason: str) -> None:
        interval = Interval(current_time() - 1, 2)
        leader = registered(extensions=(task_interval_extension(interval),))
        assert self.outcome(leader, leader.report(time=current_time() + offset)) == reason

    def test_unknown_public_extension(self) -> None:
        leader = registered()
        assert self.outcome(leader, leader.report(public_extensions=(UNKNOWN,))) == "invalid_message"

    def test_unknown_private_extension(self) -> None:
        leader = registered()
        assert self.outcome(leader, leader.report(private_extensions=(UNKNOWN,))) == "invalid_message"

    def test_replay_in_another_job(self) -> None:
        leader = registered()
        report = leader.report()
        assert leader.aggregate([report]) == ["ok"]
        assert leader.aggregate([leader.report(), report]) == ["ok", "report_replayed"]
        assert commitments(leader) == (2, 2)

    def test_report_that_failed_verification_has_no_second_try(self) -> None:
        """Else a leader could try messages until one is accepted, and learn from which."""
        leader = registered()
        cheat = leader.report(2, cheat=True)
        assert leader.aggregate([cheat]) == ["vdaf_verify_error"]
        assert leader.aggregate([leader.report(report_id=cheat.report_id)]) == ["report_replayed"]
        assert commitments(leader) == (0, 1)

    def test_report_that_came_too_early_may_come_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        leader = registered()
        report = leader.report(time=current_time() + 2)
        assert leader.aggregate([report]) == ["report_too_early"]

        job = leader.request([report, leader.report()])
        later = timezone.now() + timedelta(seconds=3 * PRECISION)
        _, answer = aggregation_job_create(task=leader.task, body=job, now=later)

        assert leader.finish(
            [report, *[]], AggregationJobResp(AggregationJobResp.decode(answer).verify_resps[:1]).encode()
        ) == ["ok"]


@pytest.mark.django_db
class TestKeys:
    def test_retired_key_opens_until_it_is_deleted_after_its_grace_period(self, settings: Any) -> None:
        leader = registered()
        before, during, late, after = leader.reports(4)
        retired = HpkeKey.objects.get()
        now = timezone.now()
        HPKE_KEYS.rotate(now=now)
        assert leader.aggregate([before]) == ["ok"]

        HpkeKey.objects.filter(pk=retired.pk).update(
            retired_at=now - timedelta(seconds=settings.HPKE_GRACE_SECONDS - 60)
        )
        assert HPKE_KEYS.expire(now=now) == 0
        assert leader.aggregate([during]) == ["ok"]

        HpkeKey.objects.filter(pk=retired.pk).update(
            retired_at=now - timedelta(seconds=settings.HPKE_GRACE_SECONDS)
        )
        assert leader.aggregate([late]) == ["ok"]
        assert HPKE_KEYS.expire(now=now) == 1
        assert leader.aggregate([after]) == ["hpke_unknown_config_id"]


@pytest.mark.django_db
class TestRefusals:
    """A request that is refused as a whole leaves no trace."""

    def refused(self, leader: Leader, body: bytes) -> PeerRefusedError:
        with pytest.raises(PeerRefusedError) as refusal:
            leader.send_job(body)
        self.require_no_trace(leader)
        assert refusal.value.problem["taskid"] == leader.path.removeprefix("/tasks/")
        return refusal.value

    def put_off(self, leader: Leader, body: bytes) -> str:
        """The words of a refusal that the leader does not take for the last: no report is lost by it."""
        with pytest.raises(PeerUnavailableError) as refusal:
            leader.send_job(body)
        self.require_no_trace(leader)
        return str(refusal.value)

    def require_no_trace(self, leader: Leader) -> None:
        assert commitments(leader) == (0, 0)
        assert rejections_of(leader.task, Side.HELPER) == {}
        assert not AggregationJob.objects.exists()

    def test_report_twice_in_one_job(self) -> None:
        leader = registered()
        report = leader.report()
        body = leader.request([report])
        init = body[1 + 4 + 2 :]
        assert self.refused(leader, body + init).token == "invalidMessage"

    @pytest.mark.parametrize("change", ["cut short", "followed by a byte", "one byte", "no reports"])
    def test_malformed_request(self, change: str) -> None:
        leader = registered()
        body = leader.request(leader.reports(2))
        changed = {
            "cut short": body[:-1],
            "followed by a byte": body + b"\0",
            "one byte": b"\0",
            "no reports": AggregationJobInitReq(0, b"", (), ()).encode(),
        }
        assert self.refused(leader, changed[change]).token == "invalidMessage"

    def test_aggregation_parameter(self) -> None:
        leader = registered()
        body = leader.request(leader.reports(1), agg_param=b"p")
        assert self.refused(leader, body).token == "invalidAggregationParameter"

    def test_other_verification_key(self) -> None:
        leader = registered()
        assert self.refused(leader, leader.request(leader.reports(1), key_id=1)).token == "invalidMessage"

    def test_unknown_extension_is_named(self) -> None:
        leader = registered()
        refusal = self.refused(leader, leader.request(leader.reports(1), extensions=(UNKNOWN,)))
        assert refusal.token == "unsupportedExtension"
        assert refusal.problem["unsupported_extensions"] == [0x7FFF]

    def test_batch_identifier_in_mode_time_interval(self) -> None:
        leader = registered()
        body = leader.request(leader.reports(1), batch_id=bytes(32))
        assert self.refused(leader, body).token == "invalidMessage"

    def test_no_batch_identifier_in_mode_leader_selected(self) -> None:
        leader = registered(batch_mode=BatchMode.LEADER_SELECTED)
        assert self.refused(leader, leader.request(leader.reports(1))).token == "invalidMessage"

    def test_more_reports_than_a_job_may_have(self, settings: Any) -> None:
        settings.JOB_REPORTS = 2
        leader = registered()
        said = self.put_off(leader, leader.request(leader.reports(3)))
        assert "status 413" in said
        assert "A job has at most 2 reports." in said

    def test_more_extensions_than_a_job_may_have(self) -> None:
        leader = registered()
        long = (Extension(0x7FFF, bytes(EXTENSION_BYTES // 2)),)
        body = leader.request(leader.reports(2, public_extensions=long))
        assert "bytes of extensions" in self.put_off(leader, body)

    def test_body_larger_than_is_ever_read(self, settings: Any) -> None:
        settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000
        leader = registered(task_info=b"small")
        assert "A body here is at most 1,000 bytes." in self.put_off(leader, bytes(1_001))

    def test_other_media_type(self) -> None:
        leader = registered()
        body = leader.request(leader.reports(1))
        with pytest.raises(PeerRefusedError) as refusal:
            peer().post(f"{leader.path}/aggregation_jobs", body, "application/json")
        assert refusal.value.status == 415
        assert commitments(leader) == (0, 0)

    def test_unknown_task(self) -> None:
        leader = registered()
        leader.task_id = secrets.token_bytes(32)
        with pytest.raises(PeerRefusedError) as refusal:
            leader.send_job(leader.request(leader.reports(1)))
        assert refusal.value.token == "unrecognizedTask"
        assert refusal.value.problem["taskid"] == leader.path.removeprefix("/tasks/")


@pytest.mark.django_db
class TestKilled:
    def test_job_killed_at_any_statement_leaves_nothing_and_succeeds_when_sent_again(self) -> None:
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
            assert leader_says_all_good(first, 8)
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


def leader_says_all_good(answer: bytes, count: int) -> bool:
    return list(outcomes(answer).values()) == [True] * count
