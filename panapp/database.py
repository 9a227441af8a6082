"""Getting a database ready for the commands that need one."""

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor


def require_migrated_database() -> None:
    """Apply migrations to the local SQLite file; for any other database, insist that somebody did.

    Raises:
        CommandError: migrations are missing.
    """
    executor = MigrationExecutor(connection)
    if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return
    if not (settings.LOCAL and connection.vendor == "sqlite"):
        raise CommandError("the database is not up to date; run: python manage.py migrate")
    call_command("migrate", verbosity=0, interactive=False)
