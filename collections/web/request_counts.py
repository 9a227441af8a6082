"""How often a client sent requests, counted in the cache without an address that could be read there."""

import ipaddress
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.core.cache import cache
from django.utils.crypto import salted_hmac

NETWORK_BITS = 64
"""IPv6 clients are counted per /64, because a client usually controls all of it."""

ATTEMPTS = 3
"""Most attempts to add to a count that expires in each attempt."""


def times_asked(what: str, asker: str, *, seconds: int, now: datetime) -> int:
    """Count once more, and return how often `asker` asked for `what` in the `seconds` since the first time.

    A cache that has dropped the count begins anew.

    Args:
        what: the name of what is counted, part of the key.
        asker: an address of IPv4 or IPv6, or any text.
        seconds: a day at most.
    """
    begun, today = (_key(what, asker, day) for day in (_day(now - timedelta(seconds=seconds)), _day(now)))
    if begun != today:
        try:
            # A count that began yesterday continues under yesterday's key.
            return cache.incr(begun)
        except ValueError:
            pass
    return count_on(cache, today, seconds=seconds)


def count_on(counts: Any, key: str, *, seconds: float, by: int = 1) -> int:
    """Add to a count in a cache, and return it. A count that is missing begins at 0, and ends after
    `seconds`; so does one that another process deletes meanwhile.

    Args:
        counts: a cache of Django.
    """
    for _ in range(ATTEMPTS):
        counts.add(key, 0, seconds)
        try:
            return int(counts.incr(key, by))
        except ValueError:  # deleted in between
            continue
    return by


def _key(what: str, asker: str, day: date) -> str:
    """Hashed with the site's secret and the day: all addresses of IPv4 can be tried in minutes, so a reader
    of the cache could otherwise find them, and follow one from day to day."""
    hashed = salted_hmac(f"{what} {day.isoformat()}", counted_as(asker), algorithm="sha256").hexdigest()
    return f"{what}-{hashed}"


def _day(at: datetime) -> date:
    return at.astimezone(UTC).date()


def counted_as(asker: str) -> str:
    """The network of an IPv6 address, the address of IPv4, or unchanged if it is no address."""
    try:
        address = ipaddress.ip_address(asker)
    except ValueError:
        return asker
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), NETWORK_BITS), strict=False))
