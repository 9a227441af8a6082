"""Who may do what: every address of the API, from the registry of URLs, with every scope and every role."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.utils import timezone

from accounts.api_tokens.operations import token_create
from joint_key.leader.models import JointSum
from ledger.models import Population
from notifications.models import Delivery, Event, Subscription
from notifications.operations import mail_subscribe, webhook_create
from notifications.rules import rule_create, subject_of
from pages.dashboards.operations import dashboard_create
from publishing.approvals import draft_approval_ask
from publishing.publication import recipe_close
from recipes.models import Recipe
from results.models import HeldResult, Release
from series.operations import series_publish
from simulations.operations import simulation_start
from simulations.series_simulations import series_simulation_start
from streams.operations import intrusion_announce
from tests.collections.accounts.api_tokens.scene import (
    BODIES,
    RECIPE,
    Operation,
    operations,
    restricted,
    state,
)
from tests.factories import draft_recipe, published_recipe, published_stream
from tests.scenes import account, analyst, auditor
from web.scopes import Public, Scope, scopes_declared

pytestmark = pytest.mark.django_db

RESTRICTED = restricted()
WITHIN = {
    "recipes:write": {"recipes:write", "recipes:read"},
    "recipes:approve": {"recipes:approve", "recipes:read"},
    "webhooks:write": {"webhooks:write", "webhooks:read"},
    "mail:write": {"mail:write", "mail:read"},
    "accounts:write": {"accounts:write", "accounts:read"},
    "dashboards:write": {"dashboards:write", "dashboards:read"},
    "rules:write": {"rules:write", "rules:read"},
}
"""What a scope allows, where that is more than itself."""

OWN = {
    "webhooks:read",
    "webhooks:write",
    "mail:read",
    "mail:write",
    "dashboards:read",
    "rules:read",
    "rules:write",
}
ROLES = {
    "analyst": {
        "recipes:read",
        "recipes:write",
        "recipes:approve",
        "log:read",
        "dashboards:write",
        "verdicts:write",
        *OWN,
    },
    "auditor": {"log:read", "verdicts:write", *OWN},
    "administrator": {
        *("recipes:read", "recipes:write", "recipes:approve", "populations:write", "log:read"),
        "results:allow",
        "verdicts:write",
        "dashboards:write",
        *("accounts:read", "accounts:write", "intrusions:announce", *OWN),
    },
    "nobody": OWN,
}
"""Role → scopes that its accounts can have."""

OTHERS = sorted(set(ROLES) - {"administrator"})
DONE = {200, 201, 202, 204}

SERIES = {"api-series-stop", "api-series-mark", "api-series-input"}
SIMULATED = {"api-simulation", "api-simulation-delete"}
SIMULATED_SERIES = {"api-series-simulation", "api-series-simulation-delete"}
NEEDY = {"api-withhold", "api-held", "api-verdicts", *SERIES, *SIMULATED, *SIMULATED_SERIES}
"""Addresses that are about something else than a draft, a published recipe or an account. So are those of
intrusions and approvals."""


OWNED = {"api-simulation-delete", "api-series-simulation-delete"}
"""Done by an owner or an administrator only; what is in the scene has no owner."""


@pytest.fixture(autouse=True)
def _site(settings: Any) -> None:
    settings.SITE_URL = "http://localhost"
    settings.EMAIL_FROM = "site@example.org"


def account_of(role: str) -> User:
    if role == "administrator":
        user = account("ada", is_superuser=True)
    else:
        user = {"analyst": analyst, "auditor": auditor}.get(role, lambda: account("passerby"))()
    hook, _ = webhook_create(user=user, url="https://receiver.example/", events=["result.released"])
    now = hook.created_at
    event = Event.objects.create(key="log 1", kind="result.released", at=now, subject="", name="")
    Delivery.objects.create(
        subscription=hook,
        event=event,
        state=Delivery.State.DELIVERED,
        created_at=now,
        next_attempt_at=now,
        give_up_at=now,
    )
    dashboard_create(title="Crashes", cards=[], actor=user)
    recipe = published_recipe(cohort_size=6)
    rule_create(user=user, subject=subject_of(recipe=str(recipe.identifier)), when="below")
    mail_subscribe(user=user, address="ana@example.org", events=["result.released"])
    Subscription.objects.filter(user=user).update(confirmed_at=now)
    return user


def needs_of(operation: Operation) -> str:
    """What besides a draft, a published recipe and an account it is about, as the name of its address."""
    name = operation.name
    special = name in NEEDY or name.startswith("api-intrusion") or "approv" in name or "decline" in name
    return name if special else "nothing"


def scene(name: str) -> tuple[Recipe, Recipe]:
    """Of `needs_of`."""
    draft, recipe = draft_recipe(), published_recipe()
    account("passer")
    if name.startswith("api-intrusion"):
        recipe = published_stream(announced_intrusions=2)
    if name == "api-intrusion-state":
        intrusion_announce(identifier=str(recipe.identifier), actor=None, reason="x", now=timezone.now())
    if name in SIMULATED:
        asked = BODIES["POST", "api-simulations"]
        simulation_start(members=asked["recipe"], workload=asked["workload"], seed=None, actor=None)
    if name in SIMULATED_SERIES:
        asked = BODIES["POST", "api-series-simulations"]
        series_simulation_start(members=asked["series"], workload=asked["workload"], seed=None, actor=None)
    if name in {"api-series-stop", "api-series-mark"}:
        series_publish(members=BODIES["POST", "api-series-list"], actor=None)
    if name == "api-series-input":
        in_rounds = {"steps": 1, "step_seconds": 1, "rounds": 1, "round_seconds": 60, "public_input": True}
        series_publish(members={**RECIPE, **in_rounds}, actor=None)
    if "approv" in name or "decline" in name:
        Population.objects.update(four_eyes=True)
    if name.startswith("api-approv") or "decline" in name:
        asker = account("asker", "Analysts")
        draft_approval_ask(recipe=draft, reviewed=draft.draft_hash, actor=asker)
    if name in ("api-withhold", "api-held"):
        recipe = recipe_close(recipe=recipe, actor=None)
    now = timezone.now()
    if name == "api-verdicts":
        JointSum.objects.create(recipe=recipe, state=JointSum.State.COUNTED, send_after=now)
        Release.objects.create(recipe=recipe, outcome=Release.Outcome.RELEASED, released_at=now)
    if name == "api-held":
        HeldResult.objects.create(recipe=recipe, issued=1, expected=1.0, most=1, held_at=now)
    return draft, recipe


def token_text(user: User, *scopes: str) -> str:
    return token_create(user=user, name="test", scopes=scopes, days=1, actor=None)[1]


def token_of_old(role: str) -> str:
    """A token with every scope, made while the account was an administrator's: it is worth no more than the
    account is now."""
    user = account_of(role)
    User.objects.filter(pk=user.pk).update(is_superuser=True)
    text = token_text(User.objects.get(pk=user.pk), *scopes_declared())
    User.objects.filter(pk=user.pk).update(is_superuser=False)
    return text


def test_every_method_of_every_address_says_what_it_needs() -> None:
    found = operations()
    assert len(found) >= 25
    silent = [str(operation) for operation in found if not isinstance(operation.needed, Scope | Public)]
    assert silent == [], "say in `scopes` of the view what it needs (web.scopes)"


def test_every_write_is_restricted_but_what_devices_and_planners_send() -> None:
    public = {
        str(operation)
        for operation in operations()
        if operation.method != "GET" and isinstance(operation.needed, Public)
    }
    assert public == {
        "POST api-report",
        "POST api-report-batch",
        "POST api-items",
        "POST api-plan",
        "POST api-plan-slash",
    }


def test_every_declared_scope_is_needed_somewhere() -> None:
    needed = {operation.needed.name for operation in RESTRICTED if isinstance(operation.needed, Scope)}
    assert needed == set(scopes_declared())


def sufficient(operation: Operation) -> set[str]:
    """The scopes of which one alone lets a token do this."""
    assert isinstance(operation.needed, Scope)
    needed = operation.needed.name
    return {name for name in scopes_declared() if needed in WITHIN.get(name, {name})}


@contextmanager
def undone() -> Iterator[None]:
    """What is done within is taken back, so that one scene serves many requests."""
    around = transaction.atomic()
    around._from_testcase = True  # as the test's own: within, transactions may ask to be the outermost
    with around:
        yield
        transaction.set_rollback(True)


@contextmanager
def each(operation: Operation) -> Iterator[None]:
    """Alone, and named where it fails."""
    try:
        with undone():
            yield
    except AssertionError as error:
        error.add_note(f"in {operation}")
        raise


def signed_in(user: User) -> Client:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(user)
    browser.get("/password/")
    return browser


@pytest.fixture(params=sorted({needs_of(operation) for operation in RESTRICTED}))
def asked(request: pytest.FixtureRequest) -> tuple[Recipe, Recipe, list[Operation]]:
    """A draft and a recipe, and all that can be asked of them."""
    draft, recipe = scene(request.param)
    return draft, recipe, [operation for operation in RESTRICTED if needs_of(operation) == request.param]


def test_token_or_session_does_what_its_scope_is_for(
    client: Client, asked: tuple[Recipe, Recipe, list[Operation]]
) -> None:
    draft, recipe, restricted_ones = asked
    with undone():
        administrator = account_of("administrator")
        browser = signed_in(administrator)
        token = {"X-CSRFToken": browser.cookies["csrftoken"].value}
        for operation in restricted_ones:
            for name in sorted(sufficient(operation)):
                with each(operation):
                    bearer = f"Bearer {token_text(administrator, name)}"
                    answer = operation.ask(client, draft, recipe, Authorization=bearer)
                    assert answer.status_code in DONE, answer.content
                    assert "no-store" in answer["Cache-Control"]
            with each(operation):
                headers = {} if operation.method == "GET" else token
                answer = operation.ask(browser, draft, recipe, **headers)
                assert answer.status_code in DONE, answer.content
    for role in OTHERS:
        with undone():
            bearer = f"Bearer {token_of_old(role)}"
            for operation in restricted_ones:
                if operation.needed.name in ROLES[role]:
                    with each(operation):
                        answer = operation.ask(client, draft, recipe, Authorization=bearer)
                        allowed = {403} if operation.name in OWNED else DONE
                        assert answer.status_code in allowed, answer.content


def test_nothing_changes_without_the_scope_and_the_right(
    client: Client, asked: tuple[Recipe, Recipe, list[Operation]]
) -> None:
    """All other scopes at once: more scopes allow more, so none of them would do alone either."""
    draft, recipe, restricted_ones = asked
    before = state()
    for operation in restricted_ones:
        with each(operation):
            answer = operation.ask(client, draft, recipe)
            assert answer.status_code == 401
            assert answer["WWW-Authenticate"].startswith("Bearer")
            assert answer.json()["type"] == "/problems/not-authenticated"
            assert state() == before
    with undone():
        administrator = account_of("administrator")
        browser = signed_in(administrator)
        for operation in restricted_ones:
            with each(operation):
                text = token_text(administrator, *(set(scopes_declared()) - sufficient(operation)))
                before = state()
                answer = operation.ask(client, draft, recipe, Authorization=f"Bearer {text}")
                assert answer.status_code == 403
                assert answer.json()["type"] == "/problems/insufficient-scope"
                assert answer.json()["scope"] == operation.needed.name
                assert state() == before
                if operation.method != "GET":
                    assert operation.ask(browser, draft, recipe).status_code == 403
                    assert state() == before
    for role in OTHERS:
        with undone():
            bearer = f"Bearer {token_of_old(role)}"
            before = state()
            for operation in restricted_ones:
                if operation.needed.name not in ROLES[role]:
                    with each(operation):
                        answer = operation.ask(client, draft, recipe, Authorization=bearer)
                        assert answer.status_code == 403
                        assert answer.json()["type"] == "/problems/forbidden"
                        assert state() == before


@pytest.mark.parametrize("role", ROLES)
def test_an_account_can_be_given_a_token_for_what_it_may_do_itself_only(role: str) -> None:
    user, given = account_of(role), set()
    for name in scopes_declared():
        try:
            token_text(user, name)
        except ValueError as error:
            assert "is more than" in str(error)  # noqa: PT017  # either outcome is right for some role
        else:
            given.add(name)
    assert given == ROLES[role]
