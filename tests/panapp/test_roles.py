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
from tests.panapp.scene import OTHER_KEY, PLACES

ROOT: Path = settings.BASE_DIR
SITE = {
    *("admin", "auth", "axes", "contenttypes", "sessions"),
    *(
        "aggregation",
        "admission",
        "analyzer",
        "answers",
        "api_tokens",
        "second_factor",
        "oidc",
        "audit",
        "public_log",
        "dap",
    ),
    *("gateway", "joint_leader", "leader", "ledger", "recipes", "releases", "reports", "series"),
    "notifications",
    *("simulations", "storage", "streams", "dashboards", "overview"),
}


LEADER = {
    "PANAPP_LEADER_URL": "http://127.0.0.1:1/leader",
    "PANAPP_HELPER_URL": "http://127.0.0.1:2/helper",
    "PANAPP_HELPER_KEY": OTHER_KEY,
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


PARTNER = {"audit", "public_log", "storage"}
"""What a server of its own organization has, whatever its part."""


APPS = {
    "helper": {*PARTNER, "dap", "gateway", "helper", "joint_helper"},
    "shuffler": {*PARTNER, "gateway", "shuffler"},
    "issuer": {*PARTNER, "gateway", "issuer"},
    "relay": PARTNER,
    "attester": {*PARTNER, "attester"},
}
"""Of each partner, those with tables. test_installation_with_tokens.py looks into the databases of all."""


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
    sharing = {other for other in ROLES if ROLES[other].data_folder == ROLES[role].data_folder}
    assert sharing == ({"all-in-one", "leader"} if role in ("all-in-one", "leader") else {role})


def test_helper_has_no_command_that_is_not_its_own() -> None:
    apps = [AppConfig.create(app) for app in ROLES["helper"].apps]
    commands = {name for app in apps for name in find_commands(f"{app.path}/management")}
    assert "helper_upkeep" in commands
    assert not {"collect", "demo", "recipe", "createsuperuser"} & commands


def test_a_command_under_wrong_settings_says_what_is_wrong_in_one_line(tmp_path: Path) -> None:
    environment = {"PANAPP_DATA_DIR": str(tmp_path), **LEADER}
    said = "PANAPP_LEADER_URL belongs to PANAPP_ROLE=leader, but PANAPP_ROLE is all-in-one\n"
    for command in ("task", "nonsense"):
        refused = manage(environment, command)
        assert (refused.returncode, refused.stderr) == (1, said)
    assert "Traceback" in manage(environment, "check", "--traceback").stderr


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
    return answer_as("helper", settings)


@pytest.fixture
def shuffler_settings(settings: Any) -> Any:
    return answer_as("shuffler", settings)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("role", "metric", "foreign", "addresses"),
    [
        ("helper", "panapp_tasks_running 0.0", "panapp_recipes_open", ["/audit/", "/leader/hpke_config"]),
        (
            "shuffler",
            'panapp_batches{state="full"} 0.0',
            "panapp_tasks_running",
            ["/helper/keys", "/leader/hpke_config"],
        ),
        ("issuer", "panapp_issuances 0.0", "panapp_recipes_open", ["/helper/keys", "/leader/hpke_config"]),
        (
            "attester",
            "panapp_attester_tokens 0.0",
            "panapp_tasks_running",
            ["/issuer/tokens", "/.well-known/ohttp-gateway"],
        ),
    ],
)
def test_partner_is_ready_without_a_broker_and_serves_its_own_role_alone(
    client: Client, settings: Any, role: str, metric: str, foreign: str, addresses: list[str]
) -> None:
    answer_as(role, settings)
    checks = dict.fromkeys(("database", "migrations", "keys", "writes", "clock", "log"), "ok")
    if role == "attester":
        del checks["keys"]
    assert client.get("/health/ready").json() == {"status": "ok", "checks": checks}
    page = client.get("/metrics").content.decode()
    assert metric in page
    assert foreign not in page
    for address in ("/sign-in/", "/admin/", "/api/v1/recipes/", *addresses):
        answer = client.get(address)
        assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")
        assert answer.json() == {"title": "Not Found", "status": 404}
