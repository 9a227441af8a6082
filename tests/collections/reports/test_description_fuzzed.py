"""Requests made from the published description, good and bad, against the whole stack in process.

Needs schemathesis' plugin, which takes two seconds of each process that loads it: `make test` does without
(conftest.py), and posts arbitrary bytes instead (test_report_api.py).
"""

import zlib
from collections.abc import Iterator
from typing import Any

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

from accounts.api_tokens.operations import token_create
from ledger.operations import population_create
from notifications.operations import mail_subscribe, trial_send, webhook_create
from notifications.rules import rule_create, subject_of
from pages.dashboards.operations import dashboard_create
from panapp.wsgi import application
from publishing.approvals import content_approval_ask
from recipes.models import Recipe
from series.operations import series_publish
from simulations.operations import simulation_start
from tests.collections.accounts.api_tokens.scene import BODIES
from tests.factories import draft_recipe, published_recipe, published_stream
from tests.scenes import account, analyst
from web.scopes import scopes_declared

EXAMPLES = hypothesis_settings.default.max_examples * 2 // 5
"""Requests drawn for each operation and test, besides those that schemathesis makes of every limit in its
schema: 10 in `.ci/run`, 40 in `make test-all`, and 40 others with `--hypothesis-profile anew`."""

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]

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


@api.include(path_regex="reports").parametrize()
@bounded
def test_fuzzed_reports_are_answered_as_described(case: schemathesis.Case, open_recipe: Recipe) -> None:
    case.path_parameters = {"identifier": open_recipe.identifier}
    assert_described(case)


@pytest.fixture
def restricted(settings: Any) -> dict[str, Any]:
    """A draft, an open recipe, and the token of an administrator."""
    settings.AXES_FAILURE_LIMIT = 10**6
    settings.SITE_URL = "http://localhost"
    settings.EMAIL_FROM = "site@example.org"
    started = simulation_start(
        members=BODIES["POST", "api-simulations"]["recipe"],
        workload=BODIES["POST", "api-simulations"]["workload"],
        seed=None,
        actor=None,
        public=True,
    )
    user = account("ada", is_superuser=True)
    hook, _ = webhook_create(user=user, **BODIES["POST", "api-webhooks"])
    population_create(name="apart", description="", budget=None, four_eyes=True, actor=None)
    asked = content_approval_ask(
        document={**BODIES["POST", "api-series-list"], "population": "apart"}, actor=analyst()
    )
    watched = subject_of(recipe=str(published_recipe().identifier))
    return {
        "webhook": hook.identifier,
        "dashboard": dashboard_create(title="Crashes", cards=[], actor=user).identifier,
        "rule": rule_create(user=user, subject=watched, when="below").identifier,
        "message": str(trial_send(subscription=hook).message),
        "simulation": str(started.pk),
        "series": series_publish(members=BODIES["POST", "api-series-list"], actor=None).identifier,
        "number": draft_recipe().pk,
        "identifier": published_stream(announced_intrusions=2).identifier,
        "name": "everyone",
        "username": account("passer").get_username(),
        "mail": mail_subscribe(user=user, **BODIES["POST", "api-mails"]).identifier,
        "approval": asked.pk,
        "intrusion": 1,
        "token": token_create(user=user, name="fuzzer", scopes=scopes_declared(), days=1, actor=None)[1],
    }


@pytest.mark.django_db
@api.include(needs_a_scope).parametrize()
@bounded
def test_fuzzed_operation_answers_as_described_without_and_with_a_token(
    case: schemathesis.Case, restricted: dict[str, Any]
) -> None:
    """Which scope it needs: tests/collections/accounts/api_tokens/test_scopes.py."""
    # Half of the requests meet what there is.
    if zlib.crc32(repr((case.path_parameters, case.query)).encode()) % 2:
        case.path_parameters = {name: restricted[name] for name in case.path_parameters or {}}
    assert_described(case)
    case.headers = {**(case.headers or {}), "Authorization": f"Bearer {restricted['token']}"}
    assert_described(case)
