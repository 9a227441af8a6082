"""docs/operations.md tells every variable and every metric."""

import re

import pytest

from panapp.generate_secrets import READ_BY_COMPOSE
from tests.panapp.environments import REQUIRED_BY_ROLE, ROOT

OPERATIONS = (ROOT / "docs" / "operations.md").read_text()

READS = (
    re.compile(r'environment\.\w+\(\s*"([A-Z_]+)"'),
    re.compile(r'os\.environ(?:\.get\(|\[)\s*"([A-Z_]+)"'),
    re.compile(r'"([A-Z_]+)" (?:not )?in os\.environ'),
)


def read_by_code() -> set[str]:
    """Names of the variables that panapp looks up."""
    sources = [file.read_text() for file in (ROOT / "panapp").rglob("*.py")]
    return {name for source in sources for pattern in READS for name in pattern.findall(source)}


def documented() -> set[str]:
    return set(re.findall(r"^\| `([A-Z][A-Z_]+)` \|", OPERATIONS, re.MULTILINE))


def test_every_variable_that_code_reads_is_documented_and_the_reverse() -> None:
    read_elsewhere = {*READ_BY_COMPOSE, "PANAPP_TEST_SERVICES", "PROMETHEUS_MULTIPROC_DIR"}
    keys_table = {
        "PANAPP_SIGNING_KEY",
        "PANAPP_KEY_ENCRYPTION_KEY",
        "PANAPP_SECRET_KEY",
        "PANAPP_METRICS_TOKEN",
    }
    code = read_by_code()
    assert len(code) > 20
    assert keys_table <= code
    assert documented() - read_elsewhere == code - read_elsewhere


@pytest.mark.parametrize("role", sorted(REQUIRED_BY_ROLE))
def test_documented_as_required_are_those_without_which_production_stops(role: str) -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| yes(?:: ([a-z, -]+))? \|", OPERATIONS, re.MULTILINE)
    assert {name for name, roles in rows if not roles or role in roles.split(", ")} == REQUIRED_BY_ROLE[role]


def test_documented_metrics_are_those_that_are_served() -> None:
    sources = [file.read_text() for file in (ROOT / "panapp").glob("*_metrics.py")]
    served = {name for source in sources for name in re.findall(r'"(panapp_\w+)"', source)}
    assert served
    assert set(re.findall(r"^\| `(panapp_\w+)` \|", OPERATIONS, re.MULTILINE)) == served
