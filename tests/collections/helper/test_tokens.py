"""Tokens in DAP reports, at the helper: it verifies each itself, whatever the leader passes on."""

import random
from dataclasses import replace
from typing import Any

import pytest

from dap.limits import EXTENSION_BYTES
from dap.models import AggregatedReport, Side
from dap.selectors import rejections_of
from panprivacy.dap.basics import Extension
from panprivacy.dap.token_extension import token_extension
from panprivacy.privacy_pass.tokens import TOKEN_BYTES
from tests.collections.helper.scene import Leader, SentReport, registered
from tests.panprivacy.test_admission import with_tokens
from tests.panprivacy.test_servers import two_servers
from tests.tokens import issued_token

pytestmark = pytest.mark.django_db

SOURCE = random.Random(9578)
RECIPE = with_tokens(two_servers())


def tokens(count: int) -> list[bytes]:
    return [issued_token(RECIPE, SOURCE).encode() for _ in range(count)]


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


def test_reports_with_tokens_are_verified_and_added_up() -> None:
    leader = token_task()
    sent = [report(leader, token) for token in tokens(2)]
    assert leader.aggregate(sent) == ["ok", "ok"]
    assert leader.aggregate(sent[::-1]) == ["report_replayed"] * 2


def test_token_that_the_leader_strips_exchanges_or_changes_rejects_the_report_and_uses_up_nothing() -> None:
    leader = token_task()
    stripped, exchanged, altered, kept = (report(leader, token) for token in tokens(4))
    of_another, mine = tokens(1)[0], altered.share.report_metadata.public_extensions[0].extension_data
    job = [
        passed_on(stripped),
        passed_on(exchanged, token_extension(of_another)),
        passed_on(altered, token_extension(mine[:-1] + bytes([mine[-1] ^ 1]))),
        kept,
    ]
    assert leader.aggregate(job) == ["invalid_message"] * 3 + ["ok"]
    told = rejections_of(leader.task, Side.HELPER)
    assert told == {"token_missing": 1, "token_invalid": 2}
    assert AggregatedReport.objects.count() == 1


def test_report_that_the_leader_makes_up_under_a_used_token_opens_no_share() -> None:
    """It may seal shares of its own making; it has no second token for them."""
    leader = token_task()
    (token,) = tokens(1)
    assert leader.aggregate([report(leader, token, value=0)]) == ["ok"]
    assert leader.aggregate([report(leader, token, value=1)]) == ["report_replayed"]
    assert leader.aggregate([leader.report()]) == ["invalid_message"]


def test_token_put_before_a_report_that_was_sealed_without_it_does_not_open() -> None:
    leader = token_task()
    (token,) = tokens(1)
    bare = leader.report(report_id=token[18:34])
    assert leader.aggregate([passed_on(bare, token_extension(token))]) == ["hpke_decrypt_error"]


def test_task_without_tokens_rejects_the_extension_as_unknown() -> None:
    leader = registered()
    assert leader.aggregate([report(leader, tokens(1)[0])]) == ["invalid_message"]
    assert rejections_of(leader.task, Side.HELPER) == {"invalid_message": 1}


def test_private_extension_with_a_token_is_unknown() -> None:
    leader = token_task()
    (token,) = tokens(1)
    assert leader.aggregate([report(leader, token, private_extensions=(token_extension(token),))]) == [
        "invalid_message"
    ]


def test_job_with_a_token_in_each_report_is_not_too_large() -> None:
    """Together they are more bytes than a request may have of unknown extensions."""
    leader = registered()
    sent = report(leader, tokens(1)[0])
    count = EXTENSION_BYTES // TOKEN_BYTES + 1
    leader.aggregate([_renamed(sent, number) for number in range(count)])
    assert rejections_of(leader.task, Side.HELPER) == {"invalid_message": count}


def _renamed(sent: SentReport, number: int) -> SentReport:
    metadata = replace(sent.share.report_metadata, report_id=number.to_bytes(16, "big"))
    return replace(sent, share=replace(sent.share, report_metadata=metadata))
