"""Devices behind a relay that does what it likes, and a gateway whose key changes at the worst moment."""

import json
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panprivacy.device.oblivious_transport import Gateway, ObliviousTransport
from panprivacy.device.rest_upload import RestUpload
from panprivacy.device.transport import Delivery, TransportError
from panprivacy.protocols.hpke import KemName
from panprivacy.protocols.oblivious_http import padding
from panprivacy.protocols.oblivious_http.capsules import RESPONSE_MEDIA_TYPE
from tests.panprivacy.device.in_process import InProcessTransport
from tests.panprivacy.device.relay import PROBLEM, RELAY_URL, MemoryGateway, Relay, Reply
from tests.panprivacy.device.server import AT_ONCE, VERIFICATION_KEY, MemoryServer

SITE = "https://site.example"
HELPER = "https://helper.example/helper"
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
Ask = Callable[[bytes], Reply]


@pytest.fixture
def gateway(server: MemoryServer) -> MemoryGateway:
    return MemoryGateway(server)


@pytest.fixture
def relay(gateway: MemoryGateway, server: MemoryServer) -> Relay:
    return Relay({"/relay/site": gateway, "/relay/site/helper": MemoryGateway(server, OTHER)})


def through(
    relay: Relay, *, at_least: int = 0, key: bytes = VERIFICATION_KEY, kem: KemName | None = None
) -> ObliviousTransport:
    urls = (RELAY_URL, f"{RELAY_URL}/helper")
    direct = InProcessTransport(relay, others=dict.fromkeys(urls, relay))
    direct.retries = AT_ONCE
    others = {HELPER: Gateway("helper", OTHER.public_key().public_bytes_raw())}
    gateway = Gateway("", key)
    return ObliviousTransport(SITE, RELAY_URL, direct, gateway, others=others, at_least=at_least, kem=kem)


@pytest.fixture
def transport(relay: Relay) -> ObliviousTransport:
    return through(relay)


def failing(times: int, reply: Callable[[bytes, Ask], Reply]) -> Callable[[bytes, Ask], Reply]:
    """Meddles with the first capsules only."""
    left = [reply] * times

    def meddle(capsule: bytes, ask: Ask) -> Reply:
        return left.pop()(capsule, ask) if left else ask(capsule)

    return meddle


def answer_lost(capsule: bytes, ask: Ask) -> Reply:
    ask(capsule)
    return 504, PROBLEM, b'{"type": "/problems/gateway-silent"}'


def answer_cut(capsule: bytes, ask: Ask) -> Reply:
    status, kind, body = ask(capsule)
    return status, kind, body[:-100]


def request_cut(capsule: bytes, ask: Ask) -> Reply:
    return ask(capsule[:-100])


def never_passed_on(_capsule: bytes, _ask: Ask) -> Reply:
    return 502, PROBLEM, b"not even JSON"


def test_recipe_and_report_through_a_relay_are_the_servers(transport, gateway, relay, server, reports):
    assert transport.recipe(server.recipe.identifier) == server.served
    assert RestUpload(server.recipe.identifier, transport).submit(reports[0]) is Delivery.ACCEPTED
    assert list(server.reports) == [reports[0].nonce]
    assert relay.fetched == 1
    assert not any(reports[0].nonce in capsule for capsule in relay.capsules)
    report = gateway.asked[-1]
    assert (report.scheme, report.authority) == (b"https", b"site.example")
    assert {name for name, _ in report.headers} == {b"accept", b"content-type"}


@pytest.mark.parametrize("reply", [answer_lost, answer_cut, request_cut, never_passed_on])
def test_relay_that_loses_or_cuts_is_asked_again_and_counts_once(transport, relay, server, reports, reply):
    relay.meddle = failing(3, reply)
    upload = RestUpload(server.recipe.identifier, transport)
    arrived = reply in (answer_lost, answer_cut)
    assert upload.submit(reports[0]) is (Delivery.DUPLICATE if arrived else Delivery.ACCEPTED)
    assert list(server.reports) == [reports[0].nonce]
    assert len(set(relay.capsules)) == len(relay.capsules) == 4
    # Not even the ephemeral keys are the same.
    assert len({capsule[7:39] for capsule in relay.capsules}) == 4


def test_relay_that_repeats_adds_no_report(transport, relay, server, reports):
    def repeated(capsule: bytes, ask: Ask) -> Reply:
        ask(capsule)
        return ask(capsule)

    relay.meddle = repeated
    assert RestUpload(server.recipe.identifier, transport).submit(reports[0]) is Delivery.DUPLICATE
    assert len(server.reports) == 1


def test_relay_with_the_answer_to_another_request_is_asked_again(transport, relay, server):
    first = []

    def reordered(capsule: bytes, ask: Ask) -> Reply:
        first.append(ask(capsule))
        return first[0]

    relay.meddle = reordered
    assert transport.verification_key() == VERIFICATION_KEY
    with pytest.raises(TransportError, match="another request"):
        transport.recipe(server.recipe.identifier)
    relay.meddle = failing(1, lambda *_: first[0])
    assert transport.recipe(server.recipe.identifier) == server.served


@pytest.mark.parametrize(
    "reply",
    [
        (201, "application/json", b'{"status": "accepted"}'),
        (200, "application/json", b'{"status": "accepted"}'),
        (409, PROBLEM, b'{"type": "/problems/recipe-not-open"}'),
        (409, PROBLEM, b'{"type": "/problems/report-rejected", "reason": "duplicate_nonce"}'),
        (200, RESPONSE_MEDIA_TYPE, b""),
        (404, "text/html", b"<html>"),
    ],
)
def test_what_a_relay_says_by_itself_is_no_answer_of_the_server(transport, relay, server, reports, reply):
    relay.meddle = lambda *_: reply
    with pytest.raises(TransportError) as caught:
        RestUpload(server.recipe.identifier, transport).submit(reports[0])
    assert type(caught.value) is TransportError
    assert (caught.value.status, caught.value.problem) == (None, {})


def test_gateway_with_a_new_key_is_asked_for_keys_once(transport, relay, gateway, server, reports):
    transport.verification_key()
    gateway.rotate()
    assert RestUpload(server.recipe.identifier, transport).submit(reports[0]) is Delivery.ACCEPTED
    assert relay.fetched == 2


def test_gateway_that_knows_no_key_it_hands_out_is_given_up(transport, relay):
    key_problem = json.dumps({"type": "https://iana.org/assignments/http-problem-types#ohttp-key"}).encode()
    relay.meddle = lambda *_: (400, PROBLEM, key_problem)
    with pytest.raises(TransportError, match="just handed out"):
        transport.verification_key()
    assert len(relay.capsules) == 1


def test_keys_that_another_signed_get_no_capsule(relay):
    transport = through(relay, key=OTHER.public_key().public_bytes_raw())
    with pytest.raises(TransportError, match="not signed by the server"):
        transport.verification_key()
    assert relay.capsules == []


def test_gateway_without_the_recipes_kem_gets_no_capsule(relay, gateway):
    """A gateway, or a thief of its signing key, cannot lead devices back to X25519."""
    transport = through(relay, kem=KemName.X_WING)
    transport.verification_key()
    [capsule] = relay.capsules
    assert capsule[1:3] == bytes.fromhex("647a")
    classical = {number: held for number, held in gateway.private_keys.items() if held[0].key.kem == "x25519"}
    gateway.private_keys = classical
    with pytest.raises(TransportError, match="none of x-wing"):
        through(relay, kem=KemName.X_WING).verification_key()
    assert relay.capsules == [capsule]


def test_partner_is_reached_below_the_relays_address_with_its_own_key(transport, relay):
    helper = transport.at(HELPER)
    assert helper.exchange("GET", "/hpke_config").status == 404
    [request] = relay.gateways["/relay/site/helper"].asked
    assert (request.authority, request.path) == (b"helper.example", b"/helper/hpke_config")
    with pytest.raises(ValueError, match="does not lead to"):
        transport.at("https://elsewhere.example")


def test_requests_are_padded_to_one_class_and_longer_ones_refused(relay, gateway):
    transport = through(relay, at_least=1025)
    for body in (b"", b"x" * 1500):
        transport.exchange("POST", "/", body=body, content_type="text/plain")
    assert gateway.lengths == [4096, 4096]
    with pytest.raises(padding.TooLongError):
        transport.exchange("POST", "/", body=bytes(40_000))
