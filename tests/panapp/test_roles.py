"""Roles: each installs, answers to and keeps only what it is for."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from django.apps import AppConfig
from django.conf import settings
from django.core.management import find_commands
from django.test import Client

from panapp.roles import ROLES, role_named
from tests.panapp.environments import OTHER_KEY, PLACES

ROOT: Path = settings.BASE_DIR
HELPER = {"PANAPP_HELPER_URL": "http://127.0.0.1:1/helper", "PANAPP_LEADER_KEY": OTHER_KEY}
LEADER = {
    "PANAPP_LEADER_URL": "http://127.0.0.1:1/leader",
    "PANAPP_HELPER_URL": "http://127.0.0.1:2/helper",
    "PANAPP_HELPER_KEY": OTHER_KEY,
}
SHUFFLER = {"PANAPP_SHUFFLER_URL": "http://127.0.0.1:1/shuffler", "PANAPP_ANALYZER_KEY": OTHER_KEY}
SITE = {
    *("admin", "auth", "axes", "contenttypes", "sessions"),
    *(
        "aggregation",
        "admission",
        "analyzer",
        "api_tokens",
        "second_factor",
        "audit",
        "public_log",
        "dap",
        "gateway",
        "leader",
        "ledger",
        "recipes",
        "releases",
        "reports",
        "series",
        "notifications",
        "simulations",
        "storage",
        "streams",
    ),
}
RELAY = {"PANAPP_RELAY_GATEWAYS": "site=http://127.0.0.1:1"}
ISSUER = {
    "PANAPP_ISSUER_URL": "http://127.0.0.1:1/issuer",
    "PANAPP_SITE_KEY": OTHER_KEY,
    "PANAPP_ATTESTER_URL": "http://127.0.0.1:2/attester",
    "PANAPP_ATTESTER_KEY": OTHER_KEY,
}
ATTESTER = {
    "PANAPP_ATTESTER_URL": "http://127.0.0.1:1/attester",
    "PANAPP_ISSUER_URL": "http://127.0.0.1:2/issuer",
    "PANAPP_ISSUER_KEY": OTHER_KEY,
}
LOCAL = {
    "all-in-one": {},
    "leader": LEADER,
    "helper": HELPER,
    "shuffler": SHUFFLER,
    "issuer": ISSUER,
    "relay": RELAY,
    "attester": ATTESTER,
}


def manage(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**PLACES, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def local(role: str, directory: Path) -> dict[str, str]:
    return {"PANAPP_ROLE": role, "PANAPP_DATA_DIR": str(directory), **LOCAL[role]}


PARTNER = {"audit", "public_log", "storage"}
"""What a server of its own organization has, whatever its part."""


APPS = {
    "helper": {*PARTNER, "dap", "gateway", "helper"},
    "shuffler": {*PARTNER, "gateway", "shuffler"},
    "issuer": {*PARTNER, "gateway", "issuer"},
    "relay": PARTNER,
    "attester": {*PARTNER, "attester"},
}
"""Of each partner, those with tables. test_installation_with_tokens.py looks into the databases of all."""


@pytest.mark.long
def test_migrate_makes_the_tables_of_its_role_alone_in_a_database_of_its_own(tmp_path: Path) -> None:
    migrated = manage(local("helper", tmp_path), "migrate", "--verbosity", "0")
    assert migrated.returncode == 0, migrated.stderr
    assert migrated_apps(tmp_path / "panapp.sqlite3") == APPS["helper"]


def migrated_apps(file: Path) -> set[str]:
    """Those of which a SQLite database has tables."""
    with closing(sqlite3.connect(file)) as database:
        return {app for (app,) in database.execute("SELECT app FROM django_migrations")}


@pytest.mark.parametrize("role", ROLES)
def test_a_role_has_the_tables_that_it_is_for(role: str) -> None:
    configs = [AppConfig.create(app) for app in ROLES[role].apps]
    labels = {config.label for config in configs if find_spec(f"{config.name}.migrations")}
    # It has migrations, and they are none.
    assert labels - {"django_prometheus"} == APPS.get(role, SITE)


def test_every_server_lies_apart_from_the_others_on_the_same_machine_unless_told_otherwise() -> None:
    folders = {role: ROLES[role].data_folder for role in ROLES}
    assert folders.pop("all-in-one") == folders["leader"]
    assert len(set(folders.values())) == len(folders)


def test_helper_has_no_command_that_is_not_its_own() -> None:
    apps = [AppConfig.create(app) for app in ROLES["helper"].apps]
    assert_helpers({name for app in apps for name in find_commands(f"{app.path}/management")})


@pytest.mark.long
def test_helper_lists_no_command_that_is_not_its_own(tmp_path: Path) -> None:
    assert_helpers(set(manage(local("helper", tmp_path), "help", "--commands").stdout.split()))


def assert_helpers(commands: set[str]) -> None:
    assert "helper_upkeep" in commands
    assert not {"collect", "demo", "recipe", "createsuperuser"} & commands


@pytest.mark.long
def test_helper_refuses_an_environment_without_its_leader_even_locally(tmp_path: Path) -> None:
    refused = manage({"PANAPP_ROLE": "helper", "PANAPP_DATA_DIR": str(tmp_path)}, "check")
    assert "PANAPP_HELPER_URL must be set when PANAPP_ROLE is helper" in refused.stderr


@pytest.mark.parametrize(
    "command", [*(pytest.param(name, marks=pytest.mark.long) for name in ("check", "nonsense")), "task"]
)
def test_every_command_under_wrong_settings_says_what_is_wrong_in_one_line(
    tmp_path: Path, command: str
) -> None:
    refused = manage({"PANAPP_DATA_DIR": str(tmp_path), **LEADER}, command)
    assert refused.returncode == 1
    assert (
        refused.stderr == "PANAPP_LEADER_URL belongs to PANAPP_ROLE=leader, but PANAPP_ROLE is all-in-one\n"
    )


@pytest.mark.long
def test_command_under_wrong_settings_shows_a_traceback_to_whoever_asks_for_it(tmp_path: Path) -> None:
    refused = manage({"PANAPP_DATA_DIR": str(tmp_path), **LEADER}, "check", "--traceback")
    assert "Traceback" in refused.stderr


def test_no_role_but_the_helper_answers_to_addresses_of_the_helper(client: Client) -> None:
    assert ROLES["leader"].urlconf == ROLES["all-in-one"].urlconf == settings.ROOT_URLCONF
    assert client.get("/helper/hpke_config").status_code == 404


def answer_as(name: str, settings: Any) -> Any:
    """Have this process answer as one of that role would."""
    role = role_named(name)
    settings.ROLE, settings.ROOT_URLCONF, settings.MIDDLEWARE = role, role.urlconf, list(role.middleware)
    settings.CSRF_FAILURE_VIEW = f"{role.errors}.csrf_failure"
    return settings


@pytest.fixture
def helper_settings(settings: Any) -> Any:
    """This process, answering as a helper would."""
    return answer_as("helper", settings)


@pytest.fixture
def shuffler_settings(settings: Any) -> Any:
    """This process, answering as a shuffler would."""
    return answer_as("shuffler", settings)


@pytest.mark.usefixtures("shuffler_settings")
@pytest.mark.parametrize(
    "address", ["/sign-in/", "/admin/", "/api/v1/recipes/", "/helper/keys", "/leader/hpke_config"]
)
def test_shuffler_answers_to_no_address_of_anybody_else(client: Client, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 404
    assert answer.json() == {"title": "Not Found", "status": 404}


@pytest.mark.django_db
@pytest.mark.usefixtures("shuffler_settings")
def test_shuffler_is_ready_without_a_broker_and_serves_its_own_metrics(client: Client) -> None:
    answer = client.get("/health/ready")
    checks = dict.fromkeys(("database", "migrations", "keys", "writes", "clock", "log"), "ok")
    assert answer.json() == {"status": "ok", "checks": checks}
    page = client.get("/metrics").content.decode()
    assert 'panapp_batches{state="full"} 0.0' in page
    assert "panapp_tasks_running" not in page


@pytest.mark.django_db
def test_issuer_is_ready_serves_its_own_metrics_and_nobody_elses_addresses(
    client: Client, settings: Any
) -> None:
    answer_as("issuer", settings)
    checks = dict.fromkeys(("database", "migrations", "keys", "writes", "clock", "log"), "ok")
    assert client.get("/health/ready").json() == {"status": "ok", "checks": checks}
    page = client.get("/metrics").content.decode()
    assert "panapp_issuances 0.0" in page
    assert "panapp_recipes_open" not in page
    for address in ("/sign-in/", "/admin/", "/api/v1/recipes/", "/helper/keys", "/leader/hpke_config"):
        assert client.get(address).status_code == 404


@pytest.mark.django_db
def test_attester_is_ready_without_a_broker_and_answers_to_no_address_of_anybody_else(
    client: Client, settings: Any
) -> None:
    answer_as("attester", settings)
    checks = dict.fromkeys(("database", "migrations", "writes", "clock", "log"), "ok")
    assert client.get("/health/ready").json() == {"status": "ok", "checks": checks}
    for address in ("/sign-in/", "/api/v1/recipes/", "/issuer/tokens", "/.well-known/ohttp-gateway"):
        assert client.get(address).status_code == 404
    page = client.get("/metrics").content.decode()
    assert "panapp_attester_tokens 0.0" in page
    assert "panapp_tasks_running" not in page


@pytest.mark.usefixtures("helper_settings")
@pytest.mark.parametrize(
    "address", ["/sign-in/", "/admin/", "/api/v1/recipes/", "/audit/", "/leader/hpke_config"]
)
def test_helper_answers_to_no_address_of_the_leader(client: Client, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 404
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json() == {"title": "Not Found", "status": 404}


@pytest.mark.django_db
@pytest.mark.usefixtures("helper_settings")
def test_helper_is_ready_without_a_broker(client: Client) -> None:
    answer = client.get("/health/ready")
    checks = dict.fromkeys(("database", "migrations", "keys", "writes", "clock", "log"), "ok")
    assert answer.json() == {"status": "ok", "checks": checks}


@pytest.mark.django_db
@pytest.mark.usefixtures("helper_settings")
def test_helper_serves_its_metrics_and_no_others(client: Client) -> None:
    page = client.get("/metrics").content.decode()
    assert "panapp_tasks_running 0.0" in page
    assert "panapp_recipes_open" not in page
