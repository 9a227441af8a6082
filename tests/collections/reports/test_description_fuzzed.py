"""Requests made from the published description, good and bad, against the whole stack in process.

Needs schemathesis' plugin, which takes two seconds of each process that loads it: `make test` does without
(conftest.py), and posts arbitrary bytes instead (test_hostile_bodies.py).
"""

from collections.abc import Iterator
from typing import Any

import msgpack
import pytest
import schemathesis
import yaml
from django.conf import settings
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase
from hypothesis import settings as hypothesis_settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.transport.serialization import Binary

from panapp.wsgi import application
from recipes.models import Recipe
from tests.factories import published_recipe

EXAMPLES = hypothesis_settings.default.max_examples * 2 // 5
"""Requests drawn for each operation and test, beside those that schemathesis makes of every limit in its
schema: 10 in `.ci/run`, 40 in `make test-all`, and 40 others with `--hypothesis-profile anew`."""

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]

bounded = hypothesis_settings(
    max_examples=EXAMPLES,
    phases=[Phase.explicit, Phase.generate],
    # A function-scoped database is meant: every request of a test meets the same recipe.
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
    ],
)

FEW = EXAMPLES // 5
"""Of these, of what is refused before it is looked at."""

few = hypothesis_settings(bounded, max_examples=FEW, phases=[Phase.generate])


@schemathesis.serializer("application/msgpack")
def pack(ctx: schemathesis.SerializationContext, value: object) -> bytes:
    """What the description calls binary goes out as bytes; what MessagePack cannot hold, as text."""
    return msgpack.packb(_binary_as_bytes(value), default=str)


def _binary_as_bytes(value: object) -> object:
    if isinstance(value, Binary):
        return value.data
    if isinstance(value, dict):
        return {key: _binary_as_bytes(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_binary_as_bytes(member) for member in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return str(value)
    return value


def described_api() -> schemathesis.BaseSchema:
    description = yaml.safe_load((settings.BASE_DIR / "docs" / "openapi.yaml").read_text())
    schema = schemathesis.openapi.from_dict(description)
    schema.app = application
    return schema


pytestmark = pytest.mark.long

api = described_api()


@pytest.fixture(autouse=True)
def _connection_outlives_a_request() -> Iterator[None]:
    # As Django's own test client does: the test's transaction is the connection's.
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def open_recipe(db: None) -> Recipe:
    return published_recipe()


def assert_described(case: schemathesis.Case) -> None:
    response = case.call(base_url="http://localhost")
    case.validate_response(response, checks=CHECKS)
    if response.status_code >= 400:
        assert response.headers["content-type"] == ["application/problem+json"]
        assert response.json()["status"] == response.status_code


def needs_a_scope(context: Any) -> bool:
    return "x-scope" in context.operation.definition.raw


@pytest.mark.django_db
@api.exclude(needs_a_scope).parametrize()
@bounded
def test_any_operation_fuzzed_from_the_schema_answers_as_described(case: schemathesis.Case) -> None:
    assert_described(case)


# Refused before anything of the request is looked at, so that few show it; with a token:
# test_scopes_fuzzed.py.
@pytest.mark.django_db
@api.include(needs_a_scope).parametrize()
@few
def test_any_operation_that_needs_a_token_refuses_without_one_as_described(case: schemathesis.Case) -> None:
    assert_described(case)


@api.include(path_regex="reports").parametrize()
@bounded
def test_reports_fuzzed_for_an_open_recipe_answer_as_described(
    case: schemathesis.Case, open_recipe: Recipe
) -> None:
    case.path_parameters = {"identifier": open_recipe.identifier}
    assert_described(case)
