"""Which recipes an issuer signs tokens for, and whom it listens to."""

from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.test import Client
from django.utils import timezone

from log.audit.models import Entry
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.trust_models.single_server import OneServer
from partners.client import PeerRefusedError, PeerUnavailableError
from storage.signing_key import verification_key
from tests.collections.tokens.issuer.scene import (
    ATTESTER_SIGNING_KEY,
    ATTESTER_URL,
    ISSUER_NAME,
    OTHER_SIGNING_KEY,
    SITE_SIGNING_KEY,
    Collection,
    peer,
    token_key,
)
from tests.concurrency import at_once
from tests.factories import recipe_members
from tests.panprivacy.protocols.privacy_pass.keys import seeded_key
from tests.panprivacy.statistics.test_servers import public_key
from tests.tokens import STRANGERS_KEY
from tokens.issuer.models import Issuance

pytestmark = pytest.mark.django_db

REQUEST = bytes(range(16))


def refused(collection: Collection, **changes: Any) -> str:
    with pytest.raises(PeerRefusedError) as refusal:
        collection.register(**changes)
    assert not Issuance.objects.filter(identifier=collection.identifier).exists()
    return str(refusal.value)


def test_token_key_comes_with_names_and_is_the_same_for_the_same_request() -> None:
    first = token_key(REQUEST)
    assert (first["issuer_name"], first["attester_url"]) == (ISSUER_NAME, ATTESTER_URL)
    assert token_key(REQUEST) == first != token_key(bytes(16))
    collection = Collection()
    collection.register()
    assert token_key(collection.request)["token_key"] == collection.recipe.document["admission"]["token_key"]


@pytest.mark.django_db(transaction=True)
def test_key_asked_for_several_times_at_once_is_made_once(folder: Path) -> None:
    answers = at_once(*[partial(token_key, REQUEST)] * 3)
    assert len({answer["token_key"] for answer in answers}) == 1
    assert Issuance.objects.count() == len(list(folder.iterdir())) == 1


def test_registered_recipe_is_signed_so_that_a_device_believes_the_issuer() -> None:
    collection = Collection()
    signature = collection.register()
    collection.device().ask()
    assert (collection.register(), collection.counted) == (signature, 1)
    assert Entry.objects.filter(action="issuance_registered").count() == 1
    server = Ed25519PrivateKey.generate()
    PublishedRecipe.verified(
        collection.recipe.document,
        collection.identifier,
        collection.recipe.sign(server),
        server.public_key(),
        issuer_key=verification_key(),
        issuer_signature=signature,
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("issuer_name", "other.test"),
        ("issuer_key", STRANGERS_KEY),
        ("attester_url", "https://other.test/attester"),
        ("token_key", seeded_key(99).public.encoded),
    ],
)
def test_document_that_names_another_issuer_attester_or_key_is_refused(field: str, value: Any) -> None:
    assert f"admission.{field}" in refused(Collection(changes={field: value}))


def test_document_that_is_open_closed_of_few_or_of_another_name_is_refused(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    collection = Collection(simulation=False)
    assert "identifier" in refused(collection, identifier="0" * 64)
    settings.SMALLEST_COHORT = 6
    assert "at least 6" in refused(collection)
    later = timezone.now() + timedelta(days=400)
    with monkeypatch.context() as patched:
        patched.setattr("tokens.issuer.views.timezone.now", lambda: later)
        assert "closes_at" in refused(collection)
    draft = RecipeDraft.from_mapping(recipe_members())
    collection.recipe = draft.publish(OneServer.of(public_key(1)), timezone.now())
    assert "admission" in refused(collection)


def test_request_without_a_key_or_whose_key_has_its_recipe_is_refused() -> None:
    assert "No key waits" in refused(Collection(), request="00" * 16)
    first, second = Collection().registered(), Collection()
    admission = first.recipe.admission
    draft = RecipeDraft.from_mapping(recipe_members(admission="token", name="Another"))
    second.recipe = draft.publish(OneServer.of(public_key(1)), timezone.now(), admission=admission)
    assert "another recipe" in refused(second, request=first.request.hex())


def test_recipe_that_has_ended_is_not_taken_up_again() -> None:
    collection = Collection().registered()
    collection.end("withdrawn")
    with pytest.raises(PeerRefusedError, match="withdrawn"):
        collection.register()


def test_each_address_listens_to_its_partner_only() -> None:
    recipe = f"/recipes/{Collection().registered().identifier}"
    of_the_site = [("POST", "/token-keys"), ("PUT", recipe), ("POST", f"{recipe}/end")]
    for method, path, wrong in [
        *((*address, ATTESTER_SIGNING_KEY) for address in of_the_site),
        ("POST", "/tokens", SITE_SIGNING_KEY),
        ("POST", "/tokens", OTHER_SIGNING_KEY),
    ]:
        assert Client().generic(method, f"/issuer{path}", b"{}", "application/json").status_code == 401
        with pytest.raises(PeerUnavailableError, match="status 403"):
            peer(wrong).send(method, path, b"{}", "application/json")
    assert Issuance.objects.get().state == Issuance.State.ISSUING
