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
from accounts.signing_in import MOST_OF_ONE
from audit.sessions import sessions_end
from issuer import registering as issuer_registering
from ledger import composed
from ledger.budget import Budget
from panapp.services import wait_until
from panprivacy.recipe_draft import RecipeDraft
from peers import transport
from planner import guarantees
from tests.factories import as_json, published_recipe, recipe_members, report_of_count
from tests.hashers import FewRounds
from tests.patience import PATIENCE
from tests.scenes import PASSWORD, account
from trust_models import keys

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

    def sign_in(name: int) -> int:
        try:
            given = {"username": f"nobody{name}", "password": "guess"}
            visitor = Client(raise_request_exception=False, REMOTE_ADDR=came_from[name])
            return visitor.post("/sign-in/", given).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(number) as threads:
        answers = [threads.submit(sign_in, name) for name in range(number)]
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


def test_sign_in_that_is_one_too_many_is_told_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with signing_in(monkeypatch, MOST_AT_ONCE) as (hashing, answers):
        assert wait_until(lambda: hashing.begun == AT_ONCE, PATIENCE)
        given = {"username": "nobody", "password": "guess"}
        refused = Client().post("/sign-in/", given)
        assert (refused.status_code, refused["Retry-After"]) == (503, "5")
        assert "The site is busy" in refused.content.decode()
        assert hashing.begun == AT_ONCE
    assert {answer.result() for answer in answers} == {200}


def test_address_that_sends_many_passwords_leaves_places_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    with signing_in(monkeypatch, MOST_OF_ONE, ["192.0.2.1"] * MOST_OF_ONE) as (hashing, answers):
        given = {"username": "nobody", "password": "guess"}
        refused = Client(REMOTE_ADDR="192.0.2.1").post("/sign-in/", given)
        assert (refused.status_code, refused["Retry-After"]) == (503, "5")
        with ThreadPoolExecutor(1) as thread:
            other = thread.submit(_signed_in_from, "192.0.2.2")
            assert wait_until(lambda: hashing.asked > MOST_OF_ONE, PATIENCE)
            hashing.may_end.set()
            assert other.result() == 200
    assert {answer.result() for answer in answers} == {200}


def _signed_in_from(address: str) -> int:
    try:
        given = {"username": "nobody", "password": "guess"}
        return Client(REMOTE_ADDR=address).post("/sign-in/", given).status_code
    finally:
        connection.close()


def _change(owner: User) -> None:
    password_change(user=owner, password="another one entirely")


def _end_sessions(owner: User) -> None:
    sessions_end(user=owner, password=PASSWORD)


def _create(_: User) -> None:
    account_create(username="bob", password="a long one that nobody guesses", groups=[])


def _sign_in(_: User) -> None:
    Client().post("/sign-in/", {"username": "ana", "password": "guess"})


def _add_partner_request(_: User) -> None:
    with pytest.raises(OSError, match="no answer"):
        transport.https_transport("GET", "http://127.0.0.1:9/", {}, b"")


def _make_key(_: User) -> None:
    keys.recipe_key_make(RecipeDraft.from_mapping(recipe_members()), None)


def _make_token_key(_: User) -> None:
    with pytest.raises(AttributeError):
        issuer_registering.token_key_make(request=bytes(16), now=None)


def _guarantee(_: User) -> None:
    guarantees.guarantees_state(asked=RecipeDraft.from_mapping(recipe_members(epsilon=0.123)))


def _compose(_: User) -> None:
    event = RecipeDraft.from_mapping(recipe_members()).calibrated_statistic().aggregator_event().as_dict()
    composed.budget_use([event], Budget(epsilon=3.0, delta=1e-5))


SLOW: dict[str, tuple[Callable[[User], None], Any, str]] = {
    "signing in": (_sign_in, hashers, "pbkdf2"),
    "changing a password": (_change, hashers, "pbkdf2"),
    "ending all sessions": (_end_sessions, hashers, "pbkdf2"),
    "making an account": (_create, hashers, "pbkdf2"),
    "asking another server": (_add_partner_request, transport, "_connected"),
    "making a key": (_make_key, keys, "generate_private_key"),
    "making a key for tokens": (_make_token_key, issuer_registering.RecipeKeys, "generate"),
    "computing guarantees": (_guarantee, RecipeDraft, "prepare"),
    "composing": (_compose, composed, "PrivacyFilter"),
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
