"""Somebody else's client of Privacy Pass gets tokens from our issuer, which our verifier accepts.

The client is Cloudflare's, in TypeScript: RFC 9578 and RFC 9474 on WebCrypto.
"""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from panprivacy.protocols.privacy_pass import issuance
from panprivacy.protocols.privacy_pass.tokens import TOKEN_TYPE, Token, TokenChallenge
from panprivacy.recipe.token import INVALID, OF_ANOTHER_RECIPE, TokenRefusedError, challenge, token_nonce
from tests.collections.tokens.issuer.scene import SETTINGS, Collection, seeded_keys
from tests.peers.conversations import Peer, PeerRefusedError, base64_of
from tests.peers.node_packages import running
from tokens.issuer import keys as issuer_keys

pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.processes]

TYPE, NONCE, DIGEST, KEY_ID = 2, 34, 66, 98
"""Where the parts of a token end, but for the last."""


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    with running("node_privacy_pass", tmp_path_factory.mktemp("peer")) as peer:
        yield peer


@pytest.fixture
def collection(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Collection:
    for name, value in SETTINGS.items():
        setattr(settings, name, value)
    settings.ERASABLE_KEYS_DIR = tmp_path
    seeded_keys(monkeypatch)
    issuer_keys._OPENED.clear()
    return Collection().registered()


def request_by(theirs: Peer, collection: Collection, for_: TokenChallenge) -> bytes:
    """A TokenRequest."""
    key = base64_of(collection.key.encoded)
    return base64.b64decode(theirs("ask", challenge=base64_of(for_.encode()), key=key)["request"])


def token_by(theirs: Peer, response: bytes) -> bytes:
    return base64.b64decode(theirs("finish", response=base64_of(response))["token"])


def holds(theirs: Peer, token: bytes, collection: Collection) -> bool:
    key = base64_of(collection.key.encoded)
    return bool(theirs("verify", token=base64_of(token), key=key)["holds"])


def flipped(value: bytes, place: int) -> bytes:
    return value[:place] + bytes([value[place] ^ 1]) + value[place + 1 :]


def refusal(collection: Collection, token: bytes) -> str:
    with pytest.raises(TokenRefusedError) as error:
        token_nonce(collection.recipe, token)
    return error.value.reason


def test_their_client_gets_a_token_that_our_verifier_accepts(theirs: Peer, collection: Collection) -> None:
    request = request_by(theirs, collection, challenge(collection.recipe))
    told = collection.device().ask(content=request)
    assert (told.response.status, collection.counted) == (200, 1)
    token = token_by(theirs, told.response.content)
    assert token_nonce(collection.recipe, token) == token[18:NONCE]
    assert holds(theirs, token, collection)
    # A bit of any part, and another recipe's token, though the same issuer signed it.
    refused = {TYPE: INVALID, NONCE: OF_ANOTHER_RECIPE, DIGEST: OF_ANOTHER_RECIPE, KEY_ID: INVALID}
    for place, reason in {0: INVALID, **refused, len(token) - 1: INVALID}.items():
        assert refusal(collection, flipped(token, place)) == reason, place
    for place in (TYPE, NONCE, DIGEST, KEY_ID, len(token) - 1):
        assert not holds(theirs, flipped(token, place), collection), place
    assert refusal(Collection().registered(), token) == OF_ANOTHER_RECIPE


def test_their_client_refuses_what_is_not_our_issuers_signature(theirs: Peer, collection: Collection) -> None:
    request = request_by(theirs, collection, challenge(collection.recipe))
    signature = collection.device().ask(content=request).response.content
    other = collection.device().ask().response.content
    for answer in (flipped(signature, 255), bytes(256), signature[:255], other):
        with pytest.raises(PeerRefusedError):
            token_by(theirs, answer)
    token_by(theirs, signature)


def test_their_verifier_accepts_the_token_of_our_device(theirs: Peer, collection: Collection) -> None:
    device = collection.device()
    token = device.token(device.ask()).encode()
    assert holds(theirs, token, collection)
    assert not holds(theirs, token, Collection())


@pytest.mark.parametrize("hosts", [b"leader.example", b"leader.example:8443,helper.example"])
def test_their_client_reads_more_servers_as_ours(theirs: Peer, collection: Collection, hosts: bytes) -> None:
    for_ = TokenChallenge(TOKEN_TYPE, b"issuer.test:8443", bytes(range(32)), hosts)
    told = collection.device().ask(content=request_by(theirs, collection, for_))
    token = Token.decode(token_by(theirs, told.response.content))
    issuance.verify(collection.key, for_.digest, token)
