"""Counts by address: whose they are, and what the cache shows of them."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache

from web import request_counts

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MIDNIGHT = datetime(2027, 1, 1, tzinfo=UTC)


def asked(*addresses: str, what: str = "tries", now: datetime = NOON) -> list[int]:
    return [request_counts.times_asked(what, address, seconds=60, now=now) for address in addresses]


def hourly(start: datetime, minutes: float) -> int:
    return request_counts.times_asked("tries", "a", seconds=3_600, now=start + timedelta(minutes=minutes))


def test_each_asker_is_counted_alone_and_for_each_thing() -> None:
    assert asked("192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.1") == [1, 2, 1, 3]
    assert asked("192.0.2.1", what="tokens") == [1]


def test_network_of_ipv6_is_counted_as_one_and_a_mapped_address_as_itself() -> None:
    assert asked("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", "2001:db8:0:2::1") == [1, 2, 1]
    assert asked("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2", "None", "None") == [1, 2, 1, 1, 2]


def test_cache_shows_no_address_without_the_secret_of_the_day(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    keys: list[str] = []
    add = cache.add

    def noted(key: str, *arguments: Any) -> bool:
        keys.append(key)
        return bool(add(key, *arguments))

    monkeypatch.setattr(request_counts.cache, "add", noted)
    asked("192.0.2.1", "192.0.2.1")
    same, again = keys
    assert same == again
    assert "192.0.2.1" not in same
    assert hashlib.sha256(b"192.0.2.1").hexdigest() not in same
    settings.SECRET_KEY = "another" * 10
    asked("192.0.2.1")
    asked("192.0.2.1", now=NOON + timedelta(days=1))
    assert len(set(keys)) == 3


@pytest.mark.parametrize(
    ("start", "minutes"),
    [(datetime(2028, 2, 29, 23, 59, 30, tzinfo=UTC), (0, 0.25, 1, 50)), (MIDNIGHT, (0, 1 / 60, 59.9, 60.1))],
)
def test_hour_counts_on_over_midnight(start: datetime, minutes: Sequence[float]) -> None:
    """Keys are of the day; the hour is not."""
    times = [hourly(start, passed) for passed in minutes]
    assert times == [1, 2, 3, 4]


def test_day_has_a_count_of_its_own_after_the_hour() -> None:
    late = MIDNIGHT - timedelta(seconds=30)
    hourly(late, 0)
    # The cache drops the count when its hour is over. Then the day's own key is counted.
    cache.clear()
    assert (hourly(late, 59), hourly(late, 62)) == (1, 2)


def test_count_that_the_cache_drops_in_between_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    asked("192.0.2.1")
    monkeypatch.setattr(request_counts.cache, "add", lambda *_: cache.clear())
    assert asked("192.0.2.1") == [1]
