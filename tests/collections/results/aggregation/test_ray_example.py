"""The same pure function elsewhere: the example under Ray gives what the product's tasks give."""

from collections.abc import Callable, Mapping

import pytest

from examples.ray_shards import MEMBERS, Sealed, collected, sealed_of, sum_of_shard, sums_under_ray, total_of
from panprivacy.recipe.report_shards.shard_sum import ShardSum
from reports import objects
from results.aggregation.models import Chunk, SubAggregate
from results.aggregation.operations import chunk_process

pytestmark = pytest.mark.django_db

REPORTS, DUPLICATES = 90, 9


@pytest.fixture
def several_shards(report_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("examples.ray_shards.REPORTS_OF_A_SHARD", 20)
    monkeypatch.setattr(objects, "SHARD_REPORTS", objects.SHARD_REPORTS)  # the example changes it
    monkeypatch.setitem(MEMBERS, "cohort_size", 50)


def under_ray(sealed: Sealed, seeds: Mapping[int, bytes]) -> list[ShardSum]:
    pytest.importorskip(
        "ray", reason="Ray is not installed: it is no requirement, see examples/ray_shards.py"
    )
    return sums_under_ray(sealed, seeds)


def in_turn(sealed: Sealed, seeds: Mapping[int, bytes]) -> list[ShardSum]:
    return [sum_of_shard(sealed, shard, seed) for shard, seed in seeds.items()]


@pytest.mark.parametrize("sums", [in_turn, under_ray])
def test_the_example_sums_what_the_products_tasks_sum(
    sums: Callable[[Sealed, Mapping[int, bytes]], list[ShardSum]], several_shards: None
) -> None:
    recipe = collected(REPORTS)
    sealed, seeds = sealed_of(recipe)
    assert len(seeds) > 1
    found = total_of(sums(sealed, seeds))
    for chunk in Chunk.objects.filter(recipe=recipe):
        chunk_process(chunk=chunk.pk)
    row = SubAggregate.objects.get(recipe=recipe)
    assert (list(found.total), found.reports) == (row.total, row.reports) == ([REPORTS // 3], REPORTS)
    assert found.duplicates == DUPLICATES
