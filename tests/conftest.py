"""Fixtures that the whole suite shares."""

import fcntl
import gc
import importlib.util
import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import django
import hypothesis
import kombu
import pytest
import pytest_django
from _pytest.nodeid import NodeId
from django.apps import apps
from django.conf import settings
from django.core.cache import cache
from django.core.management import call_command
from django.db import OperationalError, connection, transaction
from django.test import TransactionTestCase

from tests.object_store import StoreServer
from tests.object_store import store_server as running_store_server

SERVICES = "PANAPP_TEST_SERVICES"
"""`required`: what a machine of CI must have fails where it is missing, and skips nothing."""

WITHOUT_DATABASE = ("panprivacy", "statistical", "devices_sim", "research")
"""Folders of tests that touch no database. `.ci/run` does not even collect them for the other one."""

KEPT_APPS = {"contenttypes", "auth"}
"""Hold what migrations put there: permissions and groups. Accounts are removed on their own."""

ATTEMPTS_TO_EMPTY = 10

DEADLOCK = "40P01"
"""PostgreSQL's code of the error by which it ends one of two transactions that wait for each other."""

TESTS = Path(__file__).resolve().parent
DATA_DIR = pytest.StashKey[Path]()
DATABASE = pytest.StashKey[str]()
"""With which the names of its erasable keys begin."""

# The same examples in every run of the same code: what fails in CI fails at the desk, and no change is
# refused by a draw. `anew` draws others. No test asserts time: a busy machine must not fail a slow example.
hypothesis.settings.register_profile("suite", deadline=None, max_examples=25, derandomize=True)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=100, derandomize=True)
hypothesis.settings.register_profile("anew", deadline=None, max_examples=100)
hypothesis.settings.load_profile("suite")


def pytest_configure(config: pytest.Config) -> None:
    """Give the run an installation of its own: never the developer's settings, database or secrets.

    pytest-django would read them before any conftest, if pyproject.toml or the environment named
    them. Workers of xdist inherit the environment that is prepared here.
    """
    # Processes inherit that it is ignored from a shell that starts the tests in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
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


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None]:
    """What is collected stays: looking for garbage among it took a sixth of the collecting. And a test makes
    little: looking as often as Python does by itself took a fiftieth of all."""
    gc.disable()
    yield
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what touches a database, so that it runs on PostgreSQL, too, and what is about numbers.

    Schemathesis tells its items apart by their names, of which pytest 9.2 makes no identifier: xdist ran one
    of those whose identifiers are alike, and none of the others.
    """
    for item in items:
        if not item.nodeid.endswith(item.name):
            item._id = NodeId.parse(f"{item.nodeid.rpartition('::')[0]}::{item.name}")
        in_numbers = any(item.path.is_relative_to(TESTS / folder) for folder in WITHOUT_DATABASE)
        if in_numbers:
            item.add_marker("numbers")
        fixtures = getattr(item, "fixturenames", ())
        if item.get_closest_marker("django_db") or {"db", "transactional_db", "live_server"} & set(fixtures):
            if in_numbers:
                raise pytest.UsageError(f"{item.nodeid} touches a database: its folder is one that does not")
            item.add_marker("database")
    sharing = [name for name, count in Counter(item.nodeid for item in items).items() if count > 1]
    if sharing:
        raise pytest.UsageError(f"tests that only one process would run, as they share a name: {sharing[:5]}")


def _ask_database() -> None:
    values = connection.settings_dict
    if connection.vendor == "postgresql":
        import psycopg

        # The database itself need not exist: tests make another one.
        named = {"dbname": "postgres", "host": values["HOST"], "port": values["PORT"]}
        account = {"user": values["USER"], "password": values["PASSWORD"]}
        psycopg.connect(**named, **account, connect_timeout=5).close()


def _ask_broker() -> None:
    options = {"socket_connect_timeout": 5}
    with kombu.Connection(os.environ["CELERY_BROKER_URL"], transport_options=options) as broker:
        broker.ensure_connection(max_retries=1, timeout=5)


@pytest.fixture(autouse=True)
def _nothing_is_remembered(request: pytest.FixtureRequest) -> Iterator[None]:
    """What no transaction rolls back, or rolls back too little of."""
    from storage import group_commit

    # Whoever imports the site's application serves; no thread of ours may hold a connection after a test.
    group_commit._serving = False
    yield
    from dap.leader.views import TASKS
    from reports.views import RECIPES

    # A rolled back recipe's primary key may be the next one's.
    RECIPES.clear()
    TASKS.clear()
    cache.clear()  # counts of failed sign-ins
    # Keys of rows that were rolled back, which every upkeep would look at. A running installation may be
    # writing some.
    ours = request.config.stash.get(DATABASE, None)
    if ours is not None and not request.node.get_closest_marker("processes"):
        for file in (settings.DATA_DIR / "erasable-keys").glob(f"{ours}*"):
            file.unlink(missing_ok=True)


@pytest.fixture(scope="session", autouse=True)
def _processes_of_the_product() -> None:
    """What tests start runs with the product's own settings. Not set before: workers of xdist need ours."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "panapp.settings"


@pytest.fixture(scope="session", autouse=True)
def _nothing_waits_for_a_disk() -> Iterator[None]:
    """No test of this process outlives a power failure; what the tests start runs as in production."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(autouse=True)
def _settings_kept() -> Iterator[None]:
    """A test that leaves a setting changed fails itself, instead of another test that follows it."""
    before = dict(vars(settings._wrapped))
    yield
    assert vars(settings._wrapped) == before


@pytest.fixture(scope="session")
def store_server() -> Iterator[StoreServer]:
    """A server of S3's protocol."""
    with running_store_server() as server:
        yield server


@pytest.fixture
def report_store(settings: Any, tmp_path: Path) -> str:
    """An empty directory, in which reports of recipes lie that the test publishes: a store like any other, as
    tests/collections/storage/test_object_store.py sees, and sooner asked than a server."""
    settings.OBJECT_STORE = (tmp_path / "reports").as_uri()
    address: str = settings.OBJECT_STORE
    return address


@pytest.fixture
def s3_store(store_server: StoreServer, settings: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty bucket instead."""
    for name, value in store_server.environment.items():
        monkeypatch.setenv(name, value)
    settings.OBJECT_STORE = store_server.bucket()
    address: str = settings.OBJECT_STORE
    return address


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    request: pytest.FixtureRequest, django_db_blocker: pytest_django.DjangoDbBlocker
) -> None:
    """A file where SQLite's tests would be in memory: other processes open it too, one per xdist worker."""
    if connection.vendor == "sqlite":
        connection.settings_dict["TEST"]["NAME"] = str(settings.DATA_DIR / "test.sqlite3")
    request.getfixturevalue("django_db_modify_db_settings_parallel_suffix")
    if _shares_migrations(request.config):
        with django_db_blocker.unblock():
            _copy_migrated(Path(connection.settings_dict["TEST"]["NAME"]))


@pytest.fixture(scope="session")
def django_db_keepdb(request: pytest.FixtureRequest) -> bool:
    """Whether the database is there already."""
    return _shares_migrations(request.config)


def _shares_migrations(config: pytest.Config) -> bool:
    return connection.vendor == "sqlite" and hasattr(config, "workerinput")


def _copy_migrated(name: Path) -> None:
    """One worker of xdist applies the migrations, which takes seconds; the others copy what comes out."""
    migrated = settings.DATA_DIR / "migrated.sqlite3"
    with (settings.DATA_DIR / "migrating").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not migrated.exists():
            own, making = connection.settings_dict["NAME"], migrated.with_suffix(".making")
            connection.settings_dict["NAME"] = str(making)
            call_command("migrate", verbosity=0)
            connection.close()
            connection.settings_dict["NAME"] = own
            making.rename(migrated)
    shutil.copy(migrated, name)


@pytest.fixture(scope="session")
def django_db_setup(
    request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: pytest_django.DjangoDbBlocker
) -> None:
    """Without the budget that a new installation has: tests give one where it matters.

    A copy is another database: its keys lie beside those of the others.
    """
    from ledger.models import Population
    from storage.models import Database

    with django_db_blocker.unblock():
        Population.objects.update(epsilon=None, delta=None)
        Database.objects.update(id=uuid4())
        request.config.stash[DATABASE] = Database.objects.get().id.hex


def _guards() -> list:
    """Of every app that has any."""
    names = [f"{config.name}.guards" for config in apps.get_app_configs()]
    found = [importlib.import_module(name) for name in names if importlib.util.find_spec(name) is not None]
    return [guard for module in found for guard in getattr(module, "GUARDS", ())]


def empty_database() -> None:
    """Undo what a test with real transactions left.

    Again where PostgreSQL ends us because a running worker and we waited for each other's tables: it ends one
    of two so, and whoever was ended has changed nothing.
    """
    for left in reversed(range(ATTEMPTS_TO_EMPTY)):
        try:
            _empty_tables()
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", None) != DEADLOCK or not left:
                raise
        else:
            return


def _empty_tables() -> None:
    """The guards refuse it, so they step aside."""
    from django.contrib.auth.models import User

    from log.audit.models import Head
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
    guards = _guards()
    # At once: workers of an installation may be at work, and would find a part.
    with connection.constraint_checks_disabled(), transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"LOCK TABLE {', '.join(tables)}")
        for guard in guards:
            for statement in guard.remove_statements(connection.vendor):
                cursor.execute(statement)
        if connection.vendor == "postgresql":
            cursor.execute(f"TRUNCATE {', '.join(tables)}")
            _drop_partitions(cursor, tables)
        else:
            for table in tables:
                cursor.execute(f"DELETE FROM {table}")
        _begin_anew()
        for guard in guards:
            for statement in guard.install_statements(connection.vendor):
                cursor.execute(statement)


def _drop_partitions(cursor: Any, tables: list[str]) -> None:
    """Of owners that are gone."""
    cursor.execute(
        "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = ANY (%s::regclass[])", [tables]
    )
    if partitions := [name for (name,) in cursor.fetchall()]:
        cursor.execute(f"DROP TABLE {', '.join(partitions)}")


def _begin_anew() -> None:
    """As `django_db_setup` left it."""
    from ledger.models import Population
    from log.audit.models import Head

    Head.objects.update(index=0)
    Population.objects.create(name="everyone", description="Every device.")


@pytest.fixture(autouse=True, scope="session")
def _append_only_tables_can_be_emptied() -> Iterator[None]:
    original = TransactionTestCase._fixture_teardown
    TransactionTestCase._fixture_teardown = lambda self: empty_database()
    yield
    TransactionTestCase._fixture_teardown = original
