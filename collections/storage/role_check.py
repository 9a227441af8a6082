"""Whether the database itself would keep this process from changing append-only tables.

Guards (storage.append_only) bind neither a superuser nor the owner of a table, its function or its schema. So
processes sign in as a role that is none of these, and `check --deploy` asks the database whether that is so.
"""

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, Tags, register
from django.db import Error as DatabaseError
from django.db import connection
from django.utils.module_loading import module_has_submodule

from storage.append_only import Guard

HINT = "Let processes sign in as a plain role: docs/operations/install.md, section PostgreSQL."

ATTRIBUTES = """
    SELECT rolsuper, rolcreaterole, rolbypassrls, rolreplication FROM pg_roles WHERE rolname = current_user
"""
MEMBERSHIPS = """
    SELECT rolname FROM pg_roles
    WHERE rolname IN ('pg_execute_server_program', 'pg_write_server_files', 'pg_read_server_files')
        AND pg_has_role(current_user, oid, 'MEMBER')
"""
# PostgreSQL 15 and newer: a plain role may be granted the setting that switches triggers off.
REPLICATION_SETTING = "SELECT has_parameter_privilege(current_user, 'session_replication_role', 'SET')"
# The owner of the table, or of its schema, can drop it; a role with TRIGGER can add triggers to it.
TABLES = """
    SELECT pg_has_role(current_user, tables.relowner, 'MEMBER'),
        pg_has_role(current_user, schemas.nspowner, 'MEMBER'),
        has_table_privilege(current_user, tables.oid, 'TRIGGER')
            OR has_table_privilege(current_user, tables.oid, 'TRUNCATE')
    FROM pg_class AS tables JOIN pg_namespace AS schemas ON schemas.oid = tables.relnamespace
    WHERE tables.oid = to_regclass(%s)
"""
# Its owner can put another function in its place.
TRIGGERS = """
    SELECT triggers.tgname, pg_has_role(current_user, functions.proowner, 'MEMBER')
    FROM pg_trigger AS triggers JOIN pg_proc AS functions ON functions.oid = triggers.tgfoid
    WHERE triggers.tgrelid = to_regclass(%s) AND triggers.tgenabled IN ('O', 'A')
"""


# They run with the rights of their owner, for every role that may call them.
FUNCTIONS = """
    SELECT functions.proname, owners.rolsuper, has_function_privilege(current_user, functions.oid, 'EXECUTE')
    FROM pg_proc AS functions JOIN pg_roles AS owners ON owners.oid = functions.proowner
    WHERE functions.prosecdef AND functions.pronamespace = current_schema()::regnamespace
    ORDER BY functions.proname
"""


def installed_guards() -> list[Guard]:
    """Those that the installed apps declare, each in a module `guards`."""
    return [
        guard
        for app in apps.get_app_configs()
        if app.module is not None and module_has_submodule(app.module, "guards")
        for guard in import_module(f"{app.name}.guards").GUARDS
    ]


@register(Tags.security, deploy=True)
def check_database_role(app_configs: Sequence[Any] | None, **_: object) -> list[CheckMessage]:
    """Errors for each right by which this process could change append-only tables, on PostgreSQL."""
    if connection.vendor != "postgresql":
        return []
    try:
        return [Error(text, hint=HINT, id=name) for name, text in role_faults(settings.PROCESS.owns_tables)]
    except DatabaseError as error:
        # Settings can be checked while there is no database yet.
        text = f"The database was not asked what its role may do: {type(error).__name__}."
        return [Info(text, hint="Run this check again when the database answers.", id="storage.I001")]


def role_faults(owns_tables: bool) -> Iterator[tuple[str, str]]:
    """Identifier and sentence of everything that the role of this process has and must not have.

    Args:
        owns_tables: whether it is there to migrate them, and must own them.

    Raises:
        django.db.Error: the database does not answer.
    """
    with connection.cursor() as cursor:
        cursor.execute(ATTRIBUTES)
        rights = ("SUPERUSER", "CREATEROLE", "BYPASSRLS", "REPLICATION")
        for right, given in zip(rights, cursor.fetchone(), strict=True):
            if given:
                yield "storage.E001", f"The database role of this process has {right}."
        cursor.execute(MEMBERSHIPS)
        for (role,) in cursor.fetchall():
            yield "storage.E002", f"The database role of this process is a member of {role}."
        cursor.execute("SELECT current_setting('server_version_num')::int >= 150000")
        if cursor.fetchone() == (True,):
            cursor.execute(REPLICATION_SETTING)
            if cursor.fetchone() == (True,):
                yield "storage.E003", "The database role of this process can switch all triggers off."
        for guard in installed_guards():
            yield from _guard_faults(cursor, guard, owns_tables)
        cursor.execute(FUNCTIONS)
        for name, as_superuser, may_call in cursor.fetchall():
            if as_superuser:
                yield (
                    "storage.E008",
                    f"The function {name} runs as a superuser, for every role that may call it.",
                )
            if not may_call:
                yield "storage.E009", f"The database role of this process may not call {name}."


def _guard_faults(cursor: Any, guard: Guard, owns_tables: bool) -> Iterator[tuple[str, str]]:
    cursor.execute(TABLES, [guard.table])
    row = cursor.fetchone()
    if row is None:
        return  # not migrated yet
    table_owner, schema_owner, may_trigger = row
    cursor.execute(TRIGGERS, [guard.table])
    enabled = dict(cursor.fetchall())
    missing = guard.trigger_names("postgresql") - enabled.keys()
    if missing:
        yield (
            "storage.E004",
            f"{guard.table}: triggers are missing or disabled: {', '.join(sorted(missing))}.",
        )
    if owns_tables:
        return
    if table_owner or any(enabled.values()):
        yield "storage.E005", f"The database role of this process owns {guard.table} or its guards."
    elif schema_owner:
        yield "storage.E006", f"The database role of this process owns the schema of {guard.table}."
    elif may_trigger:
        yield "storage.E007", f"The database role of this process may TRIGGER or TRUNCATE {guard.table}."
