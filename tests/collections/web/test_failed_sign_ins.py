"""A wrong code that races a right one: axes adds to a count in two steps, and the right one deletes it."""

from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache.backends.locmem import LocMemCache
from django.test import Client

pytestmark = pytest.mark.django_db

PASSWORD = "a long one that nobody guesses"


def tried(password: str) -> Any:
    return Client().post("/sign-in/", {"username": "mary", "password": password})


@pytest.fixture
def races(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """At the next `incr`, the count is gone: another process has deleted it."""
    waiting: list[str] = []
    incr = LocMemCache.incr

    def raced(counts: LocMemCache, key: str, *arguments: Any, **options: Any) -> int:
        if waiting:
            waiting.pop()
            counts.delete(key)
        return int(incr(counts, key, *arguments, **options))

    monkeypatch.setattr(LocMemCache, "incr", raced)
    return waiting


def test_wrong_password_that_races_a_right_one_begins_the_count_anew(races: list[str]) -> None:
    User.objects.create_user("mary", password=PASSWORD)
    for _ in range(settings.AXES_FAILURE_LIMIT - 1):
        assert tried("wrong").status_code == 200
    races.append("once")
    assert tried("wrong").status_code == 200
    # Counted from 1 since the right one: that many more are read, and the last of them locks.
    codes = [tried("wrong").status_code for _ in range(settings.AXES_FAILURE_LIMIT - 1)]
    assert codes == [200] * (settings.AXES_FAILURE_LIMIT - 2) + [429]
    assert tried(PASSWORD).status_code == 429


def test_count_that_is_deleted_at_every_step_is_no_error(races: list[str]) -> None:
    User.objects.create_user("mary", password=PASSWORD)
    assert tried("wrong").status_code == 200
    races += ["always"] * 100
    assert tried("wrong").status_code == 200
    races.clear()
    assert tried(PASSWORD).status_code == 302


def test_right_password_takes_back_all_failures_before_it() -> None:
    User.objects.create_user("mary", password=PASSWORD)
    for _ in range(3):
        for _ in range(settings.AXES_FAILURE_LIMIT - 1):
            assert tried("wrong").status_code == 200
        assert tried(PASSWORD).status_code == 302
