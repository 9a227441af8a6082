"""Migrations that compute: from the state before, with rows in it."""

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from recipes.operations import recipe_close
from releases.models import Release
from releases.operations import result_release
from tests.factories import published_recipe


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
