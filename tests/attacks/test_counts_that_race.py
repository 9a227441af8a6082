"""What is counted and then made, by many at once: no more are made than may be.

Simulations: tests/collections/simulations/test_simulations.py.
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from accounts.api_tokens import operations as tokens
from accounts.api_tokens.models import ApiToken
from log.audit import operations as log
from log.audit.actions import SIGN_IN_FAILED
from log.audit.models import Entry
from notifications import operations as notifications
from notifications.models import Subscription
from publishing import approvals
from recipes.models import Approval
from tests.factories import recipe_members
from tests.scenes import account, analyst

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE = 6
MOMENT = 0.5
"""Seconds for which the first who has counted waits for the others: where one at a time counts, in vain."""


def together(make: Callable[[], object], refusals: tuple[type[Exception], ...] = ()) -> None:
    """Have many do the same at once; some may be refused."""

    def one(_: int) -> None:
        try:
            with suppress(*refusals):
                make()
        finally:
            connection.close()

    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(one, range(AT_ONCE)))


@pytest.fixture
def meeting(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], None]:
    """Have all who come to a function, after they have counted, wait there for each other."""
    counted = threading.Barrier(AT_ONCE)

    def meet(owner: Any, name: str) -> None:
        function = getattr(owner, name)

        def late(*arguments: Any, **named: Any) -> Any:
            with suppress(threading.BrokenBarrierError):
                counted.wait(MOMENT)
            return function(*arguments, **named)

        monkeypatch.setattr(owner, name, late)

    return meet


def test_bounded_entries_of_the_log_are_no_more_than_their_bound(meeting: Callable[[Any, str], None]) -> None:
    meeting(log, "entry_append")
    asked = {"action": SIGN_IN_FAILED, "subject": "x", "actor": None, "details": {}}
    together(lambda: log.entry_append_bounded(**asked, most=2, within=timedelta(hours=1)))
    assert Entry.objects.filter(action=SIGN_IN_FAILED.name).count() == 2


def test_approval_asked_for_twice_at_once_is_one(meeting: Callable[[Any, str], None], settings: Any) -> None:
    settings.FOUR_EYES = True
    ana, document = analyst(), recipe_members()
    meeting(Approval.objects, "create")
    together(lambda: approvals.content_approval_ask(document=document, actor=ana))
    assert Approval.objects.count() == 1


def test_tokens_are_bounded(meeting: Callable[[Any, str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MOST_TOKENS", 2)
    ana = analyst()
    meeting(ApiToken.objects, "create")
    asked = {"name": "x", "scopes": ["recipes:read"], "days": 1}
    together(lambda: tokens.token_create(user=ana, **asked, actor=ana), (tokens.FieldError,))
    assert ApiToken.objects.count() == 2


def test_webhooks_of_an_account_are_no_more_than_may_be(
    meeting: Callable[[Any, str], None], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SITE_URL = "https://site.example"
    monkeypatch.setattr(notifications, "MOST_WEBHOOKS", 2)
    monkeypatch.setattr(notifications, "target_check", lambda url: url)
    ana = account("ana")
    meeting(Subscription.objects, "create")
    asked = {"url": "https://receiver.example/", "events": ["result.released"]}
    refusal = (notifications.NotificationStateError,)
    together(lambda: notifications.webhook_create(user=ana, **asked), refusal)
    assert Subscription.objects.count() == 2
