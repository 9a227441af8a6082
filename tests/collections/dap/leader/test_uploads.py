"""Uploads over HTTP: every report once, every rejection said, in order."""

import dataclasses
import random
import secrets
from datetime import timedelta
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest
from django.test import Client

from dap.hpke_keys import HPKE_KEYS
from dap.leader.aggregation import aggregation_jobs_plan
from dap.leader.models import Uploads
from dap.leader.operations import task_end
from dap.leader.upload_limits import upload_check
from dap.leader.uploads import reports_upload
from dap.limits import TooManyReportsError, skip
from dap.models import AggregatedReport, Side
from dap.selectors import rejections_of
from panprivacy.formats import base64_text
from panprivacy.protocols.dap.basics import Extension, Interval, ReportError
from panprivacy.protocols.dap.media import media_type, problem_type
from panprivacy.protocols.dap.token_extension import TOKEN, token_extension
from panprivacy.protocols.dap.upload import (
    HpkeConfigList,
    Report,
    ReportUploadStatus,
    UploadErrors,
    UploadRequest,
)
from panprivacy.protocols.privacy_pass.tokens import TOKEN_BYTES
from panprivacy.recipe.document import PublishedRecipe
from tests.collections.dap.leader.scene import CLOCK, HOUR, Pair
from tests.concurrency import at_once
from tests.panprivacy.recipe.test_token import with_tokens
from tests.panprivacy.statistics.test_servers import two_servers
from tests.tokens import issued_token

pytestmark = pytest.mark.django_db


def post(pair: Pair, body: bytes, *, task_id: bytes | None = None, content_type: str | None = None):
    address = f"/leader/tasks/{base64_text.encode_url(task_id or pair.task_id)}/reports"
    return Client().post(address, body, content_type=content_type or media_type(UploadRequest))


def statuses(body: bytes) -> list[tuple[bytes, ReportError]]:
    return [(status.id, status.error) for status in UploadErrors.decode(body).status]


def test_upload_of_good_reports_is_stored_once_however_often_it_is_sent() -> None:
    pair = Pair()
    reports = tuple(pair.report(i) for i in range(3))
    body = UploadRequest(reports).encode()
    first = post(pair, body)
    assert (first.status_code, first.content) == (200, b"")
    assert Uploads.objects.get().count == 3
    response = post(pair, body)
    assert (response.status_code, response["Content-Type"]) == (200, media_type(UploadErrors))
    replayed = [(report.report_metadata.report_id, ReportError.REPORT_REPLAYED) for report in reports]
    assert statuses(response.content) == replayed
    assert Uploads.objects.get().count == 3


def test_upload_says_why_of_every_report_that_is_not_taken_in_order() -> None:
    pair = Pair(interval=Interval(HOUR - 10, 20))
    good = [pair.report(0), pair.report(1)]
    extended, outdated = pair.report(0, extensions=(Extension(9, b""),)), pair.report(0)
    share = dataclasses.replace(outdated.leader_encrypted_input_share, config_id=200)
    outdated = dataclasses.replace(outdated, leader_encrypted_input_share=share)
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


@pytest.mark.parametrize("ended", [False, True])
def test_upload_to_a_closed_task_is_dropped_and_counted_until_its_end(ended: bool) -> None:
    pair = Pair()
    if ended:
        task_end(task=pair.task, reason="over", now=pair.now)
    else:
        pair.close()
    (status,) = reports_upload(task=pair.task, reports=[pair.report(0)], now=pair.now)
    assert status.error is ReportError.REPORT_DROPPED
    assert rejections_of(pair.task, "leader") == ({} if ended else {"report_dropped": 1})
    assert not AggregatedReport.objects.exists()


def test_upload_of_more_reports_than_a_job_takes_is_cut_into_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dap.leader.uploads.JOB_REPORTS", 2)
    Pair().upload(0, 1, 2, 3, 0)
    assert list(Uploads.objects.order_by("pk").values_list("count", flat=True)) == [2, 2, 1]


def test_malformed_upload_or_one_to_an_unknown_task_is_refused_as_a_whole() -> None:
    pair = Pair()
    body = UploadRequest((pair.report(0), pair.report(1))).encode()
    bad = [
        (malformed, pair.task_id, 400, "invalidMessage") for malformed in (body[:-1], body + b"\0", b"\xff")
    ]
    for content, task_id, status, problem in [*bad, (body, bytes(32), 404, "unrecognizedTask")]:
        response = post(pair, content, task_id=task_id)
        assert (response.status_code, response.json()["type"]) == (status, problem_type(problem))
        assert response.json()["taskid"] == base64_text.encode_url(task_id)
    assert post(pair, body, content_type="application/octet-stream").status_code == 415
    assert not Uploads.objects.exists()


@pytest.mark.parametrize(
    ("address", "status"),
    [("tasks/short/reports", 404), ("", 404), ("nothing", 404), (f"tasks/{'A' * 43}/reports", 405)],
)
def test_address_without_a_resource_is_answered_with_a_problem(address: str, status: int) -> None:
    response = Client().get(f"/leader/{address}")
    assert (response.status_code, response["Content-Type"]) == (status, "application/problem+json")
    assert response.get("Allow") == ("POST" if status == 405 else None)


@pytest.mark.parametrize(("reports", "extensions"), [(3, 0), (2, 16_000)])
def test_upload_that_is_far_too_large_is_refused_undecoded(
    monkeypatch: pytest.MonkeyPatch, reports: int, extensions: int
) -> None:
    monkeypatch.setattr("dap.leader.upload_limits.UPLOAD_REPORTS", 2)
    monkeypatch.setattr("dap.leader.views.UploadRequest.decode", lambda body: pytest.fail("decoded"))
    pair = Pair()
    many = tuple(Extension(n, b"") for n in range(extensions))
    body = UploadRequest(tuple(pair.report(0, extensions=many) for _ in range(reports))).encode()
    assert post(pair, body).status_code == 413


def test_upload_of_far_too_many_reports_is_read_up_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    passed_over = Mock(wraps=skip)
    monkeypatch.setattr("dap.limits.skip", passed_over)
    monkeypatch.setattr("dap.leader.upload_limits.UPLOAD_REPORTS", 10)
    tiny = bytes(24) + b"\0\0" + bytes(4) + 2 * b"\0\0\1x\0\0\0\1y"
    with pytest.raises(TooManyReportsError):
        upload_check(tiny * 1_000)
    assert passed_over.call_count == 10 * 5


def test_upload_with_a_token_in_each_of_many_reports_is_not_too_large() -> None:
    pair = Pair()
    report = pair.report(0, extensions=(token_extension(bytes(TOKEN_BYTES)),))
    upload_check(report.encode() * 200)
    # As long, of as many bytes each, and anything but a single token.
    padded = pair.report(0, extensions=(*(Extension(n, b"") for n in range(88)), Extension(88, b"xx")))
    assert len(padded.encode()) == len(report.encode())
    with pytest.raises(TooManyReportsError, match="extensions"):
        upload_check(padded.encode() * 200)


def test_hpke_config_is_what_clients_seal_to() -> None:
    pair = Pair()
    response = Client().get("/leader/hpke_config")
    assert response["Content-Type"] == media_type(HpkeConfigList)
    x_wing, x25519 = HpkeConfigList.decode(response.content).configs
    assert (x_wing.kem_id, x25519.kem_id) == (0x647A, 0x20)
    assert pair.report(0).leader_encrypted_input_share.config_id == x_wing.id


@pytest.mark.parametrize(
    "part", ["public_share", "leader_encrypted_input_share", "helper_encrypted_input_share"]
)
def test_upload_of_a_part_that_no_report_has_is_refused(part: str) -> None:
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


SOURCE = random.Random(9578)
RECIPE = with_tokens(two_servers())
OTHER = with_tokens(two_servers(), name="Starts")


def token_of(recipe: PublishedRecipe = RECIPE, **options: Any) -> bytes:
    return issued_token(recipe, SOURCE, **options).encode()


def token_pair() -> Pair:
    """A task of a recipe with tokens, on both sides."""
    document = RECIPE.canonical.decode()
    pair = Pair(interval=Interval(HOUR - 1, 3), document=document)
    helper_task = pair.helper_task
    helper_task.document = document
    helper_task.save(update_fields=["document"])
    return pair


def report(pair: Pair, *extensions: Extension, bucket: int = 1, report_id: bytes | None = None) -> Report:
    """What a device reports, under the identifier of its first token unless another is named."""
    of_token = extensions[0].extension_data[18:34] if extensions else b""
    named = report_id or of_token.ljust(16, b"\0")[:16]
    return pair.report(bucket, report_id=named, extensions=extensions)


def with_token(pair: Pair, token: bytes, **options: Any) -> Report:
    return report(pair, token_extension(token), **options)


def changed(token: bytes, position: int) -> bytes:
    return token[:position] + bytes([token[position] ^ 1]) + token[position + 1 :]


def rejected(pair: Pair) -> dict[str, int]:
    return rejections_of(pair.task, Side.LEADER)


def errors(pair: Pair, *reports: Report) -> list[ReportError]:
    statuses = reports_upload(task=pair.task, reports=reports, now=pair.now)
    return [status.error for status in statuses]


def test_reports_with_tokens_are_added_up_once_on_both_sides() -> None:
    pair = token_pair()
    tokens = [token_of() for _ in range(3)]
    assert (
        errors(pair, *(with_token(pair, token, bucket=bucket) for bucket, token in enumerate(tokens))) == []
    )
    again = [with_token(pair, token, bucket=3) for token in (tokens[0], tokens[0])]
    assert errors(pair, *again) == [ReportError.REPORT_REPLAYED] * 2
    pair.close()
    pair.settle(2)
    assert pair.counts() == (3, 3)
    assert pair.rejections() == {"leader": {"report_replayed": 2}, "helper": {}}


SOUND = token_of()
INVALID = "token_invalid"


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        (changed(SOUND, 33), INVALID),  # the half of its nonce that names the report, which is named so
        (changed(SOUND, 353), INVALID),  # the signature
        (bytes(60_000), INVALID),
        (b"", "token_missing"),
        (token_of(OTHER), "token_of_another_recipe"),
    ],
)
def test_token_that_is_none_of_this_recipe_is_refused_without_a_trace(token: bytes, reason: str) -> None:
    pair = token_pair()
    assert errors(pair, with_token(pair, token)) == [ReportError.INVALID_MESSAGE]
    assert rejected(pair) == {reason: 1}
    assert not Uploads.objects.exists()
    # Nor is its identifier used up: a report that has it by right still counts.
    assert not AggregatedReport.objects.exists()


def test_report_without_one_token_of_its_own_is_refused() -> None:
    pair = token_pair()
    stolen = with_token(pair, SOUND, report_id=secrets.token_bytes(16))
    twice = report(pair, token_extension(SOUND), token_extension(SOUND))
    unknown = report(pair, token_extension(SOUND), Extension(TOKEN + 1, b""))
    refused = [report(pair), stolen, twice, unknown, with_token(pair, changed(SOUND, 353))]
    # None of them keeps the good one of the same identifier out.
    assert errors(pair, *refused, with_token(pair, SOUND)) == [ReportError.INVALID_MESSAGE] * 5
    assert rejected(pair) == {"token_missing": 1, "token_invalid": 2, "invalid_message": 2}
    assert Uploads.objects.get().count == 1
    without_tokens = Pair()
    assert errors(without_tokens, with_token(without_tokens, SOUND)) == [ReportError.INVALID_MESSAGE]
    assert rejected(without_tokens) == {"invalid_message": 1}


@pytest.mark.django_db(transaction=True)
def test_two_devices_that_race_with_one_token_count_once() -> None:
    pair = token_pair()
    reports = [with_token(pair, SOUND, bucket=bucket) for bucket in range(3)]
    told = at_once(*(partial(errors, pair, one) for one in reports))
    assert sorted(told) == [[], [ReportError.REPORT_REPLAYED], [ReportError.REPORT_REPLAYED]]
    assert sum(Uploads.objects.values_list("count", flat=True)) == 1


def test_token_is_bound_to_its_report_by_the_seal() -> None:
    """A token that was put to a report that was sealed without it makes the report unreadable."""
    pair = token_pair()
    own = with_token(pair, SOUND)
    sealed = pair.report(1, report_id=own.report_metadata.report_id)
    assert errors(pair, dataclasses.replace(sealed, report_metadata=own.report_metadata)) == []
    for job in aggregation_jobs_plan(task=pair.task, now=pair.now + timedelta(hours=2)):
        pair.drive(job)
    assert pair.counts() == (0, 0)
    assert rejected(pair) == {"hpke_decrypt_error": 1}
