"""Fixtures that the whole suite shares."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import django
import hypothesis
import kombu
import pytest
import pytest_django
from django.apps import apps
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.test import TransactionTestCase

SERVICES = "PANAPP_TEST_SERVICES"
"""`required`: what a machine of CI must have fails where it is missing, and skips nothing."""

KEPT_APPS = {"contenttypes", "auth"}
"""Hold what migrations put there: permissions and groups. Accounts are removed on their own."""


DATA_DIR = pytest.StashKey[Path]()

# The same examples in every run of the same code: what fails in CI fails at the desk, and nobody's work is
# refused by a draw. `anew` draws others. No test asserts time: a busy machine must not fail a slow example.
hypothesis.settings.register_profile("suite", deadline=None, max_examples=50, derandomize=True)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=100, derandomize=True)
hypothesis.settings.register_profile("anew", deadline=None, max_examples=100)
hypothesis.settings.load_profile("suite")


def pytest_configure(config: pytest.Config) -> None:
    """Give the run an installation of its own: never the developer's settings, database or secrets.

    pytest-django would read them before any conftest, if pyproject.toml or the environment named
    them. Workers of xdist inherit the environment that is prepared here.
    """
    if hasattr(config, "workerinput"):
        return
    if os.environ.get("DJANGO_SETTINGS_MODULE"):
        raise pytest.UsageError("unset DJANGO_SETTINGS_MODULE: the tests have settings of their own")
    for name in [name for name in os.environ if name.startswith("PANAPP_") and name != SERVICES]:
        del os.environ[name]
    config.stash[DATA_DIR] = Path(tempfile.mkdtemp(prefix="panapp-tests-"))
    os.environ["PANAPP_DATA_DIR"] = str(config.stash[DATA_DIR])
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    django.setup()


def pytest_unconfigure(config: pytest.Config) -> None:
    if DATA_DIR in config.stash:
        shutil.rmtree(config.stash[DATA_DIR])


def pytest_sessionstart(session: pytest.Session) -> None:
    """Where services are required, say at once which one does not answer."""
    if os.environ.get(SERVICES) != "required" or hasattr(session.config, "workerinput"):
        return
    for name, check in (("DATABASE_URL", _ask_database), ("CELERY_BROKER_URL", _ask_broker)):
        if os.environ.get(name):
            try:
                check()
            except Exception as error:  # whatever a driver raises
                pytest.exit(f"{SERVICES} is required, but {name} does not answer: {error}", returncode=4)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what has another database on PostgreSQL, so that only this is run there again."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if item.get_closest_marker("django_db") or {"db", "transactional_db", "live_server"} & set(fixtures):
            item.add_marker("database")


def _ask_database() -> None:
    values = connection.settings_dict
    if connection.vendor == "postgresql":
        import psycopg

        # The database itself need not exist: tests make one beside it.
        named = {"dbname": "postgres", "host": values["HOST"], "port": values["PORT"]}
        account = {"user": values["USER"], "password": values["PASSWORD"]}
        psycopg.connect(**named, **account, connect_timeout=5).close()


def _ask_broker() -> None:
    options = {"socket_connect_timeout": 5}
    with kombu.Connection(os.environ["CELERY_BROKER_URL"], transport_options=options) as broker:
        broker.ensure_connection(max_retries=1, timeout=5)


@pytest.fixture(scope="session", autouse=True)
def _processes_of_the_product() -> None:
    """What tests start runs with the product's own settings. Not set before: workers of xdist need ours."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "panapp.settings"


@pytest.fixture(scope="session")
def django_db_modify_db_settings(request: pytest.FixtureRequest) -> None:
    """A file where SQLite's tests would be in memory: other processes open it too, one per xdist worker."""
    if connection.vendor == "sqlite":
        connection.settings_dict["TEST"]["NAME"] = str(settings.DATA_DIR / "test.sqlite3")
    request.getfixturevalue("django_db_modify_db_settings_parallel_suffix")


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: pytest_django.DjangoDbBlocker) -> None:
    """Without the budget that a new installation has: tests give one where it matters."""
    from ledger.models import Population

    with django_db_blocker.unblock():
        Population.objects.update(epsilon=None, delta=None)


def _guards() -> list:
    import audit.guards
    import ledger.guards
    import recipes.guards
    import releases.guards
    import streams.guards

    apps_with_guards = (audit, ledger, recipes, releases, streams)
    return [guard for app in apps_with_guards for guard in app.guards.GUARDS]


def _empty_database() -> None:
    """Undo what a test with real transactions left; the guards refuse it, so they step aside."""
    from django.contrib.auth.models import User

    from audit.models import GENESIS, Head
    from ledger.models import Population
    from storage.models import Database

    tables = [
        model._meta.db_table
        for model in apps.get_models(include_auto_created=True)
        if model._meta.app_label not in KEPT_APPS and model not in (Head, Database) and model._meta.managed
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
            # As `django_db_setup` left it.
            Population.objects.create(name="everyone", description="Every device.")
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
def _pages_wait_for_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here no worker has computed beforehand what pages show of the ledger."""
    from ledger import selectors

    monkeypatch.setattr(selectors, "PAGE_SECONDS", 60.0)
    monkeypatch.setattr(selectors, "SHORT_BOOK", 10_000)


@pytest.fixture(autouse=True)
def _no_sign_in_is_remembered() -> Iterator[None]:
    """Counts of failed sign-ins live in the cache, which no transaction rolls back."""
    yield
    cache.clear()
