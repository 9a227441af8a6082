"""Reports in the database and the object store: acknowledged once they are there, none after the closing."""

import random
import threading
from typing import Any

import obstore
import pytest
from django.db import OperationalError, connection
from django.test import Client
from structlog.testing import capture_logs

from panprivacy.recipe.report_shards.segments import segment_read
from panprivacy.recipe.report_shards.shard_sum import record_bytes_of
from panprivacy.recipe.token import report_nonce
from publishing.publishing import recipe_close
from recipes.models import Recipe
from reports import object_store, operations, segments
from reports.models import RejectionCount, ReportNonce, ReportSegment, SegmentedRecipe, StoredReports
from reports.object_store import StoreDownError
from reports.operations import RecipeNotOpenError, segments_store
from storage import group_commit
from storage.group_commit import RowHeldError
from tests.collections.reports.test_report_api import post_batch, post_one
from tests.collections.tokens.admission.scene import FakeIssuer, token_recipe
from tests.concurrency import Pause, in_thread, open_transaction, short_lock_timeout
from tests.factories import (
    as_json,
    fresh_nonce,
    published_recipe,
    report_of_count,
    report_of_values,
    submitted,
)
from tests.object_store import object_get
from tests.patience import PATIENCE
from tests.tokens import issued_token

pytestmark = pytest.mark.django_db


one_of_many_writers = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has one writer at a time"
)


def read(recipe: Recipe, *reports: dict[str, Any]) -> operations.Submission:
    return operations._read(recipe, list(map(as_json, reports)))


def records_of(segment: ReportSegment) -> list[bytes]:
    size = record_bytes_of(segment.recipe.published)
    content = segment_read(
        object_get(segments.arrived_name(segment)), record_bytes=size, expected_hash=bytes(segment.sha256)
    )
    return [bytes(content[at : at + size]) for at in range(0, len(content), size)]


def once_keys() -> list[bytes]:
    """One report counts of those with one key."""
    return [record[:16] for segment in ReportSegment.objects.order_by("pk") for record in records_of(segment)]


def object_names() -> list[str]:
    return [meta["path"] for listed in obstore.list(object_store._backend()) for meta in listed]


def test_only_recipes_that_are_published_with_a_store_lie_there(report_store: str, settings: Any) -> None:
    there = published_recipe()
    settings.OBJECT_STORE = ""
    here = published_recipe(name="Here")
    settings.OBJECT_STORE = report_store
    for recipe in (there, here):
        assert submitted(recipe, report_of_values(recipe, [1])) == []
    assert [row.recipe for row in SegmentedRecipe.objects.all()] == [there]
    assert [row.recipe for row in ReportSegment.objects.all()] == [there]
    assert [row.recipe for row in StoredReports.objects.all()] == [here]


def test_a_recipe_of_another_store_is_refused_before_the_writer(
    report_store: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the writer refuses fails all that it stores together."""
    recipe = published_recipe()
    settings.OBJECT_STORE = "s3://another-bucket/reports"
    monkeypatch.setattr(operations.SEGMENTS, "submit", lambda *_: pytest.fail("it came to the writer"))
    with pytest.raises(StoreDownError):
        submitted(recipe, report_of_values(recipe, [1]))


def test_threads_that_come_at_once_read_one_row_where_reports_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread keeps its connection while it waits for the writer, and there are fewer than threads."""
    reading, reads = threading.Event(), []

    def read_slowly(identifier: str) -> tuple[None]:
        reads.append(identifier)
        assert reading.wait(PATIENCE)
        return (None,)

    monkeypatch.setattr(segments.SEGMENTED, "_read", read_slowly)
    asking = threading.Barrier(33)

    def ask() -> None:
        asking.wait(PATIENCE)
        assert segments.segmented_of("of nobody else") is None

    threads = [threading.Thread(target=ask) for _ in range(32)]
    for thread in threads:
        thread.start()
    asking.wait(PATIENCE)
    reading.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert reads == ["of nobody else"]


def test_reports_of_a_group_lie_in_one_object_for_each_recipe(report_store: str) -> None:
    one, other = published_recipe(name="One"), published_recipe(name="Other")
    reports = {recipe: [report_of_values(recipe, [1]) for _ in range(4)] for recipe in (one, other)}
    submissions = [read(recipe, *reports[recipe][at : at + 2]) for at in (0, 2) for recipe in (one, other)]
    assert segments_store(submissions) == [[]] * 4
    for segment in ReportSegment.objects.all():
        expected = [report["ciphertexts"][0] for report in reports[segment.recipe]]
        assert [record[16:] for record in records_of(segment)] == expected
        assert segment.count == 4
    assert ReportSegment.objects.count() == 2


def test_huge_groups_have_objects_in_their_order(report_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader of an object has all of it in memory."""
    recipe = published_recipe(statistic="histogram", k=3)
    reports = [report_of_values(recipe, [1, 0, 0, 0]) for _ in range(7)]
    size = record_bytes_of(recipe.published)
    for most, counts in ((3 * size + size // 2, [3, 3, 1]), (size - 1, [1] * 7), (7 * size, [7])):
        ReportSegment.objects.all().delete()
        monkeypatch.setattr(segments, "SEGMENT_BYTES", most)
        assert segments_store([read(recipe, *reports)]) == [[]]
        rows = list(ReportSegment.objects.order_by("pk"))
        assert [row.count for row in rows] == counts
        found = [record[16:] for row in rows for record in records_of(row)]
        assert found == [b"".join(report["ciphertexts"]) for report in reports]


def test_what_counts_once_is_the_content_whatever_the_nonce(report_store: str) -> None:
    recipe, other = published_recipe(name="One"), published_recipe(name="Other")
    report, fresh = report_of_values(recipe, [1]), report_of_values(recipe, [1])
    for sent in (report, report, {**report, "nonce": fresh_nonce()}, {**fresh, "nonce": report["nonce"]}):
        assert submitted(recipe, sent) == []
    keys = once_keys()
    assert keys[0] == keys[1] == keys[2] != keys[3]
    ours, theirs = (segments.segmented_of(every.identifier).key for every in (recipe, other))
    assert ours != theirs, "nobody can choose a shard"


def test_with_tokens_what_counts_once_is_the_token(report_store: str) -> None:
    recipe, source = token_recipe(FakeIssuer()), random.Random(31)
    tokens = [issued_token(recipe.published, source) for _ in range(2)]
    reports = [
        {**report_of_count(recipe, 1), "nonce": report_nonce(token), "token": token.encode()}
        for token in (*tokens, tokens[0])
    ]
    for sent in reports:
        assert submitted(recipe, sent) == []
    keys = once_keys()
    assert keys[0] == keys[2] != keys[1]


def test_bad_reports_are_named_and_counted(report_store: str, client: Client) -> None:
    recipe = published_recipe()
    good = report_of_values(recipe, [1])
    answer = post_batch(client, recipe, [good, {**good, "ciphertexts": [bytes(66)]}, good]).json()
    assert answer["accepted"] == 1
    assert [rejected["reason"] for rejected in answer["rejected"]] == [
        "invalid_ciphertext",
        "duplicate_nonce",
    ]
    assert dict(RejectionCount.objects.values_list("reason", "count")) == {
        "duplicate_nonce": 1,
        "invalid_ciphertext": 1,
    }
    answer = post_batch(client, recipe, [{**good, "ciphertexts": []}]).json()
    assert answer["accepted"] == 0
    assert ReportSegment.objects.count() == 1


def test_a_store_that_does_not_answer_is_503_and_nothing_is_acknowledged(
    report_store: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = published_recipe()
    report = report_of_values(recipe, [1])
    with monkeypatch.context() as patched:

        def down(*_: object) -> None:
            raise StoreDownError

        patched.setattr(segments, "objects_put", down)
        with capture_logs() as logged:
            answer = post_one(client, recipe, as_json(report))
    # It is not the database that fails.
    assert "database_unavailable" not in {entry["event"] for entry in logged}
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert not ReportSegment.objects.exists()
    # Sent again it is accepted again.
    assert [post_one(client, recipe, as_json(report)).status_code for _ in range(2)] == [201, 201]


@pytest.mark.parametrize("error", [OperationalError, KeyboardInterrupt])
def test_an_object_without_its_row_counts_nothing(
    error: type[BaseException], report_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = published_recipe()
    report = report_of_values(recipe, [1])

    def die(*_: object) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(operations, "_hold_open", die)
        with pytest.raises(error):
            submitted(recipe, report)
    assert len([name for name in object_names() if "/arrived/" in name]) == 1
    assert not ReportSegment.objects.exists()
    assert submitted(recipe, report) == []
    assert ReportSegment.objects.get().count == 1


def test_a_closed_recipe_writes_no_object(report_store: str) -> None:
    recipe = published_recipe()
    submission = read(recipe, report_of_values(recipe, [1]))
    recipe_close(recipe=Recipe.objects.get(pk=recipe.pk), actor=None)
    (outcome,) = segments_store([submission])
    assert isinstance(outcome, RecipeNotOpenError)
    assert object_names() == []


@one_of_many_writers
@pytest.mark.django_db(transaction=True)
def test_reports_of_a_held_recipe_wait_alone(report_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "HELD_SECONDS", 0.0)
    held, free = published_recipe(name="Held"), published_recipe(name="Free")
    submissions = [read(recipe, report_of_values(recipe, [1])) for recipe in (held, free)]
    with open_transaction(lambda: Recipe.objects.select_for_update().get(pk=held.pk)):
        refused, stored = segments_store(submissions)
    assert isinstance(refused, RowHeldError)
    assert stored == []
    assert [row.recipe for row in ReportSegment.objects.all()] == [free]


@pytest.fixture(params=[False, True], ids=["database", "objects"])
def in_objects(request: pytest.FixtureRequest) -> bool:
    """Whether reports of the test's recipe lie in the object store."""
    if request.param:
        request.getfixturevalue("report_store")
    return bool(request.param)


def test_submit_is_refused_when_the_recipe_closes_before_the_lock(
    in_objects: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = published_recipe()
    step = "segments_write" if in_objects else "read_report"
    function = getattr(operations, step)

    def closing_meanwhile(*arguments: Any) -> Any:
        done = function(*arguments)
        recipe_close(recipe=Recipe.objects.get(pk=recipe.pk), actor=None)
        return done

    monkeypatch.setattr(operations, step, closing_meanwhile)
    with pytest.raises(RecipeNotOpenError):
        submitted(recipe, report_of_values(recipe, [1]))
    assert not any(model.objects.exists() for model in (StoredReports, ReportNonce, ReportSegment))


@pytest.mark.django_db(transaction=True)
def test_closing_waits_for_a_submission_that_has_begun(
    in_objects: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = published_recipe()
    report = report_of_values(recipe, [1])
    storing = Pause(
        monkeypatch, *((ReportSegment.objects, "bulk_create") if in_objects else (operations, "values_claim"))
    )
    stored = ReportSegment if in_objects else StoredReports
    order: list[str] = []

    def submit() -> None:
        assert submitted(recipe, report) == []
        order.append("stored")

    def close() -> None:
        recipe_close(recipe=recipe, actor=None)
        # What the closing transaction may rely on: whatever was acknowledged is there.
        order.append(f"closed with {stored.objects.count()}")

    submitting = in_thread(submit)
    storing.reached()
    closing = in_thread(close)
    closing.join(1)
    assert order == [], "closing must wait"
    storing.go_on()
    submitting.join(PATIENCE)
    closing.join(PATIENCE)
    assert sorted(order) == ["closed with 1", "stored"]


@one_of_many_writers
@pytest.mark.django_db(transaction=True)
def test_reports_do_not_wait_for_a_lock_on_another_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """All reports of a process have one writer: if it waited, those of every recipe would."""
    monkeypatch.setattr(group_commit, "HELD_SECONDS", 0.0)
    held, free = published_recipe(name="Held"), published_recipe(name="Free")
    submissions = [
        operations._read(recipe, [as_json(report_of_values(recipe, [1]))]) for recipe in (held, free)
    ]
    with open_transaction(lambda: Recipe.objects.select_for_update().get(pk=held.pk)), short_lock_timeout():
        refused, stored = operations.submissions_store(submissions)
        assert isinstance(refused, RowHeldError)
        assert stored == []
        with pytest.raises(RowHeldError):
            submitted(held, report_of_values(held, [1]))
    assert set(StoredReports.objects.values_list("recipe", flat=True)) == {free.pk}
    assert operations.submissions_store(submissions[:1]) == [[]]


@one_of_many_writers
@pytest.mark.django_db(transaction=True)
def test_reports_wait_for_a_lock_for_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "LOCK_SECONDS", 0.05)
    recipe = published_recipe()
    report = report_of_values(recipe, [1])
    with open_transaction(lambda: submitted(recipe, report)):
        with pytest.raises(OperationalError, match="lock timeout"):
            submitted(recipe, report)
    (rejection,) = submitted(recipe, report)
    assert rejection.reason == "duplicate_nonce"
