"""Addresses to which this site sends requests that others name: public ones, and networks that the operator
allows."""

import ipaddress
from collections.abc import Iterable

from web.transport import Addresses

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")

_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        # Relays of 6to4; the protocols' own; NAT64 within a network, whose embedded address may be at several
        # places; documentation. Python's tables have not all of them.
        ("192.88.99.0/24", "192.0.0.0/24", "64:ff9b:1::/48", "3fff::/20"),
    )
)


def is_public_host(addresses: Addresses, *, allowed: Iterable[Network] = ()) -> bool:
    """Whether every address of a host is public, or of an allowed network."""
    networks = tuple(allowed)
    return all(is_public(ipaddress.ip_address(str(at[0])), allowed=networks) for *_, at in addresses)


def is_public(address: Address, *, allowed: Iterable[Network] = ()) -> bool:
    """Whether the address is public, or of an allowed network. What embeds an address of IPv4 is as good as
    that one."""
    networks = tuple(allowed)
    if any(address in network for network in networks):
        return True
    inner = _embedded(address)
    if inner is not None:
        return is_public(inner, allowed=networks)
    special = (
        address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_reserved
        or address.is_unspecified
        or getattr(address, "is_site_local", False)
        or any(address in network for network in _NOT_PUBLIC)
    )
    return address.is_global and not special


def _embedded(address: Address) -> ipaddress.IPv4Address | None:
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address.ipv4_mapped or address.sixtofour:
        return address.ipv4_mapped or address.sixtofour
    if address.teredo:
        return address.teredo[1]
    if address in _NAT64 or int(address) >> 32 == 0:
        # The latter are the deprecated "compatible" ones, ::1 and :: among them.
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None
