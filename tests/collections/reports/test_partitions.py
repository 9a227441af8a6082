"""On PostgreSQL what came for a recipe goes with it at once, as files, and with nobody else's."""

from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from publishing.publication import recipe_close
from recipes.models import Recipe
from reports import rows
from reports.models import CiphertextDigest, ReportNonce, StoredReports
from reports.partitions import REPORTS
from reports.store import RecipeNotOpenError
from results.models import Release
from results.operations import result_withhold
from storage.partitions import partitions_upkeep
from storage.tasks import drop_partitions
from tests.concurrency import Pause, in_thread, open_transaction
from tests.factories import published_recipe, report_of_values, submitted
from tests.patience import PATIENCE
from tests.scenes import finish

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(
        connection.vendor != "postgresql", reason="SQLite has no partitions, and deletes rows as before"
    ),
]

MODELS = (ReportNonce, CiphertextDigest, StoredReports)
OURS = {table.name for table in REPORTS.tables}


def tables_of(recipe: Recipe) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relispartition AND relname = ANY (%s)",
            [[f"{name}_{recipe.pk}" for name in OURS]],
        )
        return {name for (name,) in cursor.fetchall()}


def rows_of(recipe: Recipe) -> list[int]:
    return [model.objects.filter(recipe=recipe).count() for model in MODELS]


def submit(recipe: Recipe, *values: int) -> list[dict[str, Any]]:
    reports = [report_of_values(recipe, [value]) for value in values]
    assert submitted(recipe, *reports) == []
    return reports


def files_of(recipe: Recipe) -> set[str]:
    """Of its tables, those with bytes in them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name FROM unnest(%s::text[]) AS name WHERE pg_relation_size(name) > 0",
            [sorted(tables_of(recipe))],
        )
        return {name for (name,) in cursor.fetchall()}


def reading(recipe: Recipe) -> AbstractContextManager[None]:
    """A long transaction reads the tables, as a backup does."""
    return open_transaction(lambda: rows_of(recipe))


def test_publishing_makes_partitions_and_reports_lie_in_them() -> None:
    recipe, other = published_recipe(), published_recipe(name="Other")
    assert len(tables_of(recipe)) == len(tables_of(other)) == len(OURS)
    submit(recipe, 1, 0)
    assert rows_of(recipe) == [2, 2, 1]
    assert files_of(recipe) == tables_of(recipe)
    assert files_of(other) == set()


def test_draft_has_no_partition_and_a_publication_that_fails_leaves_none() -> None:
    class PublicationFailedError(Exception):
        pass

    with pytest.raises(PublicationFailedError), transaction.atomic():
        recipe = published_recipe()
        assert tables_of(recipe)
        raise PublicationFailedError
    assert not tables_of(recipe)


@pytest.mark.django_db(transaction=True)
def test_release_empties_the_partitions_and_upkeep_drops_them() -> None:
    other = published_recipe(name="Other")
    submit(other, 1, 1)
    recipe = published_recipe()
    submit(recipe, 1, 1, 0, 1, 1)
    finish(recipe)
    assert Release.objects.get(recipe=recipe).reports == 5
    assert (rows_of(recipe), files_of(recipe)) == ([0, 0, 0], set())
    drop_partitions()
    assert not tables_of(recipe)
    drop_partitions()
    assert (rows_of(other), len(tables_of(other))) == ([2, 2, 1], len(OURS))


@pytest.mark.django_db(transaction=True)
def test_withholding_empties_the_partitions_ciphertexts_included() -> None:
    recipe = published_recipe()
    submit(recipe, 1, 1)
    assert rows_of(recipe) == [2, 2, 1]
    recipe = recipe_close(recipe=recipe, actor=None)
    result_withhold(recipe=recipe, reason="it takes too long", actor=None)
    assert (rows_of(recipe), files_of(recipe)) == ([0, 0, 0], set())
    partitions_upkeep()
    assert not tables_of(recipe)


@pytest.mark.django_db(transaction=True)
def test_late_report_is_refused_also_when_the_partitions_are_gone() -> None:
    recipe = published_recipe()
    submit(recipe, 1, 1, 1, 1, 1)
    late = [report_of_values(recipe, [1])]
    finish(recipe)
    for _ in range(2):
        # As a process that read the recipe while it was open.
        with pytest.raises(RecipeNotOpenError):
            submitted(recipe, *late)
        assert rows_of(recipe) == [0, 0, 0]
        partitions_upkeep()


def test_row_of_a_recipe_without_a_partition_is_refused_by_the_database() -> None:
    recipe = published_recipe()
    finish(recipe)
    partitions_upkeep()
    with pytest.raises(IntegrityError, match="no partition"), transaction.atomic():
        ReportNonce.objects.create(recipe=recipe, nonce=bytes(16))
    with pytest.raises(IntegrityError, match="may come"), transaction.atomic():
        REPORTS.make(recipe.pk)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("closed", [False, True])
def test_partitions_of_a_recipe_without_a_result_stay(closed: bool) -> None:
    recipe = published_recipe()
    submit(recipe, 1, 1)
    if closed:
        recipe_close(recipe=recipe, actor=None)
    REPORTS.clear(recipe.pk)
    partitions_upkeep()
    assert rows_of(recipe) == [2, 2, 1]


@pytest.mark.django_db(transaction=True)
def test_release_waits_for_no_backup_and_upkeep_removes_what_it_held() -> None:
    """As after a death between release and clearing: the result stands, and the rows are still there."""
    recipe = published_recipe()
    submit(recipe, 1, 1, 1, 1, 1)
    with reading(recipe):
        finish(recipe)
        assert Release.objects.get(recipe=recipe).reports == 5
        assert rows_of(recipe) == [5, 5, 0]
        partitions_upkeep()
        assert rows_of(recipe) == [5, 5, 0]
    partitions_upkeep()
    assert not tables_of(recipe)
    assert rows_of(recipe) == [0, 0, 0]


@pytest.mark.django_db(transaction=True)
def test_reports_that_come_while_partitions_are_dropped_all_count(monkeypatch: pytest.MonkeyPatch) -> None:
    over, recipe = published_recipe(name="Over"), published_recipe()
    finish(over)
    storing = Pause(monkeypatch, rows, "_digests_claim")
    first = in_thread(lambda: submit(recipe, 1))
    try:
        storing.reached()
        dropping = in_thread(partitions_upkeep)
        second = in_thread(lambda: submit(recipe, 0))
        # Behind what drops, which gives way: the first one is still in its transaction.
        second.join(PATIENCE)
        dropping.join(PATIENCE)
        assert rows_of(recipe) == [1, 1, 1]
        assert tables_of(over)
    finally:
        storing.go_on()
        first.join(PATIENCE)
    assert rows_of(recipe) == [2, 2, 2]
    partitions_upkeep()
    assert not tables_of(over)
    assert rows_of(recipe) == [2, 2, 2]


@pytest.mark.django_db(transaction=True)
def test_publishing_waits_for_no_report_that_is_being_stored() -> None:
    recipe = published_recipe()
    with transaction.atomic():
        submit(recipe, 1)
        publishing = in_thread(lambda: published_recipe(name="Next"))
        publishing.join(PATIENCE)
        assert not publishing.is_alive()
