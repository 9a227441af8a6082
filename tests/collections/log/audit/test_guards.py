"""The database refuses what the product never does, however it is asked."""

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from log.audit.actions import ACCESS_DENIED
from log.audit.operations import entry_append
from log.public_log.tree_growth import integrate
from publishing.publication import recipe_close
from recipes.models import Recipe
from results.models import Release
from streams.operations import intrusion_announce
from tests.factories import draft_recipe, published_recipe, published_stream
from tests.scenes import finished_recipe, simulated_recipe

pytestmark = pytest.mark.django_db

TABLES = (
    "recipes_recipe",
    "releases_release",
    "releases_signedresult",
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
def test_every_guarded_table_has_rows_and_refuses_their_loss() -> None:
    """On PostgreSQL, ON CONFLICT DO UPDATE is an update."""
    assert [table for table in TABLES if not contents(table)] == []
    other = {"sqlite": "INSERT OR REPLACE INTO {0} SELECT * FROM {0}", "postgresql": "TRUNCATE {} CASCADE"}
    for statement in ("DELETE FROM {}", other[connection.vendor]):
        assert taken(statement) == [], statement


REFUSALS = "append-only|final|keeps its name|was signed|only grows|only advances"
CHANGES = [
    "audit_entry SET subject = 'x'",
    "releases_release SET reports = 7",
    "releases_signedresult SET document = '{}'",
    "ledger_spending SET event = '{}'",
    "ledger_spending SET recipe = 'x'",
    "ledger_population SET name = 'x'",
    "public_log_leaf SET content = 'x'",
    "public_log_signedcheckpoint SET note = 'x'",
    "public_log_tree SET size = size - 1",
    "public_log_tree SET size = size",
    "public_log_tree SET origin = 'x', size = size + 1",
    'audit_head SET "index" = 0',
    'audit_head SET "index" = "index" + 2',
    'audit_head SET "index" = "index"',
    "audit_head SET id = 2",
]


@pytest.mark.usefixtures("everything")
def test_no_guarded_row_can_be_changed() -> None:
    for change in CHANGES:
        with pytest.raises(DatabaseError, match=REFUSALS):
            execute(f"UPDATE {change}")
    with pytest.raises(DatabaseError):
        execute('INSERT INTO audit_head (id, "index") VALUES (2, 0)')


@pytest.mark.skipif(connection.vendor != "sqlite", reason="OR REPLACE is SQLite's")
@pytest.mark.usefixtures("everything")
def test_a_row_cannot_be_pushed_aside_by_an_update() -> None:
    draft = draft_recipe()
    before = contents("recipes_recipe")
    published = Recipe.objects.exclude(status="draft")[0]
    for column, value in (("id", published.pk), ("identifier", f"'{published.identifier}'")):
        with pytest.raises(DatabaseError):
            execute(f"UPDATE OR REPLACE recipes_recipe SET {column} = {value} WHERE id = {draft.pk}")
    assert contents("recipes_recipe") == before


@pytest.mark.skipif(connection.vendor != "sqlite", reason="OR REPLACE is SQLite's")
def test_a_partners_signature_is_not_pushed_aside_by_its_columns_together() -> None:
    recipe = published_recipe()
    recipe.partner_signatures.create(partner="helper", signature=b"first")
    insert = (
        "INSERT OR REPLACE INTO recipes_partnersignature (recipe_id, partner, signature) "
        f"VALUES ({recipe.pk}, '%s', x'00')"
    )
    with pytest.raises(DatabaseError, match="what a partner signed"):
        execute(insert % "helper")
    execute(insert % "issuer")
    assert set(recipe.partner_signatures.values_list("partner", flat=True)) == {"helper", "issuer"}


@pytest.mark.usefixtures("everything")
def test_an_upsert_cannot_change_a_release() -> None:
    release = Release.objects.all()[0]
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
