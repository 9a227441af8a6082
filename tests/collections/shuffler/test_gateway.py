"""The gateway of a shuffler: messages in capsules, and nothing else."""

import random
from datetime import timedelta

import msgpack
import pytest
from django.test import Client
from django.utils import timezone

from gateway.keys import GATEWAY_KEYS
from gateway.models import GatewayKey
from panprivacy.oblivious_http import capsules, keys
from panprivacy.oblivious_http.binary_http import Request, Response
from shuffler.ending import upkeep
from tests.collections.shuffler.scene import Collection

pytestmark = pytest.mark.django_db

ADDRESS = "/.well-known/ohttp-gateway"
SOURCE = random.Random(9458)


def asked(method: bytes, path: str, content: bytes = b"") -> Response:
    config, *_ = keys.decode_list(Client().get(ADDRESS).content)
    fields = ((b"content-type", b"application/msgpack"),)
    request = Request(method, b"https", b"shuffler.test", path.encode(), fields, content)
    capsule, context = capsules.seal(config, request.encode(), SOURCE)
    answer = Client().post(ADDRESS, capsule, content_type=capsules.REQUEST_MEDIA_TYPE)
    return Response.decode(context.open(answer.content))


def test_messages_in_a_capsule_count_once_and_the_batch_cannot_be_asked_for_there() -> None:
    collection = Collection().registered()
    path = f"/shuffler/recipes/{collection.identifier}"
    body = msgpack.packb({"nonce": bytes(16), "messages": collection.encrypted(collection.messages())})
    assert [asked(b"POST", f"{path}/messages", body).status for _ in range(2)] == [201, 201]
    assert collection.batch.users == 1
    assert {asked(b"GET", f"{path}{rest}").status for rest in ("", "/batch", "/batch/0")} == {404}


def test_upkeep_deletes_keys_for_sealed_requests_after_their_grace_period() -> None:
    now = timezone.now()
    first, second = GATEWAY_KEYS.rotate(now=now), GATEWAY_KEYS.rotate(now=now)
    upkeep(now=now + timedelta(seconds=60))
    assert set(GatewayKey.objects.values_list("config_id", flat=True)) == {first.config_id, second.config_id}
    upkeep(now=now + timedelta(days=30))
    assert list(GatewayKey.objects.values_list("config_id", flat=True)) == [second.config_id]
