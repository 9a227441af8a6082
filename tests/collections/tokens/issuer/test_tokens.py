"""Tokens through the attester: each counts once, whatever is repeated, and nothing else comes of it."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from panprivacy.formats import base64_text
from panprivacy.protocols.oblivious_http import capsules, keys
from panprivacy.protocols.oblivious_http.binary_http import Response
from panprivacy.recipe.token import token_nonce
from partners.client import PeerUnavailableError
from partners.partner import ask_json
from tests.collections.tokens.issuer.scene import (
    SOURCE,
    Collection,
    Told,
    asking,
    attester,
    content_of,
    refusal,
    sealed,
    send,
    send_capsule,
)
from tokens.issuer import keys as issuer_keys
from tokens.issuer.limits import MOST_WITHHELD
from tokens.issuer.models import Handle

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection() -> Collection:
    return Collection().registered()


def restart() -> None:
    """What a process remembers is gone."""
    issuer_keys._OPENED.clear()


def refused_inside(told: Told) -> str:
    """The problem that only the device was told."""
    assert (told.element, told.handle) == (None, None)
    assert not Handle.objects.exists()
    return told.problem


def test_device_gets_a_token_that_servers_accept(collection: Collection) -> None:
    device = collection.device()
    told = device.ask()
    assert dict(told.response.headers) == {b"content-type": b"application/private-token-response"}
    token = device.token(told)
    assert token_nonce(collection.recipe, token.encode()) == token.nonce[16:]
    assert collection.counted == 1


def test_attester_recognizes_a_device_within_one_recipe_only(collection: Collection) -> None:
    def identifier(of: Collection, pseudonym: bytes) -> bytes:
        asked = asking(pseudonym)
        element = of.device().ask(asked=asked).element
        assert element is not None
        return asked.finish(element)

    found = identifier(collection, b"device 1")
    restart()
    assert identifier(collection, b"device 1") == found
    assert identifier(collection, b"device 2") != found
    assert identifier(Collection().registered(), b"device 1") != found


def test_same_blinded_message_gets_the_same_answer_and_counts_once(collection: Collection) -> None:
    device = collection.device()
    first = device.ask()
    restart()
    again = device.ask()
    assert (again.handle, again.response) == (first.handle, first.response)
    assert collection.counted == 1
    assert collection.device().ask().handle != first.handle
    assert collection.counted == 2


def test_withheld_answers_are_not_counted_however_often_they_are_named(collection: Collection) -> None:
    other = Collection().registered()
    device = collection.device()
    handles = [device.ask().handle, other.device().ask().handle]
    collection.device().ask(withheld=[bytes(16), *handles])  # also one that nobody gave out
    assert (collection.counted, other.counted) == (1, 0)
    # Named twice, asked for once more, and in a request that gives no token.
    again = device.ask(withheld=handles * 2)
    assert again.handle == handles[0]
    send(b"", withheld=handles)
    assert (collection.counted, other.counted) == (1, 0)
    ours = Handle.objects.get(issuance=collection.issuance, withheld=False)
    send(b"", withheld=[bytes(ours.handle)])
    assert collection.counted == 0


def test_recipe_is_locked_before_handles_as_when_issuing_ends(collection: Collection) -> None:
    handle = collection.device().ask().handle
    with CaptureQueriesContext(connection) as queries:
        collection.device().ask(withheld=[handle])
    asked = [query["sql"] for query in queries]
    recipe = next(place for place, sql in enumerate(asked) if "issuer_issuance" in sql and "state" in sql)
    handles = [place for place, sql in enumerate(asked) if "issuer_handle" in sql]
    assert recipe < min(handles)


def test_nothing_of_a_request_is_stored(collection: Collection) -> None:
    device, asked = collection.device(), asking()
    told = device.ask(asked=asked)
    assert told.element is not None
    secret = [device.pending.request.blinded_message, told.response.content, asked.element, told.element]
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            cursor.execute(f'SELECT * FROM "{table}"')
            stored = "".join(
                bytes(value).hex() if isinstance(value, bytes | memoryview) else str(value)
                for row in cursor
                for value in row
            )
            assert not any(value.hex() in stored or base64_text.encode(value) in stored for value in secret)
    assert {field.name for field in Handle._meta.fields} == {"id", "issuance", "handle", "withheld"}


JSON = ((b"content-type", b"application/json"),)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"path": b"/"}, "not-found"),
        ({"path": b"/issuer/tokens"}, "not-found"),
        ({"path": b"/.well-known/ohttp-gateway"}, "not-found"),  # a capsule in a capsule
        ({"path": b"/health/ready", "method": b"GET"}, "not-found"),
        ({"method": b"GET"}, "not-found"),
        ({"path": b"/recipes/" + b"0" * 64 + b"/token"}, "unrecognized-recipe"),
        ({"headers": ()}, "unsupported-media-type"),
        ({"headers": JSON}, "unsupported-media-type"),
        ({"content": b""}, "malformed-token-request"),
        ({"content": bytes(259)}, "malformed-token-request"),
    ],
)
def test_request_for_anything_but_a_token_is_refused_to_the_device_alone(
    collection: Collection, changes: dict[str, Any], problem: str
) -> None:
    assert refused_inside(collection.device().ask(**changes)) == problem


@pytest.mark.parametrize("request_", [b"", b"\xff" * 20, Response(200).encode()])
def test_what_is_no_request_is_refused_inside_the_capsule(request_: bytes) -> None:
    assert refused_inside(send(request_)) == "malformed-body"


def test_blinded_message_outside_of_the_modulus_is_refused(collection: Collection) -> None:
    device = collection.device()
    start, n = device.pending.request.encode()[:3], collection.key.n
    for number in (0, n, n + 1, 2**2048 - 1):
        told = device.ask(content=start + number.to_bytes(256, "big"))
        assert refused_inside(told) == "malformed-token-request"
    wrong_key = bytes((0, 2, start[2] ^ 1)) + device.pending.request.blinded_message
    assert refused_inside(device.ask(content=wrong_key)) == "malformed-token-request"


def test_capsule_that_does_not_open_is_refused_to_the_attester(collection: Collection) -> None:
    request = collection.device().request().encode()
    capsule, _ = sealed(request)
    foreign, _ = keys.generate(200, SOURCE)
    unknown, _ = capsules.seal(foreign, request, SOURCE)
    key_problem = "https://iana.org/assignments/http-problem-types#ohttp-key"
    assert refusal(content_of(unknown)).problem["type"] == key_problem
    for bad in (capsule[:-1], capsule[:-1] + bytes([capsule[-1] ^ 1]), b"", bytes(40), capsule[:7] + capsule):
        problem = refusal(content_of(bad)).problem["type"]
        assert problem in ("/problems/capsule-refused", key_problem)
    assert not Handle.objects.exists()


def test_long_and_foreign_requests_of_the_attester_are_refused(collection: Collection) -> None:
    content = content_of(sealed(collection.device().request().encode())[0])
    long = base64_text.encode(bytes(capsules.LARGEST_CAPSULE + 1))
    handle = base64_text.encode(bytes(16))
    for element in (b"", b"\0" * 33, b"\2" + b"\xff" * 32, b"\4" + bytes(32), asking().element + b"\0"):
        no_point = {**content, "element": base64_text.encode(element)}
        assert "element" in str(refusal(no_point))
    for changes, field in [
        ({"capsule": long}, "capsule"),
        ({"capsule": "?"}, "capsule"),
        ({"withheld": [handle] * (MOST_WITHHELD + 1)}, "withheld"),
        ({"withheld": [handle + "AA=="]}, "withheld"),
        ({"withheld": handle}, "withheld"),
        ({"withheld": [1]}, "withheld"),
        ({"element": None}, "element"),
        ({"recipe": collection.identifier}, "JSON"),
    ]:
        assert field in str(refusal({**content, **changes})), changes
    with pytest.raises(PeerUnavailableError, match="413"):
        ask_json(attester(), "POST", "/tokens", {**content, "capsule": "A" * 10_000_000})
    assert not Handle.objects.exists()
    # As much as is allowed is read.
    named = [bytes([n % 256]) * 16 for n in range(MOST_WITHHELD)]
    assert send_capsule(sealed(b"")[0], withheld=named)["handle"] is None


def test_capsule_that_is_sent_to_the_issuer_itself_reaches_nothing(collection: Collection) -> None:
    request = collection.device().request()
    for path in (request.path, b"/issuer/tokens", b"/status.json"):
        capsule, context = sealed(collection.device().request(path=path).encode())
        answer = Client().post("/.well-known/ohttp-gateway", capsule, content_type="message/ohttp-req")
        assert Response.decode(context.open(answer.content)).status == 404
    assert not Handle.objects.exists()
