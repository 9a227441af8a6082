import secrets
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from panprivacy.formats.seeded_source import SeededSource
from publishing.publication import recipe_close
from recipes.models import Recipe
from reports.models import StoredReports
from reports.operations import rejections_by_reason
from reports.rows import reports_per_chunk
from reports.store import MINIMUM_REPORTS
from results.aggregation.models import Chunk, SubAggregate
from results.aggregation.operations import (
    chunk_process,
    chunks_plan,
    chunks_take,
    progress_of,
)
from tests.factories import published_recipe, report_of_values, submitted

pytestmark = pytest.mark.django_db


def submit(recipe: Recipe, *values: int) -> None:
    for value in values:
        assert submitted(recipe, report_of_values(recipe, [value])) == []


def sum_of(recipe: Recipe) -> tuple[list[int], int]:
    row = SubAggregate.objects.get(recipe=recipe)
    return row.total, row.reports


def plan_all(recipe: Recipe) -> list[uuid.UUID]:
    return chunks_plan(recipe=recipe_close(recipe=recipe, actor=None))


def planned(*values: int) -> tuple[Recipe, uuid.UUID]:
    """A closed recipe with these reports in one chunk."""
    recipe = published_recipe(cohort_size=2)
    submit(recipe, *values)
    (chunk,) = plan_all(recipe)
    return recipe, chunk


def test_process_sums_the_reports_once_and_deletes_them() -> None:
    recipe, chunk = planned(1, 0, 1, 1)
    for _ in range(2):  # delivered twice
        chunk_process(chunk=chunk)
        assert sum_of(recipe) == ([3], 4)
    assert not StoredReports.objects.exists()
    assert not Chunk.objects.exists()


def test_process_replaces_values_that_no_honest_device_sends() -> None:
    recipe, chunk = planned(1, 2, -1, 10**9, 0)
    received = progress_of(recipe).received
    chunk_process(chunk=chunk)
    (total,), reports = sum_of(recipe)
    assert (1 <= total <= 4, reports) == (True, 5)
    assert progress_of(recipe).received == received
    assert rejections_by_reason(recipe) == {}


def test_process_replaces_invalid_reports_by_uniform_ones() -> None:
    """A sum of 2,000 fair bits lies outside 1000 ± 123 with probability 2·exp(−2·123²/2000) < 6e-7."""
    recipe = published_recipe(cohort_size=2, encryption="elgamal-secp256k1")
    public_key, source = recipe.published.public_key, secrets.SystemRandom()
    two = public_key.encrypt(2, source)
    payload = bytes(two) * 2_000  # stored directly: no two reports that arrive are the same
    StoredReports.objects.create(recipe=recipe, count=2_000, payload=payload)
    for chunk in plan_all(recipe):
        chunk_process(chunk=chunk)
    (total,), reports = sum_of(recipe)
    assert reports == 2_000
    assert abs(total - 1_000) <= 123


def test_two_chunks_replace_by_values_of_their_own() -> None:
    seeds = [bytes(Chunk(recipe=None, count=1).seed) for _ in range(2)]
    assert len({*seeds}) == 2
    first, second = (SeededSource(seed).getrandbits(128) for seed in seeds)
    assert first != second


def test_plan_gives_every_stored_report_to_exactly_one_chunk(settings: Any) -> None:
    settings.CHUNK_REPORTS = 3
    recipe = published_recipe(cohort_size=2)
    submit(recipe, *[1] * 8)
    chunks = plan_all(recipe)
    assert sorted(Chunk.objects.values_list("count", flat=True)) == [2, 3, 3]
    assert set(StoredReports.objects.values_list("chunk", flat=True)) == set(chunks)
    assert chunks_plan(recipe=recipe) == []


def test_plan_lets_a_handful_of_reports_wait_for_more_and_for_the_cohort() -> None:
    recipe = published_recipe(cohort_size=3)
    submit(recipe, 1, 1)
    assert chunks_plan(recipe=recipe) == []
    submit(recipe, 1)
    assert len(chunks_plan(recipe=recipe)) == 1
    large = published_recipe(cohort_size=MINIMUM_REPORTS * 10)
    submit(large, 1, 1, 1)
    assert chunks_plan(recipe=large) == []
    assert plan_all(large) == []


def test_chunks_and_rows_keep_to_what_one_task_can_decrypt_in_time() -> None:
    dear = {"statistic": "histogram", "k": 1000, "encryption": "paillier-2048"}
    assert reports_per_chunk(published_recipe().published) == 2_000
    recipe = published_recipe(cohort_size=2, **dear).published
    reports = reports_per_chunk(recipe)
    assert 1 <= reports <= 10
    ciphertexts = reports * recipe.calibrated_statistic.report_ciphertexts
    assert ciphertexts * recipe.public_key.decryption_seconds < 15


def test_a_batch_larger_than_a_chunk_is_stored_in_rows_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reports.rows.reports_per_chunk", lambda _: 2)
    recipe = published_recipe(cohort_size=5)
    reports = [report_of_values(recipe, [value]) for value in (1, 0, 1, 1, 0)]
    assert submitted(recipe, *reports) == []
    assert sorted(StoredReports.objects.values_list("count", flat=True)) == [1, 2, 2]
    for chunk in plan_all(recipe):
        chunk_process(chunk=chunk)
    assert sum_of(recipe) == ([3], 5)


def test_take_finds_new_and_overdue_chunks_and_waits_longer_each_time() -> None:
    recipe, chunk = planned(1, 1)
    assert chunks_take(recipe=recipe) == [chunk]
    assert progress_of(recipe).attempts == 0
    assert chunks_take(recipe=recipe) == []
    waits = []
    for _ in range(3):
        Chunk.objects.update(send_after=timezone.now() - timedelta(seconds=1))
        assert chunks_take(recipe=recipe) == [chunk]
        waits.append(Chunk.objects.get().send_after - timezone.now())
    assert waits[0] < waits[1] < waits[2]
    assert progress_of(recipe).attempts == 3


def test_take_never_has_more_chunks_of_a_recipe_underway_than_its_share(settings: Any) -> None:
    settings.CHUNK_REPORTS, settings.RECIPE_CHUNKS = 1, 3
    recipe = published_recipe(cohort_size=2)
    submit(recipe, *[1] * 5)
    chunks = plan_all(recipe)
    first = chunks_take(recipe=recipe)
    assert len(first) == 3
    assert chunks_take(recipe=recipe) == []
    chunk_process(chunk=first[0])
    (fourth,) = chunks_take(recipe=recipe)
    assert fourth in set(chunks) - set(first)
    # What is lost makes room, and goes first.
    Chunk.objects.filter(pk=first[1]).update(send_after=timezone.now() - timedelta(seconds=1))
    assert chunks_take(recipe=recipe) == [first[1]]
