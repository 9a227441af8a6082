"""Attester and issuer of this project together, and devices that ask both for a token."""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.core.management import call_command
from django.test import Client, override_settings
from django.utils import timezone

from panprivacy.device.tokens import TokenClient, TokenLostError, TokenState, token_drawn
from panprivacy.device.transport import Answer, Transport, TransportError
from panprivacy.protocols.oblivious_http import signed_keys
from panprivacy.protocols.privacy_pass import issuance
from panprivacy.protocols.privacy_pass.rsa_keys import PublicKey
from panprivacy.recipe.token import challenge, token_nonce
from storage.signing_key import verification_key
from tests.collections.tokens.attester.scene import Asked, KeyedDevice, problem, sealed
from tests.collections.tokens.issuer import scene
from tests.collections.tokens.issuer.scene import Collection
from tokens.attester import limits
from tokens.attester.issuer_keys import ISSUER_KEYS
from tokens.attester.models import Issued

pytestmark = pytest.mark.django_db

ISSUER_SIGNING_KEY = bytes(range(7, 39))
ISSUER_KEY = Ed25519PrivateKey.from_private_bytes(ISSUER_SIGNING_KEY).public_key().public_bytes_raw()
AsIssuer = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def as_issuer(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsIssuer:
    """Has this process answer as the issuer would, which an attester finds at its address."""
    scene.seeded_keys(monkeypatch)
    its = {
        **scene.SETTINGS,
        "SIGNING_KEY": ISSUER_SIGNING_KEY,
        "ATTESTER_KEY": verification_key().public_bytes_raw(),
        "ERASABLE_KEYS_DIR": tmp_path,
    }
    issuer: AsIssuer = partial(override_settings, **its)

    def transport(method: str, url: str, headers: Mapping[str, str], body: bytes, **_: Any) -> Any:
        with issuer():
            return scene.transport(method, url, headers, body)

    settings.ISSUER_KEY = ISSUER_KEY
    for module in ("tokens.attester.issuer", "tokens.attester.issuer_keys"):
        monkeypatch.setattr(f"{module}.https_transport", transport)
    monkeypatch.setattr(limits.REQUESTS, "_window", -1)
    ISSUER_KEYS.forget()
    return issuer


@pytest.fixture
def collection(as_issuer: AsIssuer) -> Collection:
    with as_issuer():
        return Collection().registered()


def ask(collection: Collection) -> Asked:
    """As a device does it, from the recipe's document alone."""
    answer = Client().get("/attester/issuer-keys")
    pinned = Ed25519PublicKey.from_public_bytes(ISSUER_KEY)
    config, *_ = signed_keys.verified(answer.content, answer[signed_keys.HEADER], pinned)
    assert collection.recipe.admission is not None
    key = PublicKey.decode(collection.recipe.admission.token_key)
    pending = issuance.ask(key, challenge(collection.recipe), scene.SOURCE)
    return sealed(config, pending, collection.identifier)


def test_each_device_gets_one_token_that_counts_once(as_issuer: AsIssuer, collection: Collection) -> None:
    devices = [KeyedDevice().enrolled(name) for name in ("one", "two")]
    nonces = set()
    for device in devices:
        asked = ask(collection)
        for _ in range(2):
            token = asked.token(device.post(asked.capsule).content)
            nonces.add(token_nonce(collection.recipe, token.encode()))
        assert problem(device.post(ask(collection).capsule)) == (409, "/problems/already-issued")
    assert len(nonces) == Issued.objects.count() == 2
    call_command("attester_upkeep")
    with as_issuer():
        assert collection.end()["issued"] == 2


class AttesterTransport(Transport):
    """What a device sends, to this process."""

    def at(self, base_url: str) -> "AttesterTransport":
        assert base_url == "https://attester.test/attester"
        return self

    def exchange(
        self,
        method: str,
        target: str,
        *,
        body: bytes = b"",
        content_type: str = "",
        accept: str = "",
        fields: Mapping[str, str] | None = None,
    ) -> Answer:
        answer = Client().generic(
            method, f"/attester{target}", body, content_type, headers=dict(fields or {})
        )
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return Answer(answer.status_code, headers, answer.content)


def test_device_with_anothers_request_gets_its_own_token(as_issuer: AsIssuer, collection: Collection) -> None:
    """As after a profile was copied to a computer that has its token."""
    device, other, stored = KeyedDevice().enrolled("own"), KeyedDevice().enrolled("other"), list[TokenState]()
    assert other.post(ask(collection).capsule).status_code == 200
    drawn = token_drawn(collection.recipe, scene.SOURCE, now=timezone.now())

    def asked(by: KeyedDevice) -> TokenState:
        client = TokenClient(collection.recipe, AttesterTransport())
        state, created = (stored or [drawn])[-1], int(time.time())
        return client.obtained(state, by.key, stored.append, random_source=scene.SOURCE, created=created)

    with pytest.raises(TokenLostError):
        asked(other)
    with pytest.raises(TransportError, match="another device's"):
        asked(device)
    done = asked(device)
    assert (done.nonce, stored[-1]) == (drawn.nonce, done)
    assert token_nonce(collection.recipe, done.token) == drawn.report_nonce
    with as_issuer():
        assert collection.counted == 2
