"""Sign-ins without an account must not take the connections of a web process while they hash.

Nothing that takes seconds and asks the database nothing may hold a connection: hashing, asking a partner,
making a key, computing what a recipe guarantees.
"""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth import hashers
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse

from accounts.hashing import AT_ONCE, MOST_WAITING
from accounts.operations import account_create, password_change
from accounts.sign_in import MOST_OF_ONE
from ledger import composition
from ledger.budget import Budget
from log.audit.sessions import sessions_end
from panprivacy.recipe.draft import RecipeDraft
from publishing import keys
from recipes.planner import guarantees
from simulations.installation.services import wait_until
from tests.factories import as_json, published_recipe, recipe_members, report_of_count
from tests.hashers import FewRounds
from tests.patience import PATIENCE
from tests.scenes import PASSWORD, account
from tokens.issuer import registrations as issuer_registering
from web import transport

pytestmark = pytest.mark.django_db(transaction=True)

SIGN_INS = 24
MOST_AT_ONCE = AT_ONCE + MOST_WAITING


class Hashing:
    """Passwords whose hashing goes on until it is let go."""

    def __init__(self) -> None:
        self.begun = self.asked = 0
        self.may_end = threading.Event()
        self._lock = threading.Lock()

    def ask(self) -> None:
        with self._lock:
            self.asked += 1

    def hash(self) -> None:
        with self._lock:
            self.begun += 1
        self.may_end.wait(PATIENCE)


def guessed(address: str = "198.51.100.1", name: str = "nobody") -> Any:
    """The answer to a sign-in with a wrong password."""
    try:
        visitor = Client(raise_request_exception=False, REMOTE_ADDR=address)
        return visitor.post("/sign-in/", {"username": name, "password": "guess"})
    finally:
        connection.close()


@contextmanager
def signing_in(
    monkeypatch: pytest.MonkeyPatch, number: int, addresses: list[str] | None = None
) -> Iterator[tuple[Hashing, list[Any]]]:
    """So many sign-ins at once without an account, each of which has come to its hashing.

    Args:
        addresses: from which they come; by default each from another.
    """
    came_from = addresses or [f"192.0.2.{name}" for name in range(number)]
    hashing, encode, pbkdf2 = Hashing(), FewRounds.encode, hashers.pbkdf2

    def slow(*arguments: Any, **options: Any) -> bytes:
        hashing.hash()
        return pbkdf2(*arguments, **options)

    def asked(self: FewRounds, *arguments: Any) -> str:
        hashing.ask()
        return encode(self, *arguments)

    monkeypatch.setattr(hashers, "pbkdf2", slow)
    monkeypatch.setattr(FewRounds, "encode", asked)

    with ThreadPoolExecutor(number) as threads:
        answers = [threads.submit(guessed, came_from[name], f"nobody{name}") for name in range(number)]
        try:
            assert wait_until(lambda: hashing.asked >= min(number, MOST_AT_ONCE), PATIENCE)
            yield hashing, answers
        finally:
            hashing.may_end.set()


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no connections to run out of")
def test_uploads_api_and_pages_answer_while_many_sign_ins_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = published_recipe()
    report = json.dumps(as_json(report_of_count(recipe, 1)))
    connection.close()
    pool = connection.pool
    assert pool is not None
    assert pool.max_size < SIGN_INS
    monkeypatch.setattr(pool, "timeout", 1.0)  # what is refused is refused soon
    with signing_in(monkeypatch, SIGN_INS):
        visitor = Client(raise_request_exception=False)
        upload = reverse("api-report", args=[recipe.identifier])
        stored = visitor.post(upload, report, content_type="application/json")
        assert stored.status_code == 201
        shown = [visitor.get(each).status_code for each in ("/", f"/api/v1/recipes/{recipe.identifier}/")]
        assert shown == [200, 200]


def test_sign_in_that_is_one_too_many_gets_503(monkeypatch: pytest.MonkeyPatch) -> None:
    with signing_in(monkeypatch, MOST_AT_ONCE) as (hashing, answers):
        assert wait_until(lambda: hashing.begun == AT_ONCE, PATIENCE)
        refused = guessed()
        assert (refused.status_code, refused["Retry-After"]) == (503, "5")
        assert "The site is busy" in refused.content.decode()
        assert hashing.begun == AT_ONCE
    assert {answer.result().status_code for answer in answers} == {200}


def test_address_that_sends_many_passwords_leaves_places_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    with signing_in(monkeypatch, MOST_OF_ONE, ["192.0.2.1"] * MOST_OF_ONE) as (hashing, answers):
        refused = guessed("192.0.2.1")
        assert (refused.status_code, refused["Retry-After"]) == (503, "5")
        with ThreadPoolExecutor(1) as thread:
            other = thread.submit(guessed, "192.0.2.2")
            assert wait_until(lambda: hashing.asked > MOST_OF_ONE, PATIENCE)
            hashing.may_end.set()
            assert other.result().status_code == 200
    assert {answer.result().status_code for answer in answers} == {200}


NEW = "a long one that nobody guesses"


def draft(**changes: Any) -> RecipeDraft:
    return RecipeDraft.from_mapping(recipe_members(**changes))


def _add_partner_request(_: User) -> None:
    with pytest.raises(OSError, match="no answer"):
        transport.https_transport("GET", "http://127.0.0.1:9/", {}, b"")


def _make_token_key(_: User) -> None:
    with pytest.raises(AttributeError):
        issuer_registering.token_key_make(request=bytes(16), now=None)


def _compose(_: User) -> None:
    event = draft().calibrated_statistic().aggregator_event().as_dict()
    composition.budget_use([event], Budget(epsilon=3.0, delta=1e-5))


SLOW: dict[str, tuple[Callable[[User], object], Any, str]] = {
    "signing in": (lambda _: guessed(name="ana"), hashers, "pbkdf2"),
    "changing a password": (lambda ana: password_change(user=ana, password=NEW), hashers, "pbkdf2"),
    "ending all sessions": (lambda ana: sessions_end(user=ana, password=PASSWORD), hashers, "pbkdf2"),
    "making an account": (
        lambda _: account_create(username="bob", password=NEW, groups=[]),
        hashers,
        "pbkdf2",
    ),
    "asking another server": (_add_partner_request, transport, "_connected"),
    "making a key": (lambda _: keys.recipe_key_make(draft(), None), keys, "generate_private_key"),
    "making a key for tokens": (_make_token_key, issuer_registering.RecipeKeys, "generate"),
    "computing guarantees": (
        lambda _: guarantees.guaranteed(asked=draft(epsilon=0.123)),
        RecipeDraft,
        "prepare",
    ),
    "composing": (_compose, composition, "PrivacyFilter"),
}
"""What is done, and the slow part of it."""


@pytest.mark.parametrize("name", SLOW)
def test_what_is_slow_holds_no_connection(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    do, owner, part = SLOW[name]
    held: list[object] = []
    slow = getattr(owner, part)

    def noted(*arguments: Any, **options: Any) -> Any:
        held.append(connection.connection)
        if owner is transport:
            raise OSError("no answer")
        return None if owner is keys or part == "generate" else slow(*arguments, **options)

    user = account("ana")
    monkeypatch.setattr(owner, part, noted)
    connection.ensure_connection()
    do(user)
    assert held
    assert set(held) == {None}
