"""Which recipes a shuffler takes part in, and whom it listens to."""

from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.test import Client
from django.utils import timezone

from log.audit.models import Entry
from panprivacy.protocols.dap.signatures import sign_request
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.trust_models.single_server import OneServer
from partners.client import PeerRefusedError, PeerUnavailableError
from partners.shuffler_calls import batch_delete, recipe_register
from shuffle.shuffler.models import Batch, Submission
from tests.collections.shuffle.shuffler.scene import (
    ANALYZER_SIGNING_KEY,
    ORIGIN,
    OTHER_SIGNING_KEY,
    Collection,
    peer,
)
from tests.factories import recipe_members
from tests.tokens import STRANGERS_KEY


def refused(collection: Collection, **changes: Any) -> str:
    arguments = {"identifier": collection.identifier, "document": collection.recipe.canonical, **changes}
    with pytest.raises(PeerRefusedError) as refusal:
        recipe_register(peer(), **arguments)
    assert not Batch.objects.exists()
    return str(refusal.value)


@pytest.mark.django_db
class TestRecipes:
    def test_registration_sent_again_gives_the_same_signature(self) -> None:
        collection = Collection()
        first = collection.register()
        collection.send()
        assert collection.register() == first
        assert collection.batch.users == 1
        assert Entry.objects.filter(action="batch_registered").count() == 1

    @pytest.mark.parametrize(
        ("changes", "named"),
        [
            ({"servers": {"shuffler_url": "https://other.test/shuffler"}}, "shuffler.url"),
            ({"servers": {"shuffler_verification_key": STRANGERS_KEY}}, "shuffler.verification_key"),
            ({"k": 100_000}, "one request"),
        ],
    )
    def test_recipe_that_this_shuffler_cannot_take_is_refused(
        self, changes: dict[str, Any], named: str
    ) -> None:
        assert named in refused(Collection(**changes))

    def test_document_of_another_name_or_trust_model_is_refused(self) -> None:
        collection = Collection()
        assert "identifier" in refused(collection, identifier="0" * 64)
        draft = RecipeDraft.from_mapping(recipe_members())
        collection.recipe = draft.publish(OneServer.of(collection.recipe.public_key), timezone.now())
        assert "trust" in refused(collection)

    @pytest.mark.parametrize("document", [b"", b"[]", b"null", b"[" * 5_000, b'{"format":"panapp-recipe-9"}'])
    def test_document_that_is_no_recipe_is_refused(self, document: bytes) -> None:
        assert "document" in refused(Collection(), document=document)

    def test_recipe_that_has_closed_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        collection = Collection(simulation=False)
        later = timezone.now() + timedelta(days=400)
        monkeypatch.setattr("shuffle.shuffler.views.timezone.now", lambda: later)
        assert "closes_at" in refused(collection)

    def test_batch_larger_than_this_shuffler_mixes_is_refused(self, settings: Any) -> None:
        collection = Collection(cohort_size=1_000, k=100)
        settings.BATCH_BYTES = 1_000 * collection.statistic.most_messages * 66 - 1
        assert "mixes at most" in refused(collection)
        settings.BATCH_BYTES += 1
        collection.register()

    def test_recipe_that_has_ended_is_not_taken_up_again(self) -> None:
        collection = Collection().registered()
        batch_delete(peer(), identifier=collection.identifier, reason="withdrawn")
        with pytest.raises(PeerRefusedError, match="withdrawn"):
            collection.register()


@pytest.mark.django_db
class TestSignatures:
    def test_request_that_the_analyzer_did_not_sign_is_refused(self) -> None:
        collection = Collection(cohort_size=2).registered()
        collection.fill()
        stranger = peer(OTHER_SIGNING_KEY)
        recipe = f"/recipes/{collection.identifier}"
        batch = f"{recipe}/batch"
        signed = [("PUT", recipe), ("GET", batch), ("DELETE", batch), ("GET", f"{batch}/0")]
        for method, path in [*signed, ("PUT", f"/recipes/{'0' * 64}")]:
            response = Client().generic(method, f"/shuffler{path}", b"{}", "application/json")
            assert response.status_code == 401, (method, path)
            with pytest.raises(PeerUnavailableError, match="status 403"):
                stranger.send(method, path, b"{}", "application/json")
        assert collection.batch.state == Batch.State.FULL
        assert Submission.objects.count() == 2

    def test_replayed_request_does_what_was_done_already_and_no_more(self) -> None:
        collection = Collection(cohort_size=2).registered()
        path = f"/shuffler/recipes/{collection.identifier}/batch"
        headers = sign_request(
            method="GET",
            url=ORIGIN + path,
            body=b"",
            content_type="",
            signing_key=Ed25519PrivateKey.from_private_bytes(ANALYZER_SIGNING_KEY),
            created=int(timezone.now().timestamp()),
        )
        collection.fill()
        first, again = (Client().get(path, headers=headers) for _ in range(2))
        assert first.json() == again.json()
        batch_delete(peer(), identifier=collection.identifier, reason="fetched")
        assert Client().get(path, headers=headers).status_code == 410
