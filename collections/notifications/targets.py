"""Allowed targets of webhooks: public hosts, and networks that the operator allows.

The name is looked up once, every address that it has is checked, and the connection goes to one of those: a
name that resolves differently a moment later changes nothing.
"""

import ipaddress
import socket
from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from notifications.models import TARGET_LENGTH
from panprivacy.formats.errors import FieldError
from web.transport import Addresses

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")

_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        # Relays of 6to4; the protocols' own; NAT64 within a network, whose embedded address may be at several
        # places; documentation. Python's tables have not all of them.
        ("192.88.99.0/24", "192.0.0.0/24", "64:ff9b:1::/48", "3fff::/20"),
    )
)


class TargetRefusedError(OSError):
    """A host to which nothing is sent from here. The owner of the webhook reads the message: it is the same
    for an unknown name and for an internal one, and so reveals nothing about this network."""

    def __init__(self) -> None:
        super().__init__("no answer: the host's name is unknown, or not of a public host")


def target_check(url: str) -> str:
    """The address as it was given, if webhooks may go there as far as the address itself shows.

    Raises:
        FieldError: naming `url`.
    """
    schemes = ("https", "http") if settings.LOCAL else ("https",)
    ports = settings.WEBHOOK_PORTS
    if not url.isascii() or not url.isprintable() or any(character in url for character in ' \\"<>'):
        raise FieldError("url", "must be an address in printable ASCII characters, without spaces")
    if len(url) > TARGET_LENGTH:
        raise FieldError("url", f"must have at most {TARGET_LENGTH} characters")
    try:
        parts = urlsplit(url)
        port = _port(parts)
    except ValueError:
        raise FieldError("url", "is no address") from None
    if parts.scheme not in schemes or not parts.hostname:
        raise FieldError("url", f"must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}")
    if "@" in parts.netloc:
        raise FieldError("url", "must not have a user or a password")
    if "#" in url:
        raise FieldError("url", "must not have a part after #")
    if port not in ports:
        raise FieldError("url", f"must have one of the ports {', '.join(map(str, ports))}, not {port}")
    literal = _literal(parts.hostname)
    if parts.hostname.rstrip(".").endswith("localhost") or (literal is not None and not may_reach(literal)):
        raise FieldError("url", "must be of a public host, not of a private or reserved network")
    return url


def target_addresses(host: str, port: int) -> Addresses:
    """The addresses of a host, each checked: what `https_transport` connects to.

    Raises:
        TargetRefusedError: it has none, or one of them is not for webhooks.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise TargetRefusedError from None
    if not all(may_reach(ipaddress.ip_address(str(address[0]))) for *_, address in found):
        raise TargetRefusedError
    return found


def may_reach(address: Address) -> bool:
    """Whether webhooks may go there. What embeds an address of IPv4 is as good as that one."""
    networks: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network] = settings.WEBHOOK_NETWORKS
    if any(address in network for network in networks):
        return True
    inner = _embedded(address)
    if inner is not None:
        return may_reach(inner)
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


def _literal(host: str) -> Address | None:
    """The address that a host is by itself, also in the old notations: 2130706433, 0177.0.0.1."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def _port(parts: SplitResult) -> int:
    if parts.port is None:
        return 443 if parts.scheme == "https" else 80
    return parts.port
