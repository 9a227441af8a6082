"""No webhook goes into this site's own network, however its address is written or looked up."""

import ipaddress
import socket
from typing import Any

import pytest
from django.conf import LazySettings

from notifications.delivery import webhook_transport
from notifications.targets import TargetRefusedError, may_reach, target_check
from panprivacy.formats.errors import FieldError

INSIDE = [
    *("127.0.0.1", "127.8.9.1", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1"),  # noqa: S104  # nothing listens there
    *("169.254.169.254", "224.0.0.1", "239.255.255.250", "255.255.255.255", "240.0.0.1", "192.0.2.1"),
    *("192.88.99.1", "198.18.0.1", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254"),
    *("fec0::1", "ff02::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1"),
    # Addresses of IPv4 within 6to4, NAT64 and Teredo (whose last half is inverted).
    *("2002:7f00:1::", "64:ff9b::7f00:1", "64:ff9b:1::a00:1", "2001:0:1:2:3:4:80ff:fffe"),
    # 10.0.0.1 within NAT64 of a /48, whose end looks like 8.8.8.8; what is for documentation and protocols.
    *("64:ff9b:1:a00:0:100:808:808", "3fff::1", "192.0.0.8"),
]
OUTSIDE = [
    *("93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "::ffff:93.184.216.34", "64:ff9b::5db8:d822")
]

REFUSED = [
    *("http://example.org/", "ftp://example.org/", "https:///x", "https://", "example.org", ""),
    *("//example.org", "https://user@example.org/", "https://user:pass@example.org/"),
    *("https://@example.org/", "https://example.org:22/", "https://example.org:0/"),
    *("https://example.org:99999/", "https://example.org:x/", "https://example.org/#part"),
    *("https://example.org/a b", "https://example.org/\n", "https://exämple.org/"),
    *("https://example.org\\@127.0.0.1/", "https://localhost/", "https://localhost./"),
    *("https://a.localhost/", "https://[::1]/"),
    # 127.0.0.1 as one number, in octal, in hexadecimal, and shortened; 169.254.169.254 as one number.
    *("https://2130706433/", "https://0177.0.0.1/", "https://0x7f000001/", "https://127.1/", "https://0/"),
    *("https://2852039166/", "https://[::ffff:169.254.169.254]/", "https://[fe80::1%25eth0]/"),
    "https://example.org/" + "a" * 500,
]


def test_address_is_refused_or_taken_as_it_is_when_it_is_given() -> None:
    for url in REFUSED:
        with pytest.raises(FieldError, match=r"^url"):
            target_check(url)
    for url in ("https://example.org/hook?a=b", "https://example.org:8443", "https://8.8.8.8/"):
        assert target_check(url) == url


def test_inner_networks_are_refused_unless_the_operator_allows_one(settings: LazySettings) -> None:
    assert [text for text in INSIDE if may_reach(ipaddress.ip_address(text))] == []
    assert [text for text in OUTSIDE if not may_reach(ipaddress.ip_address(text))] == []
    settings.WEBHOOK_NETWORKS = (ipaddress.ip_network("10.1.0.0/16"),)
    assert target_check("https://10.1.2.3/")
    assert may_reach(ipaddress.ip_address("::ffff:10.1.2.3"))
    assert not may_reach(ipaddress.ip_address("10.2.0.1"))


def looked_up(*answers: list[str]) -> Any:
    """A resolver that says something else each time, as one that an attacker runs."""
    left = list(answers)

    def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (text, port)) for text in left.pop(0)]

    return getaddrinfo


def test_connection_goes_to_the_checked_address(
    monkeypatch: pytest.MonkeyPatch, settings: LazySettings
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", looked_up(["93.184.216.34"], ["127.0.0.1"], ["127.0.0.1"]))
    connected = []

    def connect(self: socket.socket, address: Any) -> None:
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket.socket, "connect", connect)
    with pytest.raises(ConnectionRefusedError):
        webhook_transport("POST", "https://rebinding.example/", {}, b"{}")
    assert connected == [("93.184.216.34", 443)]


@pytest.mark.parametrize("addresses", [["169.254.169.254"], ["93.184.216.34", "10.0.0.1"]])
def test_name_with_an_inner_address_is_refused_before_any_connection(
    monkeypatch: pytest.MonkeyPatch, addresses: list[str]
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", looked_up(addresses))
    monkeypatch.setattr(socket, "socket", None)
    with pytest.raises(TargetRefusedError):
        webhook_transport("POST", "https://metadata.example/", {}, b"{}")
