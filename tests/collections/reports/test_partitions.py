"""On PostgreSQL what came for a recipe goes with it at once, as files, and with nobody else's."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from recipes.models import Recipe
from releases.models import Release
from releases.operations import result_withhold
from reports import operations
from reports.models import CiphertextDigest, ReportNonce, StoredReports
from reports.operations import RecipeNotOpenError, reports_submit
from reports.partitions import REPORTS
from storage import partitions
from storage.partitions import partitions_upkeep
from storage.tasks import drop_partitions
from tests.factories import published_recipe, report_of_values
from tests.patience import PATIENCE
from tests.scenes import finish
from trust_models.publishing import recipe_close

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
    assert reports_submit(recipe=recipe, reports=reports, decode=lambda raw: raw) == []
    return reports


def files_of(recipe: Recipe) -> set[str]:
    """Of its tables, those with bytes in them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name FROM unnest(%s::text[]) AS name WHERE pg_relation_size(name) > 0",
            [sorted(tables_of(recipe))],
        )
        return {name for (name,) in cursor.fetchall()}


@contextmanager
def reading(recipe: Recipe) -> Iterator[None]:
    """Somebody reads the tables in one long transaction, as a backup does."""
    begun, may_end = threading.Event(), threading.Event()

    def read() -> None:
        with transaction.atomic():
            rows_of(recipe)
            begun.set()
            assert may_end.wait(PATIENCE)
        connection.close()

    reader = threading.Thread(target=read)
    reader.start()
    assert begun.wait(PATIENCE)
    try:
        yield
    finally:
        may_end.set()
        reader.join(PATIENCE)


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


def test_withholding_empties_the_partitions_ciphertexts_included() -> None:
    recipe = published_recipe()
    submit(recipe, 1, 1)
    assert rows_of(recipe) == [2, 2, 1]
    recipe = recipe_close(recipe=recipe, actor=None)
    result_withhold(recipe=recipe, reason="it takes too long", actor=None)
    assert (rows_of(recipe), files_of(recipe)) == ([0, 0, 0], set())
    partitions_upkeep()
    assert not tables_of(recipe)


def test_late_report_is_refused_and_leaves_nothing_before_and_after_the_partitions_are_gone() -> None:
    recipe = published_recipe()
    submit(recipe, 1, 1, 1, 1, 1)
    late = [report_of_values(recipe, [1])]
    finish(recipe)
    for _ in range(2):
        # As a process that read the recipe while it was open.
        with pytest.raises(RecipeNotOpenError):
            reports_submit(recipe=recipe, reports=late, decode=lambda raw: raw)
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


@pytest.mark.parametrize("closed", [False, True])
def test_partitions_of_a_recipe_without_a_result_are_neither_emptied_nor_dropped(closed: bool) -> None:
    recipe = published_recipe()
    submit(recipe, 1, 1)
    if closed:
        recipe_close(recipe=recipe, actor=None)
    with pytest.raises(IntegrityError, match="still needed"), transaction.atomic():
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
def test_reports_that_are_being_stored_and_that_come_while_partitions_are_dropped_all_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    over, recipe = published_recipe(name="Over"), published_recipe()
    finish(over)
    storing, may_finish = threading.Event(), threading.Event()
    claim = operations.digests_claim

    def slow_claim(**arguments: Any) -> Any:
        copies = claim(**arguments)
        if not storing.is_set():
            storing.set()
            assert may_finish.wait(PATIENCE)
        return copies

    monkeypatch.setattr(operations, "digests_claim", slow_claim)

    def run(work: Any) -> threading.Thread:
        def working() -> None:
            work()
            connection.close()

        thread = threading.Thread(target=working)
        thread.start()
        return thread

    first = run(lambda: submit(recipe, 1))
    try:
        assert storing.wait(PATIENCE)
        dropping = run(partitions_upkeep)
        second = run(lambda: submit(recipe, 0))
        # It stands behind who drops, who gives way: the first one is still in its transaction.
        second.join(PATIENCE)
        dropping.join(PATIENCE)
        assert rows_of(recipe) == [1, 1, 1]
        assert tables_of(over)
    finally:
        may_finish.set()
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
        published = threading.Event()

        def publish() -> None:
            published_recipe(name="Next")
            connection.close()
            published.set()

        thread = threading.Thread(target=publish)
        thread.start()
        assert published.wait(PATIENCE)
        thread.join(PATIENCE)


@pytest.fixture
def _migrated_in_the_end() -> Iterator[None]:
    yield
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_migrated_in_the_end")
def test_half_done_recipe_from_before_partitions_loses_nothing_and_is_finished(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(partitions, "DELETED_ROWS", 2)
    recipe, finished = published_recipe(), published_recipe(name="Finished")
    finish(finished)
    earlier = submit(recipe, 1, 1, 0)
    MigrationExecutor(connection).migrate([("reports", "0003_report_segments")])
    assert rows_of(recipe) == [3, 3, 1]
    before = list(StoredReports.objects.values())
    # What was stored by the version before; its keys go on where they were.
    StoredReports.objects.create(recipe=recipe, count=1, payload=bytes(before[0]["payload"])[:66]).delete()
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())
    assert list(StoredReports.objects.values()) == before

    (rejection,) = reports_submit(recipe=recipe, reports=earlier[:1], decode=lambda raw: raw)
    assert rejection.reason == "duplicate_nonce"
    submit(recipe, 1, 1)
    assert StoredReports.objects.latest("pk").pk > before[0]["id"] + 1
    published_later = published_recipe(name="Later")
    submit(published_later, 1)
    assert not tables_of(recipe)
    assert len(tables_of(published_later)) == len(OURS)

    with monkeypatch.context() as dying:
        # The process dies after it has committed the release.
        dying.setattr(partitions.Partitioned, "_delete", lambda *_: None)
        finish(recipe)
    assert Release.objects.get(recipe=recipe).reports == 5
    assert rows_of(recipe) == [5, 5, 0]
    partitions_upkeep()
    assert rows_of(recipe) == [0, 0, 0]
    assert rows_of(published_later) == [1, 1, 1]


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_migrated_in_the_end")
def test_release_of_a_recipe_from_before_partitions_deletes_its_rows_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(partitions, "DELETED_ROWS", 2)
    recipe, other = published_recipe(), published_recipe(name="Other")
    submit(recipe, 1, 1, 0, 1, 1)
    submit(other, 1)
    MigrationExecutor(connection).migrate([("reports", "0003_report_segments")])
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())
    assert not tables_of(recipe)
    finish(recipe)
    assert (rows_of(recipe), rows_of(other)) == ([0, 0, 0], [1, 1, 1])
