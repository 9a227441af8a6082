"""Getting a database ready for the commands that need one."""

import fcntl

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from storage.upgrades import obstacle


def require_migrated_database() -> None:
    """Apply migrations in a local installation; in production, require that the operator did.

    Raises:
        CommandError: migrations are missing, or the database cannot be upgraded.
    """
    if is_migrated():
        return
    if not settings.LOCAL:
        raise CommandError("the database is not up to date; run: python manage.py migrate")
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    # Two commands may start at once on a fresh checkout: the second finds the work done.
    with (settings.DATA_DIR / "migrate.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_migrated():
            call_command("migrate", verbosity=0, interactive=False)


def is_migrated() -> bool:
    """Whether every migration of this version is applied.

    Raises:
        CommandError: this version cannot use the database.
    """
    try:
        executor = MigrationExecutor(connection)
    except DatabaseError as error:
        raise CommandError(f"the database cannot be read: {error}") from error
    if found := obstacle(executor.loader):
        raise CommandError(found)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())
