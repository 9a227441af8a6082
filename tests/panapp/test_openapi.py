import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from panprivacy.encryption import SCHEMES
from panprivacy.mechanisms import MECHANISMS
from panprivacy.randomizers import RANDOMIZERS
from panprivacy.trust import Trust
from reports.parsing import ARRIVAL_REASONS
from tests.collections.api_tokens.requests import operations

COMMITTED: Path = settings.BASE_DIR / "docs" / "openapi.yaml"
PROTOCOL = (settings.BASE_DIR / "docs" / "protocol.md").read_text()


NOT_DESCRIBED = {"api-plan-slash", "schema", "api-docs"}
"""The second address of a plan, and what shows the description itself."""


@cache
def committed() -> Any:
    """Parsed once: it takes a quarter of a second."""
    return yaml.safe_load(COMMITTED.read_text())


def test_committed_description_is_what_the_code_describes(tmp_path: Path) -> None:
    generated = tmp_path / "openapi.yaml"
    call_command("spectacular", file=str(generated), validate=True, fail_on_warn=True)
    assert generated.read_text() == COMMITTED.read_text(), "run `make openapi`"


def test_description_is_served_as_committed(client: Client) -> None:
    served = client.get(reverse("schema"), headers={"Accept": "application/yaml"})
    assert served.content.decode() == COMMITTED.read_text()


def test_every_api_path_is_described() -> None:
    described = set(committed()["paths"])
    routes = {operation.route for operation in operations() if operation.name not in NOT_DESCRIBED}
    assert described == {"/" + re.sub(r"<\w+:(\w+)>", r"{\1}", route) for route in routes}


def examples(node: Any) -> list[tuple[dict[str, Any], Any]]:
    """Every (schema, example) beside each other in the description."""
    if isinstance(node, dict):
        found = [(node["schema"], shown["value"]) for shown in node.get("examples", {}).values()]
        return found + [pair for member in node.values() for pair in examples(member)]
    return [pair for member in node for pair in examples(member)] if isinstance(node, list) else []


def test_every_example_fits_its_schema() -> None:
    description = committed()
    pairs = examples(description["paths"])
    assert len(pairs) >= 11
    for schema, example in pairs:
        jsonschema_rs.validate({**schema, "components": description["components"]}, example)


@pytest.mark.parametrize(
    ("component", "registry"),
    [
        ("StatisticEnum", [*MECHANISMS, *RANDOMIZERS]),
        ("EncryptionEnum", SCHEMES),
        ("TrustEnum", [trust.value for trust in Trust]),
        ("ReasonEnum", ARRIVAL_REASONS),
    ],
)
def test_list_in_the_description_is_its_registry(component: str, registry: Iterable[str]) -> None:
    schemas = committed()["components"]["schemas"]
    assert set(schemas[component]["enum"]) == set(registry)


@pytest.mark.parametrize("reason", ARRIVAL_REASONS)
def test_every_reason_of_the_description_is_explained_in_the_protocol(reason: str) -> None:
    assert f"| `{reason}` |" in PROTOCOL


def test_documentation_page_is_ours_alone(client: Client) -> None:
    page = client.get(reverse("api-docs")).content.decode()
    assert "https://" not in page
    assert "<script>" not in page
    assert "<style" not in page
