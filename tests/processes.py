"""Real processes on the test database: a web server, a broker and workers, and where asked for a helper."""

import os
import signal
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db import connection

from devices_sim.fleet_attributes import FleetAttributes
from devices_sim.workloads.bucket import Workload
from simulations.collect import collection, stream_collection
from simulations.collect.collection import CollectionResult, collection_run
from simulations.installation import services
from simulations.installation.partners import log_policy_text
from simulations.installation.services import Services, running_services
from tests.patience import PATIENCE

PATIENT = (
    (services, "START_SECONDS"),
    (collection, "PARTNER_SECONDS"),
    (collection, "SHORT_PARTNER_SECONDS"),
    (collection, "TROUBLE_SECONDS"),
    (stream_collection, "RELEASE_SECONDS"),
)
"""For how long the product waits, where it gives up sooner than a test should."""


def database_url() -> str:
    """The test database as an address that another process can open."""
    values = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{quote(values['NAME'])}"
    password = f":{values['PASSWORD']}" if values["PASSWORD"] else ""
    return f"postgres://{values['USER']}{password}@{values['HOST']}:{values['PORT']}/{values['NAME']}"


@contextmanager
def services_on_test_database(**options: Any) -> Iterator[Services]:
    """Running services that share this process's database and secrets.

    With `partners={"helper": tmp_path}` they are the leader of a helper whose database and secrets lie
    there. Short waits, so that a task lost with its worker comes back within a test's patience; and patience
    with what a busy machine starts or tells late.
    """
    environment = {
        "DATABASE_URL": database_url(),
        "PANAPP_DATA_DIR": str(settings.DATA_DIR),
        "PANAPP_CHUNK_STALE_SECONDS": "2",
        **options.pop("environment", {}),
    }
    with pytest.MonkeyPatch.context() as patched:
        for module, name in PATIENT:
            patched.setattr(module, name, PATIENCE)
        with running_services(environment=environment, **options) as started:
            yield started


@contextmanager
def services_of_a_module(**options: Any) -> Iterator[Services]:
    """The same for several tests, each of which empties the database. Nothing that the services write after
    that, as they look for work every second, stays for others: a log of theirs has their key."""
    from tests.conftest import empty_database

    try:
        with services_on_test_database(**options) as services:
            yield services
    finally:
        empty_database()


def without_witnesses(folder: Path) -> dict[str, str]:
    """For services that outlive a test: partners remember the log that the test database forgets with it."""
    file = folder / "log-policy"
    file.write_text(log_policy_text(()))
    return {"PANAPP_LOG_POLICY": str(file)}


def kill_helper(services: Services) -> None:
    """End the helper as a power failure would; the services start it again within a second."""
    os.killpg(services.pid("helper"), signal.SIGKILL)


def helper_rows(helper_data: Path, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
    """What the helper's own database answers; the test's process has no other way to it."""
    with closing(sqlite3.connect(helper_data / "panapp.sqlite3")) as database:
        return database.execute(statement, parameters).fetchall()


def collect(
    services: Services,
    members: Mapping[str, object],
    workload: Workload[Any],
    *,
    attributes: FleetAttributes | None = None,
    processes: int = 1,
    say: Callable[[str], None] = lambda _: None,
) -> CollectionResult:
    """A whole collection on services that run, as `collect` and `demo` make one; seed 7."""
    return collection_run(
        members=members,
        workload=workload,
        services=services,
        seed=7,
        attributes=attributes,
        eager=False,
        processes=processes,
        say=say,
    )
