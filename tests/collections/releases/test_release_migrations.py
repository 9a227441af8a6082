"""Migrations that compute: from the state before, with rows in it."""

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from releases.models import Release
from releases.operations import result_release
from releases.selectors import excerpt_of
from tests.factories import published_recipe
from tests.scenes import finished_recipe, simulated_recipe
from trust_models.publishing import recipe_close

COMPUTED = ("intervals", "excerpt")
KEPT = [column.name for column in Release._meta.concrete_fields if column.name not in COMPUTED]


def excerpts() -> list[object]:
    return list(Release.objects.order_by("pk").values_list("excerpt", flat=True))


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_migration_reads_the_cause_of_earlier_withholdings_and_leaves_releases_final(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("trust_models.interface.TrustModel.cohort_of", "valid reports")  # as it was called
    result_release(recipe=recipe_close(recipe=published_recipe(), actor=None))
    try:
        MigrationExecutor(connection).migrate([("releases", "0004_servers")])
    finally:
        executor = MigrationExecutor(connection)
        executor.migrate(executor.loader.graph.leaf_nodes())
    assert Release.objects.get().cause == Release.Cause.TOO_FEW
    with pytest.raises(DatabaseError, match="a release is final"), transaction.atomic():
        Release.objects.update(cause="")


@pytest.mark.django_db(transaction=True)
def test_migration_takes_intervals_and_excerpts_of_earlier_releases_and_leaves_them_final() -> None:
    simulated_recipe({0: 20, 1: 20, 2: 20}, statistic="histogram", k=2)
    finished_recipe([[1]] * 6)
    finished_recipe([[1]] * 3, cohort_size=5)
    before = list(Release.objects.order_by("pk").values(*KEPT))
    assert [excerpt is None for excerpt in excerpts()] == [False, False, True]
    try:
        MigrationExecutor(connection).migrate([("releases", "0006_error_bounds")])
    finally:
        executor = MigrationExecutor(connection)
        executor.migrate(executor.loader.graph.leaf_nodes())
    assert list(Release.objects.order_by("pk").values(*KEPT)) == before
    histogram, single, withheld = Release.objects.order_by("pk")
    assert [excerpt is None for excerpt in excerpts()] == [False, False, True]
    assert withheld.intervals == []
    assert excerpt_of(histogram).intervals == histogram.intervals
    # What came in was not kept, so it is the normal approximation; of three values for all together.
    for release, deviations in ((histogram, 2.394), (single, 1.960)):
        reach = release.intervals[0]["high"][0] - release.values[0]
        assert reach == pytest.approx(deviations * release.standard_errors[0], rel=1e-3)
    with pytest.raises(DatabaseError, match="a release is final"), transaction.atomic():
        Release.objects.update(excerpt=None)
