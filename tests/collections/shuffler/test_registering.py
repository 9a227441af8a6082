"""Which recipes a shuffler takes part in, and whom it listens to."""

import json
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings as django_settings
from django.test import Client
from django.utils import timezone

from audit.models import Entry
from panprivacy.dap.signatures import sign_request
from panprivacy.recipe import PublishedRecipe
from panprivacy.recipe_draft import RecipeDraft
from panprivacy.trust_models.single_server import OneServer
from peers.client import PeerRefusedError, PeerUnavailableError
from peers.shuffler_calls import batch_delete, recipe_register
from shuffler.models import Batch, Submission
from tests.collections.shuffler.scene import (
    ANALYZER_SIGNING_KEY,
    ORIGIN,
    OTHER_SIGNING_KEY,
    Collection,
    peer,
)
from tests.factories import recipe_members
from tests.tokens import STRANGERS_KEY


def refused(collection: Collection, **changes: Any) -> str:
    arguments = {
        "identifier": collection.identifier,
        "document": collection.recipe.canonical,
        **changes,
    }
    with pytest.raises(PeerRefusedError) as refusal:
        recipe_register(peer(), **arguments)
    assert not Batch.objects.exists()
    return str(refusal.value)


@pytest.mark.django_db
class TestRecipes:
    def test_registered_recipe_is_signed_so_that_a_device_believes_both_servers(self) -> None:
        collection = Collection()
        signature = collection.register()
        analyzer = Ed25519PrivateKey.generate()
        pinned = Ed25519PrivateKey.from_private_bytes(django_settings.SIGNING_KEY).public_key()
        PublishedRecipe.verified(
            collection.recipe.document,
            collection.identifier,
            collection.recipe.sign(analyzer),
            analyzer.public_key(),
            partner_key=pinned,
            partner_signature=signature,
        )

    def test_registration_sent_again_gives_the_same_signature_and_changes_nothing(self) -> None:
        collection = Collection()
        first = collection.register()
        collection.send()
        assert collection.register() == first
        assert collection.batch.users == 1
        assert Entry.objects.filter(action="batch_registered").count() == 1

    def test_recipe_of_another_shufflers_address_is_refused(self) -> None:
        other = Collection(servers={"shuffler_url": "https://other.test/shuffler"})
        assert "shuffler.url" in refused(other)

    def test_recipe_of_another_shufflers_key_is_refused(self) -> None:
        other = Collection(servers={"shuffler_verification_key": STRANGERS_KEY})
        assert "shuffler.verification_key" in refused(other)

    def test_recipe_of_another_trust_model_is_refused(self) -> None:
        collection = Collection()
        draft = RecipeDraft.from_mapping(recipe_members())
        collection.recipe = draft.publish(OneServer.of(collection.recipe.public_key), timezone.now())
        assert "trust" in refused(collection)

    def test_other_identifier_is_refused(self) -> None:
        assert "identifier" in refused(Collection(), identifier="0" * 64)

    def test_document_that_is_not_canonical_is_refused(self) -> None:
        collection = Collection()
        spaced = json.dumps(collection.recipe.document, indent=1).encode()
        assert "canonical" in refused(collection, document=spaced)

    @pytest.mark.parametrize("document", [b"", b"[]", b"null", b"[" * 5_000, b'{"format":"panapp-recipe-9"}'])
    def test_document_that_is_no_recipe_is_refused(self, document: bytes) -> None:
        assert "document" in refused(Collection(), document=document)

    def test_signed_request_with_a_member_twice_is_refused(self) -> None:
        collection = Collection()
        document = json.dumps(collection.recipe.document)
        body = f'{{"document": "", "document": {json.dumps(document)}}}'.encode()
        with pytest.raises(PeerRefusedError) as refusal:
            peer().send("PUT", f"/recipes/{collection.recipe.identifier}", body, "application/json")
        assert refusal.value.status == 400
        assert "document: stands there more than once." in str(refusal.value)
        assert not Batch.objects.exists()

    def test_recipe_that_has_closed_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        collection = Collection(simulation=False)
        later = timezone.now() + timedelta(days=400)
        monkeypatch.setattr("shuffler.views.timezone.now", lambda: later)
        assert "closes_at" in refused(collection)

    def test_cohort_below_the_smallest_is_refused(self, settings: Any) -> None:
        settings.SMALLEST_COHORT = 4
        assert "at least 4" in refused(Collection(cohort_size=3))

    def test_batch_larger_than_this_shuffler_mixes_is_refused(self, settings: Any) -> None:
        collection = Collection(cohort_size=1_000, k=100)
        settings.BATCH_BYTES = 1_000 * collection.statistic.most_messages * 66 - 1
        assert "mixes at most" in refused(collection)
        settings.BATCH_BYTES += 1
        collection.register()

    def test_messages_of_one_user_that_no_request_can_carry_are_refused(self) -> None:
        assert "one request" in refused(Collection(k=100_000))

    def test_recipe_that_has_ended_is_not_taken_up_again(self) -> None:
        collection = Collection().registered()
        batch_delete(peer(), identifier=collection.identifier, reason="withdrawn")
        with pytest.raises(PeerRefusedError, match="withdrawn"):
            collection.register()


def everything_signed(identifier: str) -> list[tuple[str, str]]:
    """Method and path of every resource that is for the analyzer alone."""
    recipe = f"/recipes/{identifier}"
    return [
        ("PUT", recipe),
        ("GET", f"{recipe}/batch"),
        ("DELETE", f"{recipe}/batch"),
        ("GET", f"{recipe}/batch/0"),
    ]


@pytest.mark.django_db
class TestSignatures:
    def test_unsigned_request_is_refused_whatever_it_asks_for(self) -> None:
        collection = Collection(cohort_size=2).registered()
        collection.fill()
        for method, path in everything_signed(collection.identifier):
            response = Client().generic(method, f"/shuffler{path}", b"{}", "application/json")
            assert response.status_code == 401, (method, path)
        assert collection.batch.state == Batch.State.FULL
        assert Submission.objects.count() == 2

    def test_request_of_another_analyzer_is_refused_whatever_it_asks_for(self) -> None:
        collection = Collection(cohort_size=2).registered()
        collection.fill()
        stranger = peer(OTHER_SIGNING_KEY)
        for method, path in everything_signed(collection.identifier):
            with pytest.raises(PeerUnavailableError, match="status 403"):
                stranger.send(method, path, b"{}", "application/json")
        with pytest.raises(PeerUnavailableError, match="status 403"):
            recipe_register(stranger, identifier="0" * 64, document=b"{}")
        assert collection.batch.state == Batch.State.FULL

    @pytest.mark.parametrize(
        "change",
        [{}, {"method": "GET"}, {"url": "https://other.test"}, {"body": b"{}"}, {"created": -400}],
    )
    def test_signature_for_this_very_request_is_taken_and_for_another_or_of_long_ago_refused(
        self, change: dict[str, Any]
    ) -> None:
        collection = Collection().registered()
        path = f"/shuffler/recipes/{collection.identifier}/batch"
        body = json.dumps({"reason": "captured"}).encode()
        headers = sign_request(
            method=change.get("method", "DELETE"),
            url=change.get("url", ORIGIN) + path,
            body=change.get("body", body),
            content_type="application/json",
            signing_key=Ed25519PrivateKey.from_private_bytes(ANALYZER_SIGNING_KEY),
            created=int(timezone.now().timestamp()) + change.get("created", 0),
        )
        response = Client().generic("DELETE", path, body, "application/json", headers=headers)
        assert response.status_code == (403 if change else 200)
        assert collection.batch.state == (Batch.State.COLLECTING if change else Batch.State.ENDED)

    def test_replayed_request_does_what_was_done_already_and_no_more(self) -> None:
        collection = Collection(cohort_size=2).registered()
        path = f"/shuffler/recipes/{collection.identifier}/batch"
        headers = sign_request(
            method="GET",
            url=ORIGIN + path,
            body=b"",
            signing_key=Ed25519PrivateKey.from_private_bytes(ANALYZER_SIGNING_KEY),
            created=int(timezone.now().timestamp()),
        )
        collection.fill()
        first, again = (Client().get(path, headers=headers) for _ in range(2))
        assert first.json() == again.json()
        batch_delete(peer(), identifier=collection.identifier, reason="fetched")
        assert Client().get(path, headers=headers).status_code == 410

    def test_answers_are_signed_refusals_too(self) -> None:
        # The client believes nothing that is not signed: it would say "unavailable".
        for method, path in everything_signed("0" * 64):
            with pytest.raises(PeerRefusedError):
                peer().send(method, path, b'{"reason": ""}', "application/json")
