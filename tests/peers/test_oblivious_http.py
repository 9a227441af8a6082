"""bhttp-js and @hpke at either end of HPKE and oblivious HTTP: what they seal we open, and the reverse."""

import base64
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from panprivacy.device.oblivious_transport import Gateway, ObliviousTransport
from panprivacy.protocols import hpke
from panprivacy.protocols.hpke import (
    AES_128_GCM,
    HKDF_SHA256,
    KEMS,
    HpkeOpenError,
    Kem,
    KemName,
    PrivateKey,
    Suite,
)
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


@pytest.mark.parametrize("kem", KEMS.values(), ids=list(KEMS))
def test_hpke_of_another_product_opens_what_ours_seals_and_back(peer: Peer, kem: Kem) -> None:
    suite, source = Suite(kem.number, HKDF_SHA256, AES_128_GCM), random.Random(9180)
    raw, info, aad, plaintext = (source.randbytes(length) for length in (32, 20, 30, 500))
    key = PrivateKey(suite, raw)
    bound = {"kem": kem.number, "info": base64_of(info), "aad": base64_of(aad)}
    enc, ciphertext, exporter = hpke.seal(suite, key.public_key, info, aad, plaintext, source)
    sent = {"enc": base64_of(enc), "ciphertext": base64_of(ciphertext), "privateKey": base64_of(raw)}
    opened = peer("hpkeOpen", **bound, **sent)
    assert base64.b64decode(opened["plaintext"]) == plaintext
    assert base64.b64decode(opened["secret"]) == exporter.export(b"label", 32)
    public = {"publicKey": base64_of(key.public_key), "plaintext": base64_of(plaintext)}
    sealed = {name: base64.b64decode(value) for name, value in peer("hpkeSeal", **bound, **public).items()}
    assert key.open(**sealed, info=info, aad=aad)[0] == plaintext
    with pytest.raises(HpkeOpenError):
        key.open(**sealed, info=info, aad=b"another")


def through_our_gateway(peer: Peer, client: Client, kem: Kem, path: str, **request: Any) -> dict[str, Any]:
    capsule = peer(
        "seal",
        keys=base64_of(client.get(ADDRESS).content),
        kem=kem.number,
        **{"method": "GET", "headers": {}, "body": "", "length": 1024, "url": f"{SITE}{path}", **request},
    )["capsule"]
    answer = client.post(ADDRESS, base64.b64decode(capsule), content_type="message/ohttp-req")
    assert (answer.status_code, answer["Content-Type"]) == (200, "message/ohttp-res")
    return peer("open", answer=base64_of(answer.content))


@pytest.mark.django_db
@pytest.mark.parametrize("kem", KEMS.values(), ids=list(KEMS))
def test_our_gateway_answers_what_another_client_seals(client: Client, peer: Peer, kem: Kem) -> None:
    recipe = published_recipe()
    path = f"/api/v1/recipes/{recipe.identifier}/"
    answer = through_our_gateway(peer, client, kem, path, headers={"accept": "application/json"})
    assert (answer["status"], answer["headers"]["content-type"]) == (200, "application/json")
    assert base64.b64decode(answer["body"]) == client.get(path).content
    report = base64_of(json.dumps(as_json(report_of_count(recipe, 1))).encode())
    sent = {"method": "POST", "headers": {"content-type": "application/json"}, "body": report}
    statuses = [through_our_gateway(peer, client, kem, f"{path}reports/", **sent)["status"] for _ in range(2)]
    assert statuses == [201, 409]


@pytest.mark.parametrize("kem", KemName)
@pytest.mark.parametrize("body", [b"", b"x", bytes(3000)])
def test_another_gateway_answers_what_our_device_seals(peer: Peer, body: bytes, kem: KemName) -> None:
    config, private_key = keys.generate(7, random.Random(9458), kem)
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
