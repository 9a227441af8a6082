"""Reports in object storage: duplicates are found at closing, and nothing that was changed counts."""

import random
import threading
from typing import Any
from unittest.mock import patch

import obstore
import pytest
from django.db import OperationalError
from django.test import Client
from structlog.testing import capture_logs

from log.audit.models import Entry
from panprivacy.recipe.report_shards.segments import KEY_BYTES, segment_read
from panprivacy.recipe.report_shards.shard_sum import record_bytes_of
from panprivacy.recipe.token import report_nonce
from publishing.publication import recipe_close
from recipes.models import Recipe, RecipeKey
from reports import object_store, objects
from reports.models import (
    CiphertextDigest,
    RejectionCount,
    ReportNonce,
    ReportSegment,
    SegmentedRecipe,
    SortedReports,
    StoredReports,
)
from reports.object_store import StoreDownError, object_put, objects_delete
from reports.objects import STRAGGLERS, ReportObjects, segments_store, shards_for
from reports.operations import report_store_of, submission_read
from reports.store import RecipeNotOpenError, Submission
from results.aggregation import tasks
from results.aggregation.models import Chunk, SubAggregate
from results.aggregation.operations import chunk_process, chunks_plan
from results.models import Release
from results.operations import result_release, result_withhold
from tests.collections.reports.test_report_api import post_batch, post_one
from tests.collections.tokens.admission.scene import FakeIssuer, token_recipe
from tests.driving import collections_advance
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
from tests.refusals import raising
from tests.tokens import issued_token

pytestmark = pytest.mark.django_db


def submit(recipe: Recipe, *reports: dict[str, Any]) -> None:
    for report in reports:
        assert submitted(recipe, report) == []


def names_in_store() -> list[str]:
    return sorted(meta["path"] for listed in obstore.list(object_store._backend()) for meta in listed)


def objects_of(recipe: Recipe, kind: str) -> list[str]:
    return [name for name in names_in_store() if name.startswith(f"{recipe.identifier}/{kind}")]


def step(recipe: Recipe) -> list[Chunk]:
    """Plan, and have one worker process what can be."""
    recipe = Recipe.objects.get(pk=recipe.pk)
    chunks_plan(recipe=recipe)
    chunks = list(Chunk.objects.filter(recipe=recipe).order_by("shard"))
    for chunk in chunks:
        chunk_process(chunk=chunk.pk)
    return chunks


def finish(recipe: Recipe) -> Release | None:
    recipe_close(recipe=recipe, actor=None)
    run_out(recipe)
    return result_of(recipe)


def result_of(recipe: Recipe) -> Release | None:
    return result_release(recipe=Recipe.objects.get(pk=recipe.pk))


def sum_of(recipe: Recipe) -> tuple[list[int], int]:
    row = SubAggregate.objects.get(recipe=recipe)
    return row.total, row.reports


def with_ones(count: int, *, close: bool = True, cohort_size: int = 2) -> Recipe:
    """A recipe with so many reports of a 1 in the store."""
    recipe = published_recipe(cohort_size=cohort_size)
    submit(recipe, *(report_of_values(recipe, [1]) for _ in range(count)))
    return recipe_close(recipe=recipe, actor=None) if close else recipe


def run_out(recipe: Recipe) -> None:
    """Every step that there is."""
    while step(recipe):
        pass


def read(recipe: Recipe, *reports: dict[str, Any]) -> Submission:
    return submission_read(report_store_of(recipe), list(map(as_json, reports)))


def records_of(segment: ReportSegment) -> list[bytes]:
    size = record_bytes_of(segment.recipe.published)
    content = segment_read(
        object_get(ReportObjects(segment.recipe).arrived_name(segment)),
        record_bytes=size,
        expected_hash=bytes(segment.sha256),
    )
    return [bytes(content[at : at + size]) for at in range(0, len(content), size)]


def once_keys() -> list[bytes]:
    """One report counts of those with one key."""
    return [record[:16] for segment in ReportSegment.objects.order_by("pk") for record in records_of(segment)]


def test_a_recipe_of_another_store_is_refused_before_the_writer(
    report_store: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the writer refuses fails all that it stores together."""
    recipe = published_recipe()
    settings.OBJECT_STORE = "s3://another-bucket/reports"
    monkeypatch.setattr(objects.WRITER, "submit", lambda *_: pytest.fail("it came to the writer"))
    with pytest.raises(StoreDownError):
        submitted(recipe, report_of_values(recipe, [1]))


def test_threads_that_come_at_once_read_one_row_where_reports_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread keeps its connection while it waits for the writer, and there are fewer than threads."""
    reading, reads = threading.Event(), []

    def read_slowly(identifier: str) -> tuple[None]:
        reads.append(identifier)
        assert reading.wait(PATIENCE)
        return (None,)

    monkeypatch.setattr(objects.PLACES, "_read", read_slowly)
    asking = threading.Barrier(33)

    def ask() -> None:
        asking.wait(PATIENCE)
        assert objects.PLACES.get("of nobody else") == (None,)

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
        monkeypatch.setattr(objects, "SEGMENT_BYTES", most)
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
    ours, theirs = (objects.PLACES.get(every.identifier)[0].key for every in (recipe, other))
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

        patched.setattr(objects, "objects_put", down)
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
        patched.setattr(objects, "hold_open", die)
        with pytest.raises(error):
            submitted(recipe, report)
    assert len([name for name in names_in_store() if "/arrived/" in name]) == 1
    assert not ReportSegment.objects.exists()
    assert submitted(recipe, report) == []
    assert ReportSegment.objects.get().count == 1


def test_a_closed_recipe_writes_no_object(report_store: str) -> None:
    recipe = published_recipe()
    submission = read(recipe, report_of_values(recipe, [1]))
    recipe_close(recipe=Recipe.objects.get(pk=recipe.pk), actor=None)
    (outcome,) = segments_store([submission])
    assert isinstance(outcome, RecipeNotOpenError)
    assert names_in_store() == []


@pytest.mark.parametrize(
    ("statistic", "kind"), [("count_nonzero", "s3_store"), ("histogram", "report_store")]
)
def test_the_result_is_that_of_the_database(
    statistic: str, kind: str, several_shards: None, settings: Any, request: pytest.FixtureRequest
) -> None:
    """Reports that came twice, and one whose ciphertexts came under another nonce, count once in both."""
    changes = {"k": 3} if statistic == "histogram" else {}
    found = []
    for store in ("", request.getfixturevalue(kind)):
        settings.OBJECT_STORE = store
        recipe = published_recipe(cohort_size=5, statistic=statistic, **changes)
        length = recipe.published.calibrated_statistic.report_ciphertexts
        reports = [
            report_of_values(recipe, [int(place == number % length) for place in range(length)])
            for number in range(20)
        ]
        for report in [*reports, reports[0], reports[7], {**reports[3], "nonce": fresh_nonce()}]:
            submitted(recipe, report)
        if store:
            release = finish(recipe)
        else:
            recipe_close(recipe=recipe, actor=None)
            with patch.object(tasks.process_chunk, "delay", tasks.process_chunk):
                collections_advance()
            for chunk in Chunk.objects.all():
                tasks.process_chunk(str(chunk.pk))
            release = result_of(recipe)
        assert release is not None
        found.append((release.outcome, release.reports, release.values, release.standard_errors))
    assert found[0] == found[1]
    assert found[0][:2] == (Release.Outcome.RELEASED, 20)


def test_the_number_of_shards_follows_the_reports_and_their_cost() -> None:
    recipe = published_recipe().published
    large = published_recipe(statistic="histogram", k=1_000, cohort_size=100).published
    assert [shards_for(recipe, reports) for reports in (1, 100_000)] == [1, 1]
    assert shards_for(recipe, 1_000_000_000) >= 4_096
    assert shards_for(large, 100_000) > 100 * shards_for(recipe, 100_000)
    assert shards_for(large, 10**12) == 65_536


def test_duplicates_are_counted_by_reason_and_not_for_the_cohort(report_store: str) -> None:
    recipe = published_recipe(cohort_size=5)
    report = report_of_values(recipe, [1])
    submit(recipe, *[report] * 6, *(report_of_values(recipe, [1]) for _ in range(3)))
    release = finish(recipe)
    assert (release.outcome, release.cause) == (Release.Outcome.WITHHELD, Release.Cause.TOO_FEW)
    assert dict(RejectionCount.objects.values_list("reason", "count")) == {objects.DUPLICATE: 5}


def test_below_the_cohort_size_nothing_is_read(report_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = with_ones(4, close=False, cohort_size=5)
    monkeypatch.setattr(objects, "parts_get", None)
    assert finish(recipe).cause == Release.Cause.TOO_FEW


def test_first_of_two_with_one_key_counts(
    report_store: str, several_shards: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReportObjects, "digest", lambda _, report: report.nonce)
    recipe = published_recipe(cohort_size=2)
    nonces = [fresh_nonce() for _ in range(9)]
    for value in (1, 0, 0):
        submit(recipe, *(report_of_values(recipe, [value], nonce) for nonce in nonces))
    recipe_close(recipe=recipe, actor=None)
    run_out(recipe)
    assert sum_of(recipe) == ([9], 9)


def changed(content: bytes) -> bytes:
    """Every byte, as some may be of a shard that nobody has to read."""
    return bytes(byte ^ 1 for byte in content)


@pytest.mark.parametrize("kind", ["arrived", "sorted", "manifest", "lists"])
@pytest.mark.parametrize("damage", ["changed", "shortened", "gone"])
def test_loss_withholds_the_result(kind: str, damage: str, report_store: str, several_shards: None) -> None:
    recipe = with_ones(9)
    while not objects_of(recipe, kind):
        step(recipe)
    for name in objects_of(recipe, kind):
        content = object_get(name)
        if damage == "gone":
            objects_delete([name])
        else:
            object_put(name, changed(content) if damage == "changed" else content[:1])
    run_out(recipe)
    release = result_of(recipe)
    assert (release.outcome, release.cause) == (Release.Outcome.WITHHELD, Release.Cause.REFUSED)
    assert "stored" in release.reason or "sorted" in release.reason
    assert not RecipeKey.objects.filter(recipe=recipe).exists()


@pytest.mark.parametrize("kind", ["begun", "arrived", "sorted", "manifest", "lists"])
def test_an_object_that_was_made_longer_is_read_as_far_as_it_was_written(
    kind: str, report_store: str, several_shards: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever can write to the store must not fill a worker's memory. Of what came after, nothing counts; of
    the manifest nobody knows how long it was, and its hash is another."""
    recipe = with_ones(9)
    while not objects_of(recipe, kind):
        step(recipe)
    for name in objects_of(recipe, kind):
        object_put(name, object_get(name) + bytes(1_000_000))
    monkeypatch.setattr(objects, "MANIFEST_BYTES", 100_000)
    lengths: list[int] = []
    get_range = obstore.get_range

    def counting(*arguments: Any, **options: Any) -> Any:
        content = get_range(*arguments, **options)
        lengths.append(len(content))
        return content

    monkeypatch.setattr(obstore, "get_range", counting)
    monkeypatch.setattr(obstore, "get", None)
    run_out(recipe)
    assert max(lengths, default=0) < 10_000
    if kind == "manifest":
        reason = result_of(recipe).reason
        assert reason == "the manifest of the stored reports was changed"
    else:
        assert sum_of(recipe) == ([9], 9)


def test_changed_records_of_a_sorted_segment_withhold_the_result(report_store: str) -> None:
    recipe = with_ones(3)
    step(recipe)
    step(recipe)
    (name,) = objects_of(recipe, "sorted")
    content = bytearray(object_get(name))
    content[20 + KEY_BYTES] ^= 1
    object_put(name, bytes(content))
    step(recipe)
    assert result_of(recipe).reason == ("a sorted segment of reports was changed")


def test_a_store_without_anything_of_the_recipe_loses_nothing(report_store: str) -> None:
    recipe = with_ones(3)
    kept = {name: object_get(name) for name in names_in_store()}
    objects_delete(list(kept))
    with pytest.raises(StoreDownError):
        step(recipe)
    assert result_of(recipe) is None
    for name, content in kept.items():
        object_put(name, content)
    run_out(recipe)
    assert sum_of(recipe) == ([3], 3)


def test_another_store_in_the_settings_is_refused(report_store: str, settings: Any) -> None:
    recipe = with_ones(2, close=False)
    for other in ("", f"{report_store}-2"):
        settings.OBJECT_STORE = other
        with pytest.raises(StoreDownError):
            submit(recipe, report_of_values(recipe, [1]))
    recipe_close(recipe=recipe, actor=None)
    with pytest.raises(StoreDownError):
        step(recipe)
    settings.OBJECT_STORE = report_store
    run_out(recipe)
    assert sum_of(recipe) == ([2], 2)


def test_reports_are_in_no_table_and_their_manifest_is_logged(report_store: str) -> None:
    recipe = with_ones(3)
    assert ReportSegment.objects.count() == len(objects_of(recipe, "arrived")) == 3
    assert not any(model.objects.exists() for model in (StoredReports, ReportNonce, CiphertextDigest))
    step(recipe)
    step(recipe)
    manifest = object_get(f"{recipe.identifier}/manifest")
    found = objects.content_hash(manifest).hex()
    assert Entry.objects.get(action="reports_sealed").details == {"manifest": found}
    assert bytes(SegmentedRecipe.objects.get().manifest).hex() == found


@pytest.mark.parametrize("way", ["released", "too few", "withheld"])
def test_after_the_end_everything_is_deleted(
    way: str, report_store: str, several_shards: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = with_ones(6, close=False, cohort_size=7 if way == "too few" else 3)
    other = with_ones(1, close=False)
    object_put(f"{recipe.identifier}/arrived/written-by-one-who-died", b"")
    if way == "withheld":
        result_withhold(
            recipe=recipe_close(recipe=recipe, actor=None), reason="it takes too long", actor=None
        )
    else:
        finish(recipe)
    assert not SortedReports.objects.exists()
    ReportObjects.upkeep()
    assert not ReportSegment.objects.filter(recipe=recipe).exists()
    assert objects_of(recipe, "") == []
    object_put(f"{recipe.identifier}/arrived/written-by-one-who-was-slow", b"")
    ReportObjects.upkeep()
    assert objects_of(recipe, "") == []
    assert SegmentedRecipe.objects.filter(recipe=recipe).exists()
    row = SegmentedRecipe.objects.get(recipe=recipe)
    row.ended_at -= STRAGGLERS
    row.save()
    ReportObjects.upkeep()
    assert not SegmentedRecipe.objects.filter(recipe=recipe).exists()
    assert len(objects_of(other, "arrived")) == 1


def test_deletion_waits_for_a_silent_store(report_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    finish(with_ones(1, close=False))
    with monkeypatch.context() as patched:
        patched.setattr("reports.objects.folder_delete", raising(StoreDownError))
        SegmentedRecipe.objects.update(ended_at=SegmentedRecipe.objects.get().ended_at - STRAGGLERS)
        ReportObjects.upkeep()
    assert SegmentedRecipe.objects.exists()
    ReportObjects.upkeep()
    assert names_in_store() == []
    assert not SegmentedRecipe.objects.exists()
