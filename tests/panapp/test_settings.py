"""Production fails closed: every role and process has what it needs, and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from panapp.process_kinds import KEYS, KINDS
from tests.panapp.environments import PLACES, REQUIRED_BY_ROLE, ROOT, VALUES, complete, load, refusal


@pytest.mark.parametrize(
    "role",
    [
        # `make check` loads those of every role in a process of its own, too.
        pytest.param(role, marks=[pytest.mark.long] * (role not in {"all-in-one", "helper"}))
        for role in sorted(REQUIRED_BY_ROLE)
    ],
)
def test_settings_of_every_role_load_closed_in_a_process_of_their_own(role: str) -> None:
    shown = "s.DEBUG, s.SECURE_SSL_REDIRECT, s.SESSION_COOKIE_SECURE, s.ALLOWED_HOSTS"
    script = f"from django.conf import settings as s; print({shown})"
    loaded = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**complete(role), "DJANGO_SETTINGS_MODULE": "panapp.settings"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert loaded.stdout == "False True True ['telemetry.example']\n", loaded.stderr


def test_production_with_generated_secrets_loads_and_is_closed(production: dict[str, str]) -> None:
    # Debugging cannot be switched on there, whatever the environment says.
    loaded = load({**production, "PANAPP_DEBUG": "1"})
    assert (loaded.DEBUG, loaded.SECURE_SSL_REDIRECT, loaded.SESSION_COOKIE_SECURE) == (False, True, True)
    assert loaded.ALLOWED_HOSTS == ["telemetry.example"]


@pytest.mark.parametrize(
    ("role", "missing"), [(role, name) for role, names in REQUIRED_BY_ROLE.items() for name in sorted(names)]
)
def test_production_without_a_required_variable_stops_and_names_it(role: str, missing: str) -> None:
    environment = complete(role)
    del environment[missing]
    assert f"{missing} must be set" in refusal(environment)


@pytest.mark.parametrize(
    ("role", "foreign"),
    [
        ("all-in-one", "PANAPP_HELPER_URL"),
        ("all-in-one", "PANAPP_LEADER_KEY"),
        ("leader", "PANAPP_LEADER_KEY"),
        ("helper", "PANAPP_LEADER_URL"),
        ("helper", "PANAPP_HELPER_KEY"),
        ("helper", "PANAPP_SHUFFLER_URL"),
        ("leader", "PANAPP_ANALYZER_KEY"),
        ("shuffler", "PANAPP_LEADER_KEY"),
        ("leader", "PANAPP_RELAY_GATEWAYS"),
        ("leader", "PANAPP_SITE_KEY"),
        ("shuffler", "PANAPP_ATTESTER_URL"),
        ("attester", "PANAPP_ANALYZER_KEY"),
    ],
)
def test_a_variable_of_another_role_stops_and_names_both(role: str, foreign: str) -> None:
    message = refusal({**complete(role), foreign: VALUES[foreign]})
    assert f"{foreign} belongs to PANAPP_ROLE=" in message
    assert message.endswith(f"PANAPP_ROLE is {role}")


@pytest.mark.parametrize("other", ["SHUFFLER", "ISSUER"])
@pytest.mark.parametrize("role", ["all-in-one", "leader"])
def test_a_site_may_have_another_server_and_must_then_name_its_address_and_its_key(
    role: str, other: str
) -> None:
    names = (f"PANAPP_{other}_URL", f"PANAPP_{other}_KEY")
    both = {**complete(role), **{name: VALUES[name] for name in names}}
    assert VALUES[names[0]] == getattr(load(both), f"{other}_URL")
    for missing in names:
        one = {name: value for name, value in both.items() if name != missing}
        assert f"{missing} must be set where" in refusal(one)


def test_production_refuses_that_every_fresh_key_is_a_device() -> None:
    attester = complete("attester")
    assert load(attester).ATTESTATION == "roster"
    assert "trial" in refusal({**attester, "PANAPP_ATTESTATION": "trial"})
    assert load({**PLACES, "PANAPP_ATTESTATION": "trial"}).ATTESTATION == "trial"


def environment_of(kind: str, without: tuple[str, ...] = ()) -> dict[str, str]:
    """A complete environment of one process, with no key that it does not need."""
    needless = {*KEYS, "PANAPP_METRICS_TOKEN", *without} - set(KINDS[kind].keys)
    environment = {name: value for name, value in complete("leader").items() if name not in needless}
    return {**environment, "PANAPP_PROCESS": kind}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_process_starts_with_its_own_keys_and_refuses_every_other(kind: str) -> None:
    loaded = load(environment_of(kind))
    given = {"PANAPP_SECRET_KEY": loaded.SECRET_KEY, "PANAPP_SIGNING_KEY": loaded.SIGNING_KEY}
    given["PANAPP_KEY_ENCRYPTION_KEY"] = loaded.KEY_ENCRYPTION_KEY
    assert {name for name, value in given.items() if value} == set(KINDS[kind].keys)
    for name in set(KEYS) - set(KINDS[kind].keys):
        message = refusal({**environment_of(kind), name: complete("leader")[name]})
        assert message.startswith(f"PANAPP_PROCESS={kind} has no use for {name}")
    for name in KINDS[kind].keys:
        message = refusal({variable: v for variable, v in environment_of(kind).items() if variable != name})
        assert message.startswith(f"{name} must be set")


def test_process_without_broker_needs_no_address_of_it() -> None:
    assert load(environment_of("migrate", without=("CELERY_BROKER_URL",))).DATABASES["default"]["NAME"]
    assert refusal(environment_of("worker", without=("DATABASE_URL",))).startswith("DATABASE_URL")
    assert refusal(environment_of("beat", without=("CELERY_BROKER_URL",))).startswith("CELERY_BROKER_URL")


def test_threads_of_a_web_process_take_turns_at_its_connections_and_a_worker_has_one() -> None:
    database = load({**environment_of("web"), "PANAPP_DATABASE_CONNECTIONS": "7"}).DATABASES["default"]
    assert database["OPTIONS"]["pool"]["max_size"] == 7
    assert database["CONN_MAX_AGE"] == 0
    assert "pool" not in load(environment_of("worker")).DATABASES["default"].get("OPTIONS", {})


EXAMPLE = Path(__file__).resolve().parents[2] / "examples"
FILES = [str(EXAMPLE / "recipe.json"), "--events", str(EXAMPLE / "events.csv")]


@pytest.mark.parametrize("command", [["demo", "--no-serve"], ["collect", *FILES]])
def test_simulating_commands_are_refused_in_production_before_anything(
    command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without a database: a command that looked at it first would fail otherwise.
    monkeypatch.setattr(settings, "LOCAL", False)
    with pytest.raises(CommandError, match="where PANAPP_MODE is local only"):
        call_command(*command)
