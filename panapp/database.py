"""Getting a database ready for the commands that need one."""

import fcntl

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor


def require_migrated_database() -> None:
    """Apply migrations in a local installation; in production, insist that somebody did.

    Raises:
        CommandError: migrations are missing.
    """
    if _is_migrated():
        return
    if not settings.LOCAL:
        raise CommandError("the database is not up to date; run: python manage.py migrate")
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    # Two commands may start at once on a fresh checkout: the second finds the work done.
    with (settings.DATA_DIR / "migrate.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_migrated():
            call_command("migrate", verbosity=0, interactive=False)


def _is_migrated() -> bool:
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())
