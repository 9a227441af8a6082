"""Uploads over HTTP: every report once, every rejection said, in order."""

import dataclasses
import secrets
from datetime import timedelta
from unittest.mock import Mock

import pytest
from django.test import Client

from dap.hpke_keys import HPKE_KEYS
from dap.limits import TooManyReportsError, skip
from dap.models import AggregatedReport, Side
from dap.selectors import rejections_of
from leader.models import Uploads
from leader.operations import task_end
from leader.upload_limits import upload_check
from leader.uploads import reports_upload
from panprivacy import base64_text
from panprivacy.dap.basics import Extension, Interval, ReportError
from panprivacy.dap.media import media_type
from panprivacy.dap.token_extension import token_extension
from panprivacy.dap.upload import (
    HpkeConfigList,
    Report,
    ReportMetadata,
    ReportUploadStatus,
    UploadErrors,
    UploadRequest,
)
from panprivacy.privacy_pass.tokens import TOKEN_BYTES
from tests.collections.leader.pair import CLOCK, HOUR, Pair

pytestmark = pytest.mark.django_db


def post(pair: Pair, body: bytes, *, task_id: bytes | None = None, content_type: str | None = None):
    address = f"/leader/tasks/{base64_text.encode_url(task_id or pair.task_id)}/reports"
    return Client().post(address, body, content_type=content_type or media_type(UploadRequest))


def statuses(body: bytes) -> list[tuple[bytes, ReportError]]:
    return [(status.id, status.error) for status in UploadErrors.decode(body).status]


def test_upload_of_good_reports_is_answered_with_nothing_and_stored_in_one_row() -> None:
    pair = Pair()
    response = post(pair, UploadRequest(tuple(pair.report(i) for i in range(4))).encode())
    assert (response.status_code, response.content) == (200, b"")
    assert Uploads.objects.get().count == 4


def test_upload_again_after_a_lost_answer_stores_nothing_twice() -> None:
    pair = Pair()
    reports = tuple(pair.report(i) for i in range(3))
    body = UploadRequest(reports).encode()
    post(pair, body)
    response = post(pair, body)
    assert response.status_code == 200
    assert response["Content-Type"] == media_type(UploadErrors)
    replayed = [(report.report_metadata.report_id, ReportError.REPORT_REPLAYED) for report in reports]
    assert statuses(response.content) == replayed
    assert Uploads.objects.get().count == 3


def test_upload_says_of_every_report_that_is_not_taken_why_in_the_order_of_the_request() -> None:
    pair = Pair(interval=Interval(HOUR - 10, 20))
    good = [pair.report(0), pair.report(1)]
    metadata = ReportMetadata(secrets.token_bytes(16), pair.time, (Extension(9, b""),))
    extended = dataclasses.replace(pair.report(0), report_metadata=metadata)
    outdated = pair.report(0)
    outdated = dataclasses.replace(
        outdated,
        leader_encrypted_input_share=dataclasses.replace(
            outdated.leader_encrypted_input_share, config_id=200
        ),
    )
    before, after = pair.report(0, time=pair.time - 11), pair.report(0, time=pair.time + 10)
    early = pair.report(0, time=pair.time + 1)
    reports = [extended, good[0], outdated, before, good[0], after, early, good[1]]
    rejected = reports_upload(task=pair.task, reports=reports, now=pair.now)
    expected = [
        (extended, ReportError.INVALID_MESSAGE),
        (outdated, ReportError.OUTDATED_CONFIG),
        (before, ReportError.REPORT_DROPPED),
        (good[0], ReportError.REPORT_REPLAYED),
        (after, ReportError.REPORT_DROPPED),
        (early, ReportError.REPORT_TOO_EARLY),
    ]
    assert rejected == [
        ReportUploadStatus(report.report_metadata.report_id, error) for report, error in expected
    ]
    assert Uploads.objects.get().count == 2
    assert sum(pair.rejections()["leader"].values()) == 6


def test_upload_of_a_report_that_was_too_early_succeeds_later() -> None:
    pair = Pair()
    report = pair.report(0, time=pair.time + 1)
    (status,) = reports_upload(task=pair.task, reports=[report], now=pair.now)
    assert status.error is ReportError.REPORT_TOO_EARLY
    CLOCK.now += timedelta(hours=1) - timedelta(minutes=4)
    assert reports_upload(task=pair.task, reports=[report], now=pair.now) == []


def test_upload_under_a_retired_key_is_taken_within_the_grace_period_only() -> None:
    pair = Pair()
    first, second = pair.report(0), pair.report(1)
    HPKE_KEYS.rotate(now=pair.now)
    assert reports_upload(task=pair.task, reports=[first], now=pair.now) == []
    CLOCK.now += timedelta(days=14)
    (status,) = reports_upload(task=pair.task, reports=[second], now=pair.now)
    assert status.error is ReportError.OUTDATED_CONFIG


def test_upload_to_a_closed_task_is_dropped_and_counted() -> None:
    pair = Pair()
    pair.close()
    (status,) = reports_upload(task=pair.task, reports=[pair.report(0)], now=pair.now)
    assert status.error is ReportError.REPORT_DROPPED
    assert rejections_of(pair.task, "leader") == {"report_dropped": 1}
    assert not AggregatedReport.objects.exists()


def test_upload_to_an_ended_task_is_dropped_and_leaves_its_counts_as_they_are() -> None:
    pair = Pair()
    task_end(task=pair.task, reason="over", now=pair.now)
    (status,) = reports_upload(task=pair.task, reports=[pair.report(0)], now=pair.now)
    assert status.error is ReportError.REPORT_DROPPED
    assert rejections_of(pair.task, "leader") == {}


def test_upload_of_more_reports_than_a_job_takes_is_cut_into_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leader.uploads.JOB_REPORTS", 2)
    pair = Pair()
    pair.upload(0, 1, 2, 3, 0)
    assert list(Uploads.objects.order_by("pk").values_list("count", flat=True)) == [2, 2, 1]


def test_upload_of_a_malformed_body_is_refused_as_a_whole() -> None:
    pair = Pair()
    body = UploadRequest((pair.report(0), pair.report(1))).encode()
    for malformed in (body[:-1], body + b"\0", b"\xff" * 100):
        response = post(pair, malformed)
        assert response.status_code == 400
        assert response.json()["type"] == "urn:ietf:params:ppm:dap:error:invalidMessage"
        assert response.json()["taskid"] == base64_text.encode_url(pair.task_id)
    assert not Uploads.objects.exists()


def test_upload_to_an_unknown_task_says_so() -> None:
    response = post(Pair(), b"", task_id=bytes(32))
    assert response.status_code == 404
    assert response.json()["type"] == "urn:ietf:params:ppm:dap:error:unrecognizedTask"


def test_upload_of_another_media_type_is_refused() -> None:
    assert post(Pair(), b"", content_type="application/octet-stream").status_code == 415


def test_upload_of_far_too_many_reports_is_refused_before_it_is_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("leader.upload_limits.UPLOAD_REPORTS", 2)
    monkeypatch.setattr("leader.views.UploadRequest.decode", lambda body: pytest.fail("decoded"))
    pair = Pair()
    response = post(pair, UploadRequest(tuple(pair.report(0) for _ in range(3))).encode())
    assert response.status_code == 413


def test_upload_of_far_too_many_reports_is_looked_at_no_further_than_its_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passed_over = Mock(wraps=skip)
    monkeypatch.setattr("dap.limits.skip", passed_over)
    monkeypatch.setattr("leader.upload_limits.UPLOAD_REPORTS", 10)
    tiny = bytes(24) + b"\0\0" + bytes(4) + 2 * b"\0\0\1x\0\0\0\1y"
    with pytest.raises(TooManyReportsError):
        upload_check(tiny * 1_000)
    assert passed_over.call_count == 10 * 5


def test_upload_with_a_token_in_each_of_many_reports_is_not_too_large() -> None:
    pair = Pair()
    metadata = ReportMetadata(secrets.token_bytes(16), pair.time, (token_extension(bytes(TOKEN_BYTES)),))
    report = dataclasses.replace(pair.report(0), report_metadata=metadata)
    upload_check(report.encode() * 200)
    # As long, of as many bytes each, and anything but a single token.
    small = (*(Extension(n, b"") for n in range(88)), Extension(88, b"xx"))
    padded = dataclasses.replace(metadata, public_extensions=small)
    assert len(padded.encode()) == len(metadata.encode())
    with pytest.raises(TooManyReportsError, match="extensions"):
        upload_check(dataclasses.replace(report, report_metadata=padded).encode() * 200)


def test_upload_with_far_too_many_extensions_is_refused_before_it_is_decoded() -> None:
    pair = Pair()
    plain = pair.report(0)
    extensions = tuple(Extension(n, b"") for n in range(16_000))
    heavy = [
        Report(
            ReportMetadata(secrets.token_bytes(16), pair.time, extensions),
            b"",
            plain.leader_encrypted_input_share,
            plain.helper_encrypted_input_share,
        )
        for _ in range(2)
    ]
    assert post(pair, UploadRequest(tuple(heavy)).encode()).status_code == 413


def test_get_of_reports_names_the_method_that_is_allowed() -> None:
    pair = Pair()
    response = Client().get(f"/leader/tasks/{base64_text.encode_url(pair.task_id)}/reports")
    assert (response.status_code, response["Allow"]) == (405, "POST")


@pytest.mark.parametrize("address", ["/leader/tasks/short/reports", "/leader/", "/leader/nothing"])
def test_address_without_a_resource_is_answered_with_a_problem(address: str) -> None:
    response = Client().get(address)
    assert (response.status_code, response["Content-Type"]) == (404, "application/problem+json")


def test_hpke_config_is_what_clients_seal_to() -> None:
    pair = Pair()
    response = Client().get("/leader/hpke_config")
    assert response["Content-Type"] == media_type(HpkeConfigList)
    (config,) = HpkeConfigList.decode(response.content).configs
    assert pair.report(0).leader_encrypted_input_share.config_id == config.id


@pytest.mark.parametrize(
    "part", ["public_share", "leader_encrypted_input_share", "helper_encrypted_input_share"]
)
def test_upload_of_a_part_that_no_report_of_the_task_has_is_refused_and_not_stored(part: str) -> None:
    pair = Pair()
    honest, report = pair.report(0), pair.report(1)
    before = getattr(report, part)
    padded = bytes(15_000_000)
    changed = padded if isinstance(before, bytes) else dataclasses.replace(before, payload=padded)
    swollen = dataclasses.replace(report, **{part: changed})
    response = post(pair, UploadRequest((swollen, honest)).encode())
    assert statuses(response.content) == [(report.report_metadata.report_id, ReportError.INVALID_MESSAGE)]
    assert Uploads.objects.get().size == len(honest.encode())
    assert rejections_of(pair.task, Side.LEADER) == {"invalid_message": 1}
    # Its identifier is not used up: the device may send the report as it should be.
    assert post(pair, UploadRequest((report,)).encode()).content == b""
