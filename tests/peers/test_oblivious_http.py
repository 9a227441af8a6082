"""bhttp-js and @hpke/core at either end of oblivious HTTP: what they seal we open, and the reverse."""

import base64
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from panprivacy.device.oblivious_transport import Gateway, ObliviousTransport
from panprivacy.protocols.oblivious_http import keys, signed_keys
from tests.factories import as_json, published_recipe, report_of_count
from tests.panprivacy.device.in_process import InProcessTransport
from tests.panprivacy.device.relay import RELAY_URL
from tests.panprivacy.device.server import SIGNING_KEY, VERIFICATION_KEY
from tests.peers.conversations import Peer, base64_of
from tests.peers.node_packages import running

pytestmark = [pytest.mark.long, pytest.mark.processes]

ADDRESS = "/.well-known/ohttp-gateway"
SITE = "https://site.example"


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    """Asks the other end to do something."""
    with running("node_ohttp", tmp_path_factory.mktemp("peer")) as peer:
        yield peer


def through_our_gateway(peer: Peer, client: Client, path: str, **request: Any) -> dict[str, Any]:
    capsule = peer(
        "seal",
        keys=base64_of(client.get(ADDRESS).content),
        **{"method": "GET", "headers": {}, "body": "", "length": 1024, "url": f"{SITE}{path}", **request},
    )["capsule"]
    answer = client.post(ADDRESS, base64.b64decode(capsule), content_type="message/ohttp-req")
    assert (answer.status_code, answer["Content-Type"]) == (200, "message/ohttp-res")
    return peer("open", answer=base64_of(answer.content))


@pytest.mark.django_db
def test_our_gateway_answers_what_another_client_seals(client: Client, peer: Peer) -> None:
    recipe = published_recipe()
    path = f"/api/v1/recipes/{recipe.identifier}/"
    answer = through_our_gateway(peer, client, path, headers={"accept": "application/json"})
    assert (answer["status"], answer["headers"]["content-type"]) == (200, "application/json")
    assert base64.b64decode(answer["body"]) == client.get(path).content
    report = base64_of(json.dumps(as_json(report_of_count(recipe, 1))).encode())
    sent = {"method": "POST", "headers": {"content-type": "application/json"}, "body": report}
    statuses = [through_our_gateway(peer, client, f"{path}reports/", **sent)["status"] for _ in range(2)]
    assert statuses == [201, 409]


@pytest.mark.parametrize("body", [b"", b"x", bytes(3000)])
def test_another_gateway_answers_what_our_device_seals(peer: Peer, body: bytes) -> None:
    config, private_key = keys.generate(7, random.Random(9458))
    encoded = keys.encode_list((config,))
    asked = []

    def relay(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        if environ["REQUEST_METHOD"] == "GET":
            signature = signed_keys.signature(encoded, SIGNING_KEY)
            start_response("200 OK", [("Content-Type", keys.MEDIA_TYPE), (signed_keys.HEADER, signature)])
            return [encoded]
        capsule = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        answered = peer(
            "answer",
            privateKey=base64_of(private_key),
            capsule=base64_of(capsule),
            status=201,
            headers={"content-type": "application/json", "x-other": "a, b"},
            body=base64_of(b'{"status": "accepted"}'),
        )
        asked.append(answered)
        start_response("200 OK", [("Content-Type", "message/ohttp-res")])
        return [base64.b64decode(answered["answer"])]

    direct = InProcessTransport(relay, others={RELAY_URL: relay})
    transport = ObliviousTransport(SITE, RELAY_URL, direct, Gateway("", VERIFICATION_KEY))
    answer = transport.exchange("POST", "/api/v1/x/?a=b", body=body, content_type="application/json")
    assert (answer.status, answer.body) == (201, b'{"status": "accepted"}')
    assert answer.headers == {"content-type": "application/json", "x-other": "a, b"}
    [request] = asked
    assert (request["method"], request["url"]) == ("POST", f"{SITE}/api/v1/x/?a=b")
    assert request["headers"] == {"accept": "application/json", "content-type": "application/json"}
    assert base64.b64decode(request["body"]) == body
