"""Which databases this version can use."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.checks import Error, Tags, register
from django.db import connection
from django.db.migrations.loader import MigrationLoader

UNRELEASED = ("audit", "0002_append_only")
"""A migration that only databases of unreleased versions have."""

_EMPTY = "name an empty one with DATABASE_URL or PANAPP_DATA_DIR"

NOT_UPGRADED = f"the database was made by an unreleased version and cannot be upgraded; {_EMPTY}"

NEWER = f"the database was made by a newer version; use that one, or {_EMPTY}"

_COLUMNS = {
    "sqlite": "SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c "
    "WHERE t.type = 'table'",
    "postgresql": "SELECT table_name, column_name FROM information_schema.columns "
    "WHERE table_schema = ANY (current_schemas(false))",
}


def obstacle(loader: MigrationLoader) -> str:
    """Why this version cannot use the database; empty if it can, perhaps after migrations.

    Args:
        loader: of the database's connection.
    """
    applied = loader.applied_migrations
    if UNRELEASED in applied:
        return NOT_UPGRADED
    ours = {app.label for app in apps.get_app_configs() if Path(app.path).parent.name == "collections"}
    if any(key not in loader.disk_migrations for key in applied if key[0] in ours):
        return NEWER
    missing = [key for key in loader.disk_migrations if key not in applied]
    return "" if missing or not _columns_missing() else NOT_UPGRADED


def _columns_missing() -> bool:
    """Whether a table lacks a column: unreleased versions had other tables under the same migrations."""
    with connection.cursor() as cursor:
        cursor.execute(_COLUMNS[connection.vendor])
        found = set(cursor.fetchall())
    expected = {
        (model._meta.db_table, field.column)
        for model in apps.get_models()
        if model._meta.managed and not model._meta.proxy
        for field in model._meta.local_concrete_fields
    }
    return not expected <= found


@register(Tags.database)
def upgradable(databases: Sequence[str] | None = None, **_: Any) -> list[Error]:
    """What `manage.py migrate` asks first."""
    found = obstacle(MigrationLoader(connection)) if databases else ""
    return [Error(found, id="storage.E001")] if found else []
