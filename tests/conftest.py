"""Fixtures that the whole suite shares."""

import os
from collections.abc import Iterator

import pytest
from django.apps import apps
from django.core.cache import cache
from django.db import connection
from django.test import TransactionTestCase

KEPT_APPS = {"contenttypes", "auth"}
"""Hold what migrations put there: permissions and groups. Accounts are removed on their own."""


def pytest_configure(config: pytest.Config) -> None:
    # Tests make their own installation: never the developer's database or secrets.
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panapp.settings")


def _guards() -> list:
    import audit.guards
    import recipes.guards
    import releases.guards

    return [*audit.guards.GUARDS, *recipes.guards.GUARDS, *releases.guards.GUARDS]


def _empty_database() -> None:
    """Undo what a test with real transactions left; the guards refuse it, so they step aside."""
    from django.contrib.auth.models import User

    from audit.models import GENESIS, Head

    tables = [
        model._meta.db_table
        for model in apps.get_models()
        if model._meta.app_label not in KEPT_APPS and model is not Head and model._meta.managed
    ] + [
        User.groups.through._meta.db_table,
        User.user_permissions.through._meta.db_table,
        User._meta.db_table,
    ]
    with connection.cursor() as cursor:
        for guard in _guards():
            for statement in guard.remove_statements(connection.vendor):
                cursor.execute(statement)
        try:
            if connection.vendor == "postgresql":
                cursor.execute(f"TRUNCATE {', '.join(tables)}")
            else:
                with connection.constraint_checks_disabled():
                    for table in tables:
                        cursor.execute(f"DELETE FROM {table}")
            Head.objects.update(index=0, entry_hash=GENESIS)
        finally:
            for guard in _guards():
                for statement in guard.install_statements(connection.vendor):
                    cursor.execute(statement)


@pytest.fixture(autouse=True, scope="session")
def _append_only_tables_can_be_emptied() -> Iterator[None]:
    original = TransactionTestCase._fixture_teardown
    TransactionTestCase._fixture_teardown = lambda self: _empty_database()
    yield
    TransactionTestCase._fixture_teardown = original


@pytest.fixture(autouse=True)
def _no_sign_in_is_remembered() -> Iterator[None]:
    """Counts of failed sign-ins live in the cache, which no transaction rolls back."""
    yield
    cache.clear()
