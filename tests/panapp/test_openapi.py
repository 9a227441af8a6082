import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
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

from panprivacy.accounting.trust import Trust
from panprivacy.encryption import SCHEMES
from panprivacy.statistics.events import MECHANISMS
from panprivacy.statistics.randomized import RANDOMIZERS
from reports.parsing import ARRIVAL_REASONS
from tests.collections.accounts.api_tokens.scene import operations
from tests.scenes import finish, open_recipe, simulated_recipe

COMMITTED: Path = settings.BASE_DIR / "docs" / "openapi.yaml"


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


def schemas_below(schema: dict[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """A schema and all inside it, each with the name that generators give to what has none of its own."""
    yield name, schema
    for member, inner in schema.get("properties", {}).items():
        yield from schemas_below(inner, f"{name}_{member}")
    for member in ("items", "additionalProperties"):
        # {} and false are no schemas of something: they allow every further member, and none.
        if isinstance(inner := schema.get(member), dict) and inner:
            yield from schemas_below(
                inner, f"{name}_{'item' if member == 'items' else 'additional_property'}"
            )
    for member in ("allOf", "anyOf", "oneOf"):
        for number, inner in enumerate(schema.get(member, [])):
            yield from schemas_below(inner, f"{name}_type_{number}")


def described_schemas() -> list[tuple[str, dict[str, Any]]]:
    """All of the description, named as `schemas_below` does."""
    roots = list(committed()["components"]["schemas"].items())
    for methods in committed()["paths"].values():
        for operation in methods.values():
            name = operation["operationId"]
            roots += [(f"{name}_{one['name']}", one["schema"]) for one in operation.get("parameters", [])]
            bodies = {"body": operation.get("requestBody", {})}
            bodies |= {f"response_{status}": answer for status, answer in operation["responses"].items()}
            for place, body in bodies.items():
                content = body.get("content", {}).values()
                roots += [(f"{name}_{place}", media["schema"]) for media in content if "schema" in media]
    return [found for name, root in roots for found in schemas_below(root, name)]


def test_every_schema_of_the_description_says_its_type() -> None:
    described = described_schemas()
    assert len(described) > 500
    kinds = {"type", "$ref", "allOf", "anyOf", "oneOf"}
    assert [name for name, schema in described if not kinds & set(schema)] == []


def test_no_two_names_that_generators_make_collide() -> None:
    """Generators write them in their own fashion, and a disk may ignore case."""
    components = list(committed()["components"]["schemas"])
    inline = {
        name
        for name, schema in described_schemas()
        if name not in components and (schema.get("type") == "object" or "enum" in schema)
    }
    assert "Simulation_result" in inline
    operations = [
        f"{operation['operationId']}_request"  # that of an operation's parameters, in TypeScript
        for methods in committed()["paths"].values()
        for operation in methods.values()
    ]
    counts = Counter(name.replace("_", "").lower() for name in [*components, *inline, *operations])
    assert [name for name, count in counts.items() if count > 1] == []


def test_no_schema_has_a_field_of_its_own_name() -> None:
    """Generated code has variables of both names in one function."""
    schemas = committed()["components"]["schemas"].items()
    named = [(name, field) for name, schema in schemas for field in schema.get("properties", {})]
    assert [(name, field) for name, field in named if name.lower() == field.replace("_", "")] == []


def undeclared(value: Any, schema: dict[str, Any]) -> Iterator[str]:
    """Members that a program would drop which was made from the description."""
    if "$ref" in schema:
        schema = committed()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for part in schema.get("allOf", []):
        yield from undeclared(value, part)
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in schema.get("properties", {}):
                yield from undeclared(inner, schema["properties"][name])
            elif "additionalProperties" not in schema and "allOf" not in schema:
                yield name
    if isinstance(value, list):
        for inner in value:
            yield from undeclared(inner, schema["items"])


def test_every_example_fits_its_schema_which_describes_its_members() -> None:
    description = committed()
    pairs = examples(description["paths"])
    assert len(pairs) >= 11
    for schema, example in pairs:
        jsonschema_rs.validate({**schema, "components": description["components"]}, example)
        assert list(undeclared(example, schema)) == []


@pytest.mark.parametrize("component", ["RecipeFile", "SeriesFile", "Problem"])
def test_members_beside_the_described_ones_are_kept(component: str) -> None:
    schema = {"$ref": f"#/components/schemas/{component}"}
    assert list(undeclared({"steps": 7, "epsilon": 1.0, "scope": "recipes:read"}, schema)) == []


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


def test_the_protocol_explains_every_reason_of_the_description() -> None:
    protocol = (settings.BASE_DIR / "docs" / "protocol.md").read_text()
    assert [reason for reason in ARRIVAL_REASONS if f"| `{reason}` |" not in protocol] == []


@pytest.mark.django_db
def test_results_are_as_described_released_withheld_and_simulated(client: Client) -> None:
    few = finish(open_recipe([1]))
    released = finish(open_recipe([0, 1, 2, 0, 3], segments=["2.0", "2.1"], name="Segments"))
    for recipe in (few, released, simulated_recipe({0: 3, 1: 4}, name="Simulation")):
        answer = client.get(reverse("api-result", args=[recipe.identifier]))
        result = json.loads(b"".join(answer.streaming_content))
        described = {"$ref": "#/components/schemas/Result", "components": committed()["components"]}
        jsonschema_rs.validate(described, result)
        assert ("cause" in result, "estimate" in result) == (recipe is few, recipe is not few)


@pytest.mark.django_db
def test_addresses_serve_the_media_types_of_their_description(client: Client) -> None:
    """Generated clients ask for all that an operation may answer, and for nothing else."""
    asked = 0
    for path, methods in committed()["paths"].items():
        answers = methods.get("get", {}).get("responses", {})
        types = [media for answer in answers.values() for media in answer.get("content", {})]
        if types and "application/json" not in types:
            address = path.replace("{identifier}", "0" * 64).replace("{intrusion}", "1")
            answer = client.get(address, headers={"Accept": ",".join(types)})
            assert answer.status_code in (200, 401, 404), path
            asked += 1
    assert asked == 8


def test_documentation_page_is_ours_alone(client: Client) -> None:
    page = client.get(reverse("api-docs")).content.decode()
    assert "https://" not in page
    assert "<script>" not in page
    assert "<style" not in page
