"""Allowed targets of webhooks: public hosts, and networks that the operator allows.

The name is looked up once, every address that it has is checked, and the connection goes to one of those: a
name that resolves differently a moment later changes nothing.
"""

import ipaddress
import socket
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from notifications.models import TARGET_LENGTH
from panprivacy.formats.errors import FieldError
from web.public_hosts import Address, is_public, is_public_host
from web.transport import Addresses


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
    if not is_public_host(found, allowed=settings.WEBHOOK_NETWORKS):
        raise TargetRefusedError
    return found


def may_reach(address: Address) -> bool:
    """Whether webhooks may go there."""
    return is_public(address, allowed=settings.WEBHOOK_NETWORKS)


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
