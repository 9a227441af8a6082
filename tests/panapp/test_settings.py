"""Production fails closed, and docs/operations.md tells every variable."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from panapp.generate_secrets import lines

ROOT: Path = settings.BASE_DIR
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()

REQUIRED = {
    "PANAPP_SECRET_KEY",
    "PANAPP_SIGNING_KEY",
    "PANAPP_KEY_ENCRYPTION_KEY",
    "PANAPP_ALLOWED_HOSTS",
    "DATABASE_URL",
    "CELERY_BROKER_URL",
}


@pytest.fixture
def production() -> dict[str, str]:
    """A complete environment: nothing is inherited but where programs lie."""
    return {
        "PATH": os.environ["PATH"],
        "PANAPP_MODE": "production",
        "PANAPP_ALLOWED_HOSTS": "telemetry.example",
        "DATABASE_URL": "postgres://panapp@database/panapp",
        "CELERY_BROKER_URL": "redis://broker:6379/0",
        **dict(line.split("=", 1) for line in lines()),
    }


def load(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    script = (
        "from django.conf import settings as s; "
        "print(s.DEBUG, s.SECURE_SSL_REDIRECT, s.SESSION_COOKIE_SECURE, s.ALLOWED_HOSTS)"
    )
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**environment, "DJANGO_SETTINGS_MODULE": "panapp.settings"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_production_with_generated_secrets_loads_and_is_closed(production: dict[str, str]) -> None:
    # Debugging cannot be switched on there, whatever the environment says.
    loaded = load({**production, "PANAPP_DEBUG": "1"})
    assert loaded.stdout == "False True True ['telemetry.example']\n", loaded.stderr


@pytest.mark.parametrize("missing", sorted(REQUIRED))
def test_production_without_a_required_variable_stops_and_names_it(
    production: dict[str, str], missing: str
) -> None:
    del production[missing]
    loaded = load(production)
    assert loaded.returncode != 0
    assert f"{missing} must be set" in loaded.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PANAPP_MODE", "Production"),
        ("PANAPP_HTTPS", "yes"),
        ("PANAPP_SIGNING_KEY", "c2hvcnQ="),
        ("PANAPP_KEY_ENCRYPTION_KEY", "not base64"),
        ("PANAPP_METRICS_TOKEN", "short"),
        ("PANAPP_SECRET_KEY", "x" * 49),
        ("PANAPP_CHUNK_REPORTS", "0"),
        ("PANAPP_ADVANCE_SECONDS", "2.5"),
    ],
)
def test_a_value_that_is_not_understood_stops_and_names_its_variable(
    production: dict[str, str], name: str, value: str
) -> None:
    loaded = load({**production, name: value})
    assert loaded.returncode != 0
    assert name in loaded.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "name", ["PANAPP_CHUNK_REPORTS", "PANAPP_HTTPS", "PANAPP_METRICS_TOKEN", "PANAPP_DATA_DIR"]
)
def test_an_empty_value_is_as_good_as_none(production: dict[str, str], name: str) -> None:
    loaded = load({**production, name: ""})
    assert loaded.returncode == 0, loaded.stderr


@pytest.mark.parametrize("command", [["demo", "--no-serve"], ["collect", "no.json", "--events", "no.csv"]])
def test_simulating_commands_are_refused_in_production_before_anything(
    command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without a database: a command that looked at it first would fail otherwise.
    monkeypatch.setattr(settings, "LOCAL", False)
    with pytest.raises(CommandError, match="where PANAPP_MODE is local only"):
        call_command(*command)


def test_generated_secrets_are_fresh_each_time() -> None:
    first, second = (dict(line.split("=", 1) for line in lines()) for _ in range(2))
    assert first.keys() == second.keys()
    assert not set(first.values()) & set(second.values())


def test_generate_secrets_runs_where_production_settings_are_incomplete() -> None:
    environment = {"PATH": os.environ["PATH"], "PANAPP_MODE": "production"}
    made = subprocess.run(
        [sys.executable, "-m", "panapp.generate_secrets"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line.split("=")[0] for line in made.stdout.splitlines()] == [
        line.split("=")[0] for line in lines()
    ]


READS = (
    re.compile(r'environment\.\w+\(\s*"([A-Z_]+)"'),
    re.compile(r'environ(?:\.get\(|\[)\s*"([A-Z_]+)"'),
    re.compile(r'"([A-Z_]+)" (?:not )?in os\.environ'),
)


def read_by_code() -> set[str]:
    """Names of the variables that panapp looks up."""
    sources = [file.read_text() for file in (ROOT / "panapp").rglob("*.py")]
    return {name for source in sources for pattern in READS for name in pattern.findall(source)}


def documented() -> set[str]:
    return set(re.findall(r"^\| `([A-Z][A-Z_]+)` \|", OPERATIONS, re.MULTILINE))


def test_every_variable_that_code_reads_is_documented_and_the_reverse() -> None:
    read_elsewhere = {"POSTGRES_PASSWORD", "PANAPP_TEST_SERVICES", "PROMETHEUS_MULTIPROC_DIR"}
    keys_table = {
        "PANAPP_SIGNING_KEY",
        "PANAPP_KEY_ENCRYPTION_KEY",
        "PANAPP_SECRET_KEY",
        "PANAPP_METRICS_TOKEN",
    }
    code = read_by_code()
    assert len(code) > 15
    assert keys_table <= code
    assert documented() - read_elsewhere == code - read_elsewhere


def test_documented_as_required_are_those_without_which_production_stops() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| yes \|", OPERATIONS, re.MULTILINE)
    assert set(rows) == REQUIRED


def test_documented_metrics_are_those_that_are_served() -> None:
    source = (ROOT / "panapp" / "metrics.py").read_text()
    served = set(re.findall(r'"(panapp_\w+)"', source))
    assert served
    assert set(re.findall(r"^\| `(panapp_\w+)` \|", OPERATIONS, re.MULTILINE)) == served
