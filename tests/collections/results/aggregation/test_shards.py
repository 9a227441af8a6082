"""From reports in the object store to a result: each counts once, and nothing that was changed counts."""

from typing import Any
from unittest.mock import patch

import obstore
import pytest
from django.db import transaction

from log.audit.models import Entry
from panprivacy.recipe.report_shards.segments import KEY_BYTES
from publishing.publishing import recipe_close
from recipes.models import Recipe, RecipeKey
from reports import object_store, segments
from reports.models import (
    CiphertextDigest,
    RejectionCount,
    ReportNonce,
    ReportSegment,
    SegmentedRecipe,
    StoredReports,
)
from reports.object_store import StoreDownError, object_put, objects_delete
from results.aggregation import shards, tasks
from results.aggregation.models import Chunk, SortedReports, SubAggregate
from results.aggregation.operations import ReportsMissingError
from results.aggregation.segment_deleting import STRAGGLERS, ended_segments_delete
from results.aggregation.selectors import progress_of
from results.aggregation.shards import shards_for, shards_plan
from results.models import Release
from results.operations import result_release, result_withhold
from tests.driving import collections_advance
from tests.factories import fresh_nonce, published_recipe, report_of_values, submitted
from tests.object_store import object_get
from tests.refusals import raising

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
    shards_plan(recipe=recipe, least=recipe.cohort_size)
    chunks = list(Chunk.objects.filter(recipe=recipe).order_by("shard"))
    for chunk in chunks:
        tasks._STEPS[Chunk.Step(chunk.step)](chunk=chunk.pk)
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


@pytest.fixture
def several_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four reports a shard, three segments a sorted one."""
    monkeypatch.setattr(shards, "SHARD_REPORTS", 4)
    monkeypatch.setattr(shards, "SORTED_SEGMENTS", 3)


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


@pytest.mark.parametrize("left", [2, 0])
def test_missing_rows_of_segments_end_their_chunk_in_an_error(left: int, report_store: str) -> None:
    """Their absence must pass neither for zeros nor for a chunk that another worker has finished."""
    recipe = with_ones(3, close=False)
    shards_plan(recipe=recipe_close(recipe=recipe, actor=None), least=2)
    (chunk,) = Chunk.objects.all()
    ReportSegment.objects.filter(pk__in=ReportSegment.objects.order_by("pk")[left:].values("pk")).delete()
    with pytest.raises(ReportsMissingError, match=f"{left} of 3 reports"):
        shards.segments_sort(chunk=chunk.pk)
    assert (sum_of(recipe), ReportSegment.objects.count()) == (([0], 0), left)
    assert list(Chunk.objects.all()) == [chunk]
    assert objects_of(recipe, "sorted") == []
    assert result_of(recipe) is None


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
    assert dict(RejectionCount.objects.values_list("reason", "count")) == {segments.DUPLICATE: 5}


def test_below_the_cohort_size_nothing_is_read(report_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = with_ones(4, close=False, cohort_size=5)
    monkeypatch.setattr(segments, "parts_get", None)
    assert finish(recipe).cause == Release.Cause.TOO_FEW


def test_every_step_may_be_delivered_twice_and_late(report_store: str, several_shards: None) -> None:
    recipe = with_ones(9)
    done: list[Chunk] = []
    while chunks := step(recipe):
        done += chunks
        for chunk in done:
            tasks._STEPS[Chunk.Step(chunk.step)](chunk=chunk.pk)
    assert {chunk.step for chunk in done} == {"sort", "seal", "shard"}
    assert sum_of(recipe) == ([9], 9)


@pytest.mark.parametrize("dies_at", ["sort", "seal", "shard"])
@pytest.mark.parametrize("late", [False, True])
def test_a_worker_that_dies_in_a_step_leaves_it_to_the_next(
    dies_at: str, late: bool, report_store: str, several_shards: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`late`: with everything written to the store, and its transaction open."""
    recipe = with_ones(9)
    names = {
        "sort": ("content_hash" if late else "sorted_segment"),
        "seal": ("entry_append" if late else "content_hash"),
        "shard": ("sum_add" if late else "shard_sum"),
    }

    deaths = 0
    while True:
        shards_plan(recipe=Recipe.objects.get(pk=recipe.pk), least=2)
        chunk = Chunk.objects.order_by("shard").first()
        if chunk is None:
            break
        if chunk.step == dies_at:
            with monkeypatch.context() as patched:
                patched.setattr(shards, names[dies_at], raising(KeyboardInterrupt))
                before = progress_of(recipe)
                with pytest.raises(KeyboardInterrupt):
                    tasks._STEPS[Chunk.Step(chunk.step)](chunk=chunk.pk)
            assert progress_of(recipe) == before
            deaths += 1
        tasks._STEPS[Chunk.Step(chunk.step)](chunk=chunk.pk)
    assert deaths > 0
    assert sum_of(recipe) == ([9], 9)


def test_shard_that_two_workers_add_counts_once(report_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = with_ones(3)
    step(recipe)
    step(recipe)
    chunk = Chunk.objects.get(step=Chunk.Step.SHARD)
    add = shards.shard_sum

    def overtaken(*arguments: Any) -> Any:
        found = add(*arguments)
        with patch.object(shards, "shard_sum", add):
            shards.shard_process(chunk=chunk.pk)
        return found

    monkeypatch.setattr(shards, "shard_sum", overtaken)
    shards.shard_process(chunk=chunk.pk)
    assert sum_of(recipe) == ([3], 3)


def test_first_of_two_with_one_key_counts(
    report_store: str, several_shards: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reports.operations.once_key", lambda key, recipe, report: report.nonce)
    recipe = published_recipe(cohort_size=2)
    nonces = [fresh_nonce() for _ in range(9)]
    for value in (1, 0, 0):
        submit(recipe, *(report_of_values(recipe, [value], nonce) for nonce in nonces))
    recipe_close(recipe=recipe, actor=None)
    run_out(recipe)
    assert sum_of(recipe) == ([9], 9)


def test_invalid_reports_have_the_same_values(report_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = published_recipe(cohort_size=2)
    submit(recipe, *(report_of_values(recipe, [value]) for value in (2, -1, 10**9, *[7] * 60)))
    recipe_close(recipe=recipe, actor=None)
    step(recipe)
    step(recipe)
    (chunk,) = Chunk.objects.all()
    found = []
    add = shards.shard_sum
    monkeypatch.setattr(shards, "shard_sum", lambda *arguments: found.append(add(*arguments)) or found[-1])
    for _ in range(2):
        with transaction.atomic():
            shards.shard_process(chunk=chunk.pk)
            transaction.set_rollback(True)
    assert found[0] == found[1]
    assert found[0].reports == 63
    assert 0 < found[0].total[0] < 63, "fails with probability 2^-62"


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
    monkeypatch.setattr(shards, "MANIFEST_BYTES", 100_000)
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
    found = shards.content_hash(manifest).hex()
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
    ended_segments_delete()
    assert not ReportSegment.objects.filter(recipe=recipe).exists()
    assert objects_of(recipe, "") == []
    object_put(f"{recipe.identifier}/arrived/written-by-one-who-was-slow", b"")
    ended_segments_delete()
    assert objects_of(recipe, "") == []
    assert SegmentedRecipe.objects.filter(recipe=recipe).exists()
    row = SegmentedRecipe.objects.get(recipe=recipe)
    row.ended_at -= STRAGGLERS
    row.save()
    ended_segments_delete()
    assert not SegmentedRecipe.objects.filter(recipe=recipe).exists()
    assert len(objects_of(other, "arrived")) == 1


def test_deletion_waits_for_a_silent_store(report_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    finish(with_ones(1, close=False))
    with monkeypatch.context() as patched:
        patched.setattr("results.aggregation.segment_deleting.folder_delete", raising(StoreDownError))
        SegmentedRecipe.objects.update(ended_at=SegmentedRecipe.objects.get().ended_at - STRAGGLERS)
        ended_segments_delete()
    assert SegmentedRecipe.objects.exists()
    ended_segments_delete()
    assert names_in_store() == []
    assert not SegmentedRecipe.objects.exists()
