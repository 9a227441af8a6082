"""Tokens in DAP reports, at the leader: one report for each, none without where the recipe asks for one."""

import dataclasses
import random
import secrets
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from dap.models import AggregatedReport, Side
from dap.selectors import rejections_of
from leader.aggregating import aggregation_jobs_plan
from leader.models import Uploads
from leader.uploads import reports_upload
from panprivacy.dap.basics import Extension, ReportError
from panprivacy.dap.token_extension import TOKEN, token_extension
from panprivacy.dap.upload import Report, ReportMetadata
from panprivacy.dap.vdafs import context_of, prio3_of
from panprivacy.recipe import PublishedRecipe
from tests.collections.leader.pair import HOUR, Interval, Pair
from tests.collections.leader.test_races import at_once
from tests.panprivacy.test_admission import with_tokens
from tests.panprivacy.test_servers import two_servers
from tests.tokens import issued_token

pytestmark = pytest.mark.django_db

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
    metadata = ReportMetadata(report_id or of_token.ljust(16, b"\0")[:16], pair.time, extensions)
    vdaf = prio3_of(pair.configuration)
    rand = secrets.token_bytes(vdaf.rand_size)
    return pair.sealed(metadata, *vdaf.shard(context_of(pair.task_id), bucket, metadata.report_id, rand))


def with_token(pair: Pair, token: bytes, **options: Any) -> Report:
    return report(pair, token_extension(token), **options)


def changed(token: bytes, position: int) -> bytes:
    return token[:position] + bytes([token[position] ^ 1]) + token[position + 1 :]


def errors(pair: Pair, *reports: Report) -> list[ReportError]:
    statuses = reports_upload(task=pair.task, reports=reports, now=pair.now)
    return [status.error for status in statuses]


def rejected(pair: Pair) -> dict[str, int]:
    return rejections_of(pair.task, Side.LEADER)


def test_reports_with_tokens_are_added_up_on_both_sides() -> None:
    pair = token_pair()
    assert errors(pair, *(with_token(pair, token_of(), bucket=bucket) for bucket in (0, 1, 1))) == []
    pair.close()
    pair.settle(2)
    assert pair.counts() == (3, 3)
    assert pair.rejections() == {"leader": {}, "helper": {}}


SOUND = token_of()
INVALID, FOREIGN = "token_invalid", "token_of_another_recipe"


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        (changed(SOUND, 1), INVALID),  # its type
        (changed(SOUND, 2), INVALID),  # the half of its nonce that names no report
        (changed(SOUND, 33), INVALID),  # the other half: the report is named as the changed token says
        (changed(SOUND, 34), FOREIGN),  # what it is for
        (changed(SOUND, 66), FOREIGN),  # the key that signed it
        (changed(SOUND, 353), INVALID),  # the signature
        (SOUND[:-1], INVALID),
        (SOUND + b"\0", INVALID),
        (bytes(60_000), INVALID),
        (b"", "token_missing"),
        (token_of(OTHER), FOREIGN),
    ],
)
def test_token_that_is_none_of_this_recipe_is_refused_and_nothing_of_the_report_kept(
    token: bytes, reason: str
) -> None:
    pair = token_pair()
    assert errors(pair, with_token(pair, token)) == [ReportError.INVALID_MESSAGE]
    assert rejected(pair) == {reason: 1}
    assert not Uploads.objects.exists()
    # Nor is its identifier used up: a report that has it by right still counts.
    assert not AggregatedReport.objects.exists()


def test_report_without_a_token_or_with_that_of_another_report_is_refused() -> None:
    pair = token_pair()
    stolen = with_token(pair, SOUND, report_id=secrets.token_bytes(16))
    assert errors(pair, report(pair), stolen) == [ReportError.INVALID_MESSAGE] * 2
    assert rejected(pair) == {"token_missing": 1, "token_invalid": 1}


def test_bad_token_does_not_keep_the_good_one_of_the_same_report_out() -> None:
    pair = token_pair()
    bad = with_token(pair, changed(SOUND, 353))
    assert errors(pair, bad, with_token(pair, SOUND)) == [ReportError.INVALID_MESSAGE]
    assert Uploads.objects.get().count == 1


def test_extension_that_stands_twice_or_beside_an_unknown_one_is_refused() -> None:
    pair = token_pair()
    twice = report(pair, token_extension(SOUND), token_extension(SOUND))
    beside = report(pair, token_extension(SOUND), Extension(TOKEN + 1, b""))
    assert errors(pair, twice, beside) == [ReportError.INVALID_MESSAGE] * 2
    assert rejected(pair) == {"invalid_message": 2}


def test_task_without_tokens_refuses_the_extension_as_unknown() -> None:
    pair = Pair()
    assert errors(pair, with_token(pair, SOUND)) == [ReportError.INVALID_MESSAGE]
    assert rejected(pair) == {"invalid_message": 1}


def test_token_counts_once_in_a_request_and_in_the_next_whatever_is_reported_with_it() -> None:
    pair = token_pair()
    first, second, third = (with_token(pair, SOUND, bucket=bucket) for bucket in range(3))
    assert errors(pair, first, second) == [ReportError.REPORT_REPLAYED]
    assert errors(pair, third) == [ReportError.REPORT_REPLAYED]
    assert Uploads.objects.get().count == 1


@pytest.mark.django_db(transaction=True)
def test_two_devices_that_race_with_one_token_count_once() -> None:
    pair = token_pair()
    told: list[list[ReportError]] = []

    def race(bucket: int) -> None:
        told.append(errors(pair, with_token(pair, SOUND, bucket=bucket)))

    at_once(*(partial(race, bucket) for bucket in range(3)))
    assert sorted(told) == [[], [ReportError.REPORT_REPLAYED], [ReportError.REPORT_REPLAYED]]
    assert sum(Uploads.objects.values_list("count", flat=True)) == 1


def test_token_is_bound_to_its_report_by_the_seal() -> None:
    """A token that was put to a report that was sealed without it makes the report unreadable."""
    pair = token_pair()
    own = with_token(pair, SOUND)
    bare = dataclasses.replace(own.report_metadata, public_extensions=())
    vdaf = prio3_of(pair.configuration)
    rand = secrets.token_bytes(vdaf.rand_size)
    sealed = pair.sealed(bare, *vdaf.shard(context_of(pair.task_id), 1, bare.report_id, rand))
    assert errors(pair, dataclasses.replace(sealed, report_metadata=own.report_metadata)) == []
    for job in aggregation_jobs_plan(task=pair.task, now=pair.now + timedelta(hours=2)):
        pair.drive(job)
    assert pair.counts() == (0, 0)
    assert rejected(pair) == {"hpke_decrypt_error": 1}
