"""The application was a superuser of its own database: SQL run in it could rewrite the log and run programs.

Required: migrations have an owner, processes a plain role (compose/database-roles.sql, which is run here as
it is on a new database and on one that stands). All 15 statements below are refused to it, the guards bind
it, and the application works under it. `check --deploy` names each right that a process should not have.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.checks import Error, Info
from django.db import (
    DatabaseError,
    IntegrityError,
    OperationalError,
    ProgrammingError,
    connection,
    transaction,
)

from log.audit.actions import ACCESS_DENIED
from log.audit.models import Entry
from log.audit.operations import entry_append
from reports.models import ReportNonce
from storage.partitions import partitions_upkeep
from storage.role_check import check_database_role, installed_guards, role_faults
from tests.factories import published_recipe, report_of_values, submitted
from tests.scenes import finish

ROLES_SQL = Path(settings.BASE_DIR / "compose" / "database-roles.sql").read_text()
PROCESS, OWNER = "panapp_process", "panapp_owner"

pytestmark = pytest.mark.django_db

on_postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="roles are PostgreSQL's; SQLite has one user, who owns the file"
)


def execute(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.fixture
def roles() -> None:
    """What compose/database-roles.sql makes of a database that stands; all of it is rolled back."""
    statements = re.sub(r"^\\.*$|^BEGIN;$|^COMMIT;$", "", ROLES_SQL, flags=re.MULTILINE)
    statements = re.sub(r":'(\w+)'", r"'a \1'", statements)
    execute(statements)


@contextmanager
def signed_in_as(role: str) -> Iterator[None]:
    """As if the connection had been opened with this role: `SET ROLE` to another is checked against it."""
    execute(f"SET LOCAL SESSION AUTHORIZATION {role}")
    try:
        yield
    finally:
        execute("SET LOCAL SESSION AUTHORIZATION DEFAULT")


def audit_entry() -> Entry:
    return entry_append(action=ACCESS_DENIED, subject="somebody", actor=None, details={})


ATTACKS = [
    "ALTER TABLE audit_entry DISABLE TRIGGER ALL",
    "ALTER TABLE audit_entry DISABLE TRIGGER USER",
    "DROP TRIGGER audit_entry_append_only_update ON audit_entry",
    "SET session_replication_role = replica",
    "CREATE OR REPLACE FUNCTION audit_entry_append_only_refuse() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RETURN NEW; END $$",
    "DROP FUNCTION audit_entry_append_only_refuse() CASCADE",
    "TRUNCATE audit_entry",
    "TRUNCATE reports_reportnonce",
    "DROP TABLE audit_entry CASCADE",
    "ALTER TABLE audit_entry RENAME TO audit_entry_before",
    "CREATE TABLE public.mine (id integer)",
    "COPY (SELECT 1) TO PROGRAM 'cat >/dev/null'",
    "ALTER ROLE panapp_process SUPERUSER",
    "SET ROLE panapp_owner",
    "DROP SCHEMA public CASCADE",
]


@on_postgresql
@pytest.mark.usefixtures("roles")
@pytest.mark.parametrize("attack", ATTACKS)
def test_process_can_neither_unguard_tables_nor_run_programs(attack: str) -> None:
    with signed_in_as(PROCESS), pytest.raises((ProgrammingError, OperationalError)) as refusal:
        with transaction.atomic():
            execute(attack)
    assert re.search("permission denied|must be|must have", str(refusal.value)), refusal.value


@on_postgresql
@pytest.mark.parametrize("attack", ATTACKS[:2] + ATTACKS[3:5] + ATTACKS[11:12])
def test_superuser_that_the_processes_once_were_can_do_it(attack: str) -> None:
    """The attacks are real: without the roles each of these works."""
    with transaction.atomic():
        execute(attack)
        transaction.set_rollback(True)


@on_postgresql
@pytest.mark.usefixtures("roles")
@pytest.mark.parametrize("statement", ["UPDATE audit_entry SET actor = 'nobody'", "DELETE FROM audit_entry"])
def test_guards_bind_the_role_of_the_processes(statement: str) -> None:
    audit_entry()
    with signed_in_as(PROCESS), pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        execute(statement)


@on_postgresql
@pytest.mark.usefixtures("roles")
def test_application_works_under_the_role_of_the_processes() -> None:
    with signed_in_as(PROCESS):
        published_recipe()
        User.objects.create_user("mary", password="a password of some length")
        assert audit_entry().index == Entry.objects.count()


@on_postgresql
@pytest.mark.usefixtures("roles")
def test_process_can_neither_empty_nor_drop_partitions_that_are_needed() -> None:
    """With the nonces of an open recipe, what was sent before could be sent and counted once more."""
    with signed_in_as(PROCESS):
        recipe = published_recipe()
        report = report_of_values(recipe, [1])
        assert submitted(recipe, report) == []
        nonces = f"reports_reportnonce_{recipe.pk}"
        for statement, words in (
            (f"SELECT reports_partitions_empty({recipe.pk}, 'reports_reportnonce')", "still needed"),
            (f"TRUNCATE {nonces}", "permission denied"),
            (f"DROP TABLE {nonces}", "must be owner"),
            (f"ALTER TABLE reports_reportnonce DETACH PARTITION {nonces}", "must be owner"),
            ("DROP FUNCTION reports_partitions_empty(bigint, text)", "must be owner"),
        ):
            with pytest.raises((IntegrityError, ProgrammingError), match=words), transaction.atomic():
                execute(statement)
        # A table of its own in the way of the tables that the function reads.
        with pytest.raises(ProgrammingError, match="permission denied"), transaction.atomic():
            execute("CREATE TEMPORARY TABLE releases_release (recipe_id bigint)")
        partitions_upkeep()
        (again,) = submitted(recipe, report)
        assert again.reason == "duplicate_nonce"
        finish(recipe)
        with pytest.raises(IntegrityError, match="no rows"), transaction.atomic():
            execute(f"SELECT reports_partitions_empty({recipe.pk}, 'recipes_recipe')")
        partitions_upkeep()
        assert not ReportNonce.objects.exists()
        with pytest.raises(ProgrammingError, match="does not exist"), transaction.atomic():
            execute(f"SELECT FROM {nonces}")


@on_postgresql
@pytest.mark.usefixtures("roles")
def test_tables_of_later_migrations_belong_to_the_owner() -> None:
    with signed_in_as(OWNER):
        execute("CREATE TABLE later (id bigint GENERATED BY DEFAULT AS IDENTITY, name text)")
    with signed_in_as(PROCESS):
        execute("INSERT INTO later (name) VALUES ('a')", "UPDATE later SET name = 'b'", "DELETE FROM later")
        with pytest.raises(ProgrammingError, match="must be owner"), transaction.atomic():
            execute("DROP TABLE later")


@on_postgresql
@pytest.mark.usefixtures("roles")
def test_roles_can_be_made_again(request: pytest.FixtureRequest) -> None:
    execute(re.sub(r":'(\w+)'", "'other'", re.sub(r"^\\.*$|^BEGIN;$|^COMMIT;$", "", ROLES_SQL, flags=re.M)))
    with signed_in_as(PROCESS):
        assert list(role_faults(owns_tables=False)) == []


@on_postgresql
def test_deployment_check_names_every_right_of_a_superuser() -> None:
    messages = check_database_role(None)
    assert all(isinstance(message, Error) for message in messages)
    assert {"storage.E001", "storage.E003", "storage.E005"} <= {message.id for message in messages}


@on_postgresql
@pytest.mark.usefixtures("roles")
def test_deployment_check_passes_for_process_and_owner() -> None:
    with signed_in_as(PROCESS):
        assert check_database_role(None) == []
    with signed_in_as(OWNER):
        assert list(role_faults(owns_tables=True)) == []
        owned = list(role_faults(owns_tables=False))
    assert {name for name, _ in owned} == {"storage.E005"}
    assert len(owned) == len(installed_guards()) > 5


@on_postgresql
@pytest.mark.usefixtures("roles")
@pytest.mark.parametrize(
    ("grant", "fault"),
    [
        ("GRANT panapp_owner TO panapp_process", "E005"),
        ("ALTER ROLE panapp_process CREATEROLE", "E001"),
        ("GRANT pg_execute_server_program TO panapp_process", "E002"),
        ("ALTER FUNCTION audit_entry_append_only_refuse() OWNER TO panapp_process", "E005"),
        ("ALTER SCHEMA public OWNER TO panapp_process", "E006"),
        ("GRANT TRIGGER ON audit_entry TO panapp_process", "E007"),
        ("ALTER TABLE audit_entry DISABLE TRIGGER audit_entry_append_only_update", "E004"),
        ("DROP TRIGGER audit_entry_append_only_truncate ON audit_entry", "E004"),
        ("ALTER FUNCTION reports_partitions_empty(bigint, text) OWNER TO CURRENT_USER", "E008"),
        ("REVOKE EXECUTE ON FUNCTION reports_partitions_make(bigint) FROM panapp_process", "E009"),
    ],
)
def test_deployment_check_names_a_right_that_was_given_later(grant: str, fault: str) -> None:
    execute(grant)
    with signed_in_as(PROCESS):
        assert f"storage.{fault}" in {name for name, _ in role_faults(owns_tables=False)}


def test_deployment_check_says_so_where_the_database_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise DatabaseError("password s3cret")

    monkeypatch.setattr(connection, "vendor", "postgresql")
    monkeypatch.setattr(connection, "cursor", refuse)
    (message,) = check_database_role(None)
    assert isinstance(message, Info)
    assert "s3cret" not in str(message)
