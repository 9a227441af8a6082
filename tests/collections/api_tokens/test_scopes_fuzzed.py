"""Requests made from the published description, with tokens: no 500, and no way around a scope.

As tests/collections/reports/test_description_fuzzed.py, which asks the same without a token.
"""

import zlib
from collections.abc import Iterable
from typing import Any

import pytest
import schemathesis
from django.conf import settings

from api_tokens.operations import token_create
from ledger.operations import population_create
from notifications.operations import mail_subscribe, trial_send, webhook_create
from recipes.approvals import content_approval_ask
from series.operations import series_publish
from simulations.operations import simulation_start
from tests.collections.api_tokens.requests import BODIES, state
from tests.collections.reports.test_description_fuzzed import FEW, assert_described, bounded, described_api
from tests.collections.reports.test_description_fuzzed import (
    _connection_outlives_a_request as connection_outlives_a_request,
)
from tests.factories import draft_recipe, published_stream
from tests.scenes import account, analyst
from web.scopes import scopes_declared

pytestmark = [pytest.mark.long, pytest.mark.django_db]

RESTRICTED = [
    "/api/v1/accounts/",
    "/api/v1/accounts/{username}/",
    "/api/v1/approvals/",
    "/api/v1/approvals/{approval}/",
    "/api/v1/approvals/{approval}/approve/",
    "/api/v1/approvals/{approval}/decline/",
    "/api/v1/log/",
    "/api/v1/mail-subscriptions/",
    "/api/v1/mail-subscriptions/{mail}/",
    "/api/v1/mail-subscriptions/{mail}/deliveries/",
    "/api/v1/mail-subscriptions/{mail}/test/",
    "/api/v1/populations/",
    "/api/v1/populations/{name}/",
    "/api/v1/recipes/",
    "/api/v1/recipes/drafts/",
    "/api/v1/recipes/drafts/{number}/",
    "/api/v1/recipes/drafts/{number}/review/",
    "/api/v1/recipes/review/",
    "/api/v1/recipes/{number}/publish/",
    "/api/v1/recipes/{identifier}/close/",
    "/api/v1/recipes/{identifier}/intrusions/",
    "/api/v1/recipes/{identifier}/intrusions/{intrusion}/state/",
    "/api/v1/recipes/{identifier}/withhold/",
    "/api/v1/series/",
    "/api/v1/series/{series}/input/",
    "/api/v1/series/{series}/mark/",
    "/api/v1/series/{series}/stop/",
    "/api/v1/simulations/",
    "/api/v1/simulations/{simulation}/",
    "/api/v1/webhooks/",
    "/api/v1/webhooks/{webhook}/",
    "/api/v1/webhooks/{webhook}/deliveries/",
    "/api/v1/webhooks/{webhook}/deliveries/{message}/again/",
    "/api/v1/webhooks/{webhook}/rotate/",
    "/api/v1/webhooks/{webhook}/test/",
]
api = described_api().include(path=RESTRICTED)

__all__ = ["connection_outlives_a_request"]


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A draft, an open recipe, and the token of an administrator."""
    monkeypatch.setattr(settings, "AXES_FAILURE_LIMIT", 10**6)
    monkeypatch.setattr(settings, "SITE_URL", "http://localhost")
    monkeypatch.setattr(settings, "EMAIL_FROM", "site@example.org")
    started = simulation_start(
        members=BODIES["POST", "api-simulations"]["recipe"],
        workload=BODIES["POST", "api-simulations"]["workload"],
        seed=None,
        actor=None,
    )
    user = account("ada", is_superuser=True)
    hook, _ = webhook_create(user=user, **BODIES["POST", "api-webhooks"])
    population_create(name="apart", description="", budget=None, four_eyes=True, actor=None)
    asked = content_approval_ask(
        document={**BODIES["POST", "api-series-list"], "population": "apart"}, actor=analyst()
    )
    return {
        "webhook": hook.identifier,
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
        "user": user,
        "tokens": {},
        "asked": 0,
    }


def ask(case: schemathesis.Case, scene: dict[str, Any], token: str) -> None:
    # Half of the requests meet what there is.
    if zlib.crc32(repr((case.path_parameters, case.query)).encode()) % 2:
        case.path_parameters = {name: scene[name] for name in case.path_parameters or {}}
    case.headers = {**(case.headers or {}), "Authorization": f"Bearer {token}"}
    assert_described(case)


def token(scene: dict[str, Any], scopes: Iterable[str]) -> str:
    """Of the administrator, with these; made once."""
    scopes = tuple(scopes)
    if scopes not in scene["tokens"]:
        made = token_create(user=scene["user"], name="fuzzer", scopes=scopes, days=1, actor=None)
        scene["tokens"][scopes] = made[1]
    text: str = scene["tokens"][scopes]
    return text


@api.parametrize()
@bounded
def test_any_operation_fuzzed_answers_as_described_and_without_its_scope_neither_shows_nor_changes_anything(
    case: schemathesis.Case, scene: dict[str, Any]
) -> None:
    needed = case.operation.definition.raw.get("x-scope")
    if needed is not None and scene["asked"] < FEW:
        scopes = scopes_declared().items()
        others = token(scene, (name for name, scope in scopes if needed not in {name, *scope.includes}))
        before = state()
        ask(case, scene, others)
        assert state() == before
    scene["asked"] += 1
    ask(case, scene, token(scene, scopes_declared()))
