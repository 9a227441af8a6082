import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from aggregation import operations
from aggregation.models import Chunk, SubAggregate
from aggregation.operations import MINIMUM_CHUNK, chunk_process, chunks_plan, chunks_resend
from aggregation.selectors import progress_of, sum_of
from recipes.models import Recipe
from recipes.operations import recipe_close
from reports.models import StoredReports
from reports.operations import reports_submit
from reports.selectors import rejections_by_reason
from tests.factories import published_recipe, report_of_values

pytestmark = pytest.mark.django_db


def submit(recipe: Recipe, *values: int) -> None:
    for value in values:
        assert (
            reports_submit(recipe=recipe, reports=[report_of_values(recipe, [value])], decode=lambda raw: raw)
            == []
        )


def plan_all(recipe: Recipe) -> list[uuid.UUID]:
    recipe_close(recipe=recipe, actor=None)
    return chunks_plan(recipe=recipe)


def test_process_sums_the_reports_and_deletes_them() -> None:
    recipe = published_recipe()
    submit(recipe, 1, 0, 1, 1)
    (chunk,) = plan_all(recipe)
    chunk_process(chunk=chunk)
    assert sum_of(recipe) == ((3,), 4)
    assert not StoredReports.objects.exists()
    assert not Chunk.objects.exists()


def test_process_of_a_chunk_that_is_delivered_twice_counts_once() -> None:
    recipe = published_recipe()
    submit(recipe, 1, 1)
    (chunk,) = plan_all(recipe)
    chunk_process(chunk=chunk)
    chunk_process(chunk=chunk)
    assert sum_of(recipe) == ((2,), 2)


def test_process_by_two_workers_at_once_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = published_recipe()
    submit(recipe, 1, 1)
    (chunk,) = plan_all(recipe)
    decrypt = operations._decrypt
    overtaken = []

    def overtaken_decrypt(*arguments: Any) -> Any:
        result = decrypt(*arguments)
        if not overtaken:
            overtaken.append(True)
            chunk_process(chunk=chunk)  # another worker finishes first
        return result

    monkeypatch.setattr(operations, "_decrypt", overtaken_decrypt)
    chunk_process(chunk=chunk)
    assert overtaken
    assert sum_of(recipe) == ((2,), 2)


def test_process_that_dies_before_its_commit_leaves_everything_to_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recipe = published_recipe()
    submit(recipe, 1, 0, 1)
    (chunk,) = plan_all(recipe)

    def die(**_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(operations, "rejections_count", die)  # the last statement of the transaction
        with pytest.raises(KeyboardInterrupt):
            chunk_process(chunk=chunk)
    assert (SubAggregate.objects.count(), progress_of(recipe).waiting) == (0, 3)
    chunk_process(chunk=chunk)
    assert sum_of(recipe) == ((2,), 3)


def test_process_rejects_values_that_no_honest_device_sends_with_their_reason() -> None:
    recipe = published_recipe()
    submit(recipe, 1, 2, -1, 10**9, 0)
    (chunk,) = plan_all(recipe)
    chunk_process(chunk=chunk)
    assert sum_of(recipe) == ((1,), 2)
    assert rejections_by_reason(recipe) == {"value_out_of_range": 3}


def test_process_of_a_chunk_without_any_valid_report_ends() -> None:
    recipe = published_recipe()
    submit(recipe, 5)
    (chunk,) = plan_all(recipe)
    chunk_process(chunk=chunk)
    assert (sum_of(recipe), progress_of(recipe).waiting) == (((), 0), 0)


def test_plan_gives_every_stored_report_to_exactly_one_chunk(settings: Any) -> None:
    settings.CHUNK_REPORTS = 3
    recipe = published_recipe()
    submit(recipe, *[1] * 8)
    chunks = plan_all(recipe)
    assert sorted(Chunk.objects.values_list("count", flat=True)) == [2, 3, 3]
    assert set(StoredReports.objects.values_list("chunk", flat=True)) == set(chunks)
    assert chunks_plan(recipe=recipe) == []


def test_plan_lets_a_handful_of_reports_of_an_open_recipe_wait_for_more() -> None:
    recipe = published_recipe(cohort_size=MINIMUM_CHUNK * 10)
    submit(recipe, 1, 1)
    assert chunks_plan(recipe=recipe) == []
    recipe_close(recipe=recipe, actor=None)
    assert len(chunks_plan(recipe=recipe)) == 1


def test_resend_finds_only_chunks_whose_task_is_overdue_and_waits_longer_each_time() -> None:
    recipe = published_recipe()
    submit(recipe, 1)
    (chunk,) = plan_all(recipe)
    assert chunks_resend() == []
    waits = []
    for _ in range(3):
        Chunk.objects.update(send_after=timezone.now() - timedelta(seconds=1))
        assert chunks_resend() == [chunk]
        waits.append(Chunk.objects.get().send_after - timezone.now())
    assert waits[0] < waits[1] < waits[2]
    assert progress_of(recipe).attempts == 3
