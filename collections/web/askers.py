"""How often somebody asked, counted in the cache without an address that could be read there."""

import ipaddress
from datetime import UTC, datetime

from django.core.cache import cache
from django.utils.crypto import salted_hmac

NETWORK_BITS = 64
"""Of an IPv6 address: who has one has all of its network."""


def times_asked(what: str, asker: str, *, seconds: int, now: datetime) -> int:
    """Count once more, and say how often `asker` asked for `what` in the `seconds` since the first time.

    A cache that has dropped the count begins anew; so do all counts at midnight (UTC).

    Args:
        what: the name of what is counted, part of the key.
        asker: an address of IPv4 or IPv6, or any text.
    """
    key = f"{what}-{_hash_of(what, asker, now)}"
    try:
        return 1 if cache.add(key, 1, seconds) else cache.incr(key)
    except ValueError:  # dropped in between
        return 1


def _hash_of(what: str, asker: str, now: datetime) -> str:
    """Keyed with the site's secret and the day: all addresses of IPv4 are tried in minutes, so anyone who
    reads the cache would otherwise have them."""
    day = now.astimezone(UTC).date().isoformat()
    return salted_hmac(f"{what} {day}", _counted_as(asker), algorithm="sha256").hexdigest()


def _counted_as(asker: str) -> str:
    """The network of an IPv6 address, the address of IPv4, or what is no address, as it is."""
    try:
        address = ipaddress.ip_address(asker)
    except ValueError:
        return asker
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), NETWORK_BITS), strict=False))
