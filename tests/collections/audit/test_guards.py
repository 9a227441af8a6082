"""The database refuses what the product never does, however it is asked."""

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from audit.actions import ACCESS_DENIED
from audit.operations import entry_append
from public_log.integrating import integrate
from recipes.models import Recipe
from releases.models import Release
from streams.operations import intrusion_announce
from tests.factories import draft_recipe, published_recipe, published_stream
from tests.scenes import finished_recipe, simulated_recipe
from trust_models.publishing import recipe_close

pytestmark = pytest.mark.django_db

TABLES = (
    "recipes_recipe",
    "releases_release",
    "releases_simulatedtruth",
    "ledger_population",
    "ledger_spending",
    "audit_entry",
    "audit_head",
    "public_log_leaf",
    "public_log_signedcheckpoint",
    "public_log_tree",
    "streams_announcedintrusion",
)


def execute(statement: str) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


def contents(table: str) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table} ORDER BY 1")
        return cursor.fetchall()


@pytest.fixture
def everything() -> None:
    published_recipe()
    recipe_close(recipe=published_recipe(), actor=None)
    finished_recipe([[1]] * 6)
    simulated_recipe({0: 3, 1: 3})
    stream = published_stream()
    intrusion_announce(identifier=stream.identifier, actor=None, reason="File 7", now=timezone.now())
    entry_append(action=ACCESS_DENIED, subject="x", actor=None, details={})
    integrate()


def taken(statement: str) -> list[str]:
    """The tables that do not refuse a statement, in which `{}` stands for the table, or that it changes."""
    found = []
    for table in TABLES:
        before = contents(table)
        try:
            execute(statement.format(table))
        except DatabaseError:
            if contents(table) == before:
                continue
        found.append(table)
    return found


@pytest.mark.usefixtures("everything")
def test_every_guarded_table_has_rows_and_refuses_deletion() -> None:
    assert [table for table in TABLES if not contents(table)] == []
    assert taken("DELETE FROM {}") == []


@pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has no TRUNCATE; DELETE is tested above"
)
@pytest.mark.usefixtures("everything")
def test_every_guarded_table_refuses_truncation() -> None:
    assert taken("TRUNCATE {} CASCADE") == []


@pytest.mark.skipif(connection.vendor != "sqlite", reason="on PostgreSQL ON CONFLICT DO UPDATE is an update")
@pytest.mark.usefixtures("everything")
def test_a_row_cannot_be_replaced_by_an_insertion() -> None:
    assert taken("INSERT OR REPLACE INTO {0} SELECT * FROM {0}") == []


@pytest.mark.usefixtures("everything")
def test_a_row_cannot_be_pushed_aside_by_an_update() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("OR REPLACE is SQLite's")
    draft = draft_recipe()
    before = contents("recipes_recipe")
    published = Recipe.objects.exclude(status="draft").first()
    assert published is not None
    for column, value in (("id", published.pk), ("identifier", f"'{published.identifier}'")):
        with pytest.raises(DatabaseError):
            execute(f"UPDATE OR REPLACE recipes_recipe SET {column} = {value} WHERE id = {draft.pk}")
    assert contents("recipes_recipe") == before


@pytest.mark.usefixtures("everything")
def test_an_upsert_cannot_change_a_release() -> None:
    release = Release.objects.first()
    assert release is not None
    columns = ", ".join(f'"{field.column}"' for field in Release._meta.concrete_fields)
    with pytest.raises(DatabaseError, match="final"):
        execute(
            f"INSERT INTO releases_release ({columns}) SELECT {columns} FROM releases_release "
            f"WHERE id = {release.pk} ON CONFLICT (id) DO UPDATE SET outcome = 'withheld'"
        )


@pytest.mark.parametrize("status", ["closed", "published"])
def test_a_recipe_cannot_be_inserted_past_publishing(status: str) -> None:
    draft = draft_recipe()
    draft.pk, draft.status = None, status
    with pytest.raises(DatabaseError), transaction.atomic():
        draft.save(force_insert=True)


def test_a_draft_cannot_be_closed_without_publishing() -> None:
    draft = draft_recipe()
    with pytest.raises(DatabaseError):
        execute(f"UPDATE recipes_recipe SET status = 'closed' WHERE id = {draft.pk}")


@pytest.mark.usefixtures("everything")
def test_the_head_of_the_log_only_advances() -> None:
    for change in ('"index" = 0', '"index" = "index" + 2', '"index" = "index"', "id = 2"):
        with pytest.raises(DatabaseError, match="only advances"):
            execute(f"UPDATE audit_head SET {change}")
    with pytest.raises(DatabaseError):
        execute('INSERT INTO audit_head (id, "index") VALUES (2, 0)')
