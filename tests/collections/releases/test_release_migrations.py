"""Migrations that compute: from the state before, with rows in it."""

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from releases.models import Release
from releases.operations import result_release
from tests.factories import published_recipe
from tests.scenes import finished_recipe, simulated_recipe
from trust_models.publishing import recipe_close


@pytest.mark.django_db(transaction=True)
def test_migration_reads_the_cause_of_earlier_withholdings_and_leaves_releases_final() -> None:
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
def test_migration_takes_the_excerpts_of_earlier_releases_and_leaves_them_final() -> None:
    simulated_recipe({0: 20, 1: 20, 2: 20}, statistic="histogram", k=2)
    finished_recipe([[1]] * 6)
    finished_recipe([[1]] * 3, cohort_size=5)
    before = list(Release.objects.order_by("pk").values())
    assert [row["excerpt"] is None for row in before] == [False, False, True]
    try:
        MigrationExecutor(connection).migrate([("releases", "0006_error_bounds")])
    finally:
        executor = MigrationExecutor(connection)
        executor.migrate(executor.loader.graph.leaf_nodes())
    assert list(Release.objects.order_by("pk").values()) == before
    with pytest.raises(DatabaseError, match="a release is final"), transaction.atomic():
        Release.objects.update(excerpt=None)
