"""Which tasks a helper takes part in, and which it refuses."""

import json
import secrets
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.utils import timezone

from audit.models import Entry
from dap.models import Side, Task
from dap.operations import task_named, task_share_key, task_verify_key, verifier_of
from helper.ending import upkeep
from helper.models import ShareKey
from panprivacy import base64_text
from panprivacy.dap.hpke import generate_keypair
from panprivacy.encryption import generate_private_key
from panprivacy.recipe import PublishedRecipe
from panprivacy.recipe_draft import RecipeDraft
from panprivacy.trust_models.two_server import TwoServers
from peers.client import PeerRefusedError
from peers.helper_calls import (
    helper_key,
    plain_task_register,
    recipe_task_register,
    task_end_at_helper,
    task_status_at_helper,
)
from storage.signing_key import verification_key
from tests.collections.helper.scene import (
    HELPER_URL,
    LEADER_URL,
    Leader,
    configuration,
    current_time,
    interval_selector,
    partner,
    peer,
    registered,
)
from tests.factories import recipe_members
from tests.tokens import STRANGERS_KEY

SCHEME = "elgamal-secp256k1"


class Publication:
    """A recipe on its way to be published."""

    def __init__(self, *, simulation: bool = False, **changes: Any) -> None:
        self.request = secrets.token_bytes(16)
        self.verify_key = secrets.token_bytes(32)
        self.collector_config, _ = generate_keypair(3, secrets.SystemRandom())
        draft = RecipeDraft.from_mapping(recipe_members(trust="two_server", **changes))
        self.servers = TwoServers(
            leader_url=LEADER_URL,
            leader_key_members=generate_private_key(SCHEME, secrets.SystemRandom()).public_key.to_json(),
            helper_url=HELPER_URL,
            helper_key_members=helper_key(partner(), request=self.request, scheme=SCHEME).to_json(),
            helper_verification_key=verification_key().public_bytes_raw(),
        )
        self.recipe = draft.publish(self.servers, timezone.now(), simulation=simulation)

    @property
    def task_id(self) -> bytes:
        return bytes.fromhex(self.recipe.identifier)

    def register(self, **changes: Any) -> bytes:
        arguments: dict[str, Any] = {
            "task_id": self.task_id,
            "document": self.recipe.canonical,
            "request": self.request,
            "verify_key": self.verify_key,
            "collector_config": self.collector_config,
            **changes,
        }
        return recipe_task_register(partner(), **arguments)

    def refused(self, **changes: Any) -> str:
        with pytest.raises(PeerRefusedError) as refusal:
            self.register(**changes)
        assert not Task.objects.exists()
        return str(refusal.value)

    def with_servers(self, **changes: Any) -> "Publication":
        self.recipe = replace(self.recipe, servers=replace(self.servers, **changes))
        return self


@pytest.mark.django_db
class TestKeys:
    def test_same_request_gets_the_same_key_and_another_one_another(self) -> None:
        one, two = secrets.token_bytes(16), secrets.token_bytes(16)
        first = helper_key(partner(), request=one, scheme=SCHEME)
        assert helper_key(partner(), request=one, scheme=SCHEME).to_json() == first.to_json()
        assert helper_key(partner(), request=two, scheme=SCHEME).to_json() != first.to_json()

    def test_same_request_for_another_scheme_is_refused(self) -> None:
        request = secrets.token_bytes(16)
        helper_key(partner(), request=request, scheme=SCHEME)
        with pytest.raises(PeerRefusedError) as refusal:
            helper_key(partner(), request=request, scheme="paillier-2048")
        assert refusal.value.status == 409

    def test_unknown_scheme_is_refused(self) -> None:
        with pytest.raises(PeerRefusedError, match="rot13"):
            helper_key(partner(), request=bytes(16), scheme="rot13")

    @pytest.mark.parametrize("request_", ["", "00", "zz" * 16, "AA" * 16, "00" * 17])
    def test_malformed_request_is_refused(self, request_: str) -> None:
        with pytest.raises(PeerRefusedError, match="hexadecimal"):
            body = json.dumps({"request": request_, "encryption": SCHEME}).encode()
            peer().post("/keys", body, "application/json")
        assert not ShareKey.objects.exists()

    def test_unused_key_is_deleted_after_a_day(self) -> None:
        helper_key(partner(), request=bytes(16), scheme=SCHEME)
        upkeep(now=timezone.now() + timedelta(hours=23))
        assert ShareKey.objects.count() == 1
        upkeep(now=timezone.now() + timedelta(hours=25))
        assert not ShareKey.objects.exists()


@pytest.mark.django_db
class TestRecipes:
    def test_registered_recipe_is_signed_so_that_a_device_believes_both_servers(self) -> None:
        publication = Publication()
        signature = publication.register()

        leader_key = Ed25519PrivateKey.generate()
        pinned = Ed25519PrivateKey.from_private_bytes(_signing_key()).public_key()
        PublishedRecipe.verified(
            publication.recipe.document,
            publication.recipe.identifier,
            publication.recipe.sign(leader_key),
            leader_key.public_key(),
            partner_key=pinned,
            partner_signature=signature,
        )

    def test_registered_recipe_has_its_keys_and_a_verifier(self) -> None:
        publication = Publication()
        publication.register()
        task = task_named(task_id=publication.task_id, side=Side.HELPER)
        assert task is not None
        assert task_verify_key(task) == publication.verify_key
        share_key = task_share_key(task)
        assert share_key is not None
        assert share_key.public_key.to_json() == publication.servers.helper_key_members
        assert (
            verifier_of(task).out_share_bytes
            == 8 * publication.recipe.calibrated_statistic.report_ciphertexts
        )
        entry = Entry.objects.get(action="task_registered")
        assert entry.subject == publication.recipe.identifier

    def test_registration_sent_again_gives_the_same_signature_and_no_second_entry(self) -> None:
        publication = Publication()
        first = publication.register()
        assert publication.register() == first
        assert Task.objects.count() == 1
        assert Entry.objects.filter(action="task_registered").count() == 1

    @pytest.mark.parametrize("changed", ["verify_key", "collector_config"])
    def test_registration_sent_again_with_other_keys_is_refused(self, changed: str) -> None:
        publication = Publication()
        publication.register()
        others = {
            "verify_key": secrets.token_bytes(32),
            "collector_config": generate_keypair(4, secrets.SystemRandom())[0],
        }
        with pytest.raises(PeerRefusedError) as refusal:
            publication.register(**{changed: others[changed]})
        assert refusal.value.status == 409
        assert task_verify_key(Task.objects.get()) == publication.verify_key

    def test_cohort_below_the_helpers_smallest_is_refused(self, settings: Any) -> None:
        settings.SMALLEST_COHORT = 6
        assert "at least 6" in Publication(cohort_size=5).refused()

    def test_other_identifier_is_refused(self) -> None:
        assert "identifier" in Publication().refused(task_id=bytes(32))

    def test_document_that_is_not_canonical_is_refused(self) -> None:
        publication = Publication()
        spaced = json.dumps(publication.recipe.document, indent=1).encode()
        assert "canonical" in publication.refused(document=spaced)

    @pytest.mark.parametrize("document", [b"", b"[]", b"null", b"[" * 5_000, b'{"format":"panapp-recipe-9"}'])
    def test_document_that_is_no_recipe_is_refused(self, document: bytes) -> None:
        assert "document" in Publication().refused(document=document)

    def test_recipe_with_another_helpers_key_is_refused(self) -> None:
        other = generate_private_key(SCHEME, secrets.SystemRandom()).public_key.to_json()
        assert "helper.public_key" in Publication().with_servers(helper_key_members=other).refused()

    def test_recipe_with_another_helpers_address_is_refused(self) -> None:
        assert "helper.url" in Publication().with_servers(helper_url="https://other.test").refused()

    def test_recipe_with_another_verification_key_is_refused(self) -> None:
        publication = Publication().with_servers(helper_verification_key=STRANGERS_KEY)
        assert "helper.verification_key" in publication.refused()

    def test_key_that_expired_before_the_registration_is_refused_with_the_reason(self) -> None:
        publication = Publication()
        upkeep(now=timezone.now() + timedelta(days=2))
        assert "one is kept for 1 day only" in publication.refused()

    @pytest.mark.parametrize("length", [0, 16, 33])
    def test_verification_key_of_another_length_is_refused(self, length: int) -> None:
        assert "verify_key" in Publication().refused(verify_key=bytes(length))


@pytest.mark.django_db
class TestPlainTasks:
    def refused(self, **changes: Any) -> str:
        leader = Leader(configuration(min_batch_size=2))
        encoded = configuration(**changes)
        with pytest.raises(PeerRefusedError) as refusal:
            plain_task_register(
                partner(),
                task_id=leader.task_id,
                configuration=encoded,
                verify_key=leader.verify_key,
                collector_config=leader.collector_config,
            )
        assert not Task.objects.exists()
        return str(refusal.value)

    def test_task_is_registered_once(self) -> None:
        leader = registered()
        leader.register()
        assert Task.objects.count() == 1
        assert leader.task.document == ""

    def test_smaller_batches_than_the_helper_allows_are_refused(self, settings: Any) -> None:
        settings.SMALLEST_COHORT = 4
        assert "at least 4" in self.refused(min_batch_size=3)

    def test_other_helper_is_refused(self) -> None:
        refusal = self.refused(helper_aggregator_endpoint="https://other.test/helper")
        assert "helper_aggregator_endpoint" in refusal

    @pytest.mark.parametrize("leader_url", [f"{LEADER_URL}/", "https://leader.test/"])
    def test_task_whose_addresses_end_in_a_slash_gives_a_result(self, leader_url: str) -> None:
        leader = registered(
            leader_aggregator_endpoint=leader_url, helper_aggregator_endpoint=f"{HELPER_URL}/"
        )
        leader.register()
        time = current_time()
        reports = leader.reports(3, time=time)
        assert leader.aggregate(reports) == ["ok"] * 3
        request = leader.share_request(reports, interval_selector(time))
        assert leader.result(reports, request, leader.send_share(request).body) == 3

    @pytest.mark.parametrize("end", ["//", "/x", "/x/", "?", "#"])
    def test_other_address_below_the_helpers_is_refused(self, end: str) -> None:
        assert "helper_aggregator_endpoint" in self.refused(helper_aggregator_endpoint=f"{HELPER_URL}{end}")

    @pytest.mark.parametrize("address", [f"{LEADER_URL}//", "ftp://leader.test/", "https:///", "/"])
    def test_address_of_a_leader_that_is_none_is_refused(self, address: str) -> None:
        assert "leader_aggregator_endpoint" in self.refused(leader_aggregator_endpoint=address)

    def test_unknown_vdaf_is_refused(self) -> None:
        assert "VDAF" in self.refused(vdaf_type=0x99)

    def test_pan_private_shares_without_a_recipe_are_refused(self) -> None:
        assert "VDAF" in self.refused(vdaf_type=0xFFFF1001)

    def test_same_identifier_with_other_parameters_is_refused(self) -> None:
        leader = registered()
        leader.configuration = replace(leader.configuration, min_batch_size=2)
        with pytest.raises(PeerRefusedError) as refusal:
            leader.register()
        assert refusal.value.status == 409

    def test_malformed_registration_is_refused(self) -> None:
        body = json.dumps({"task_configuration": "?", "verify_key": "", "collector_hpke_config": ""}).encode()
        with pytest.raises(PeerRefusedError) as refusal:
            peer().send("PUT", f"/tasks/{base64_text.encode_url(bytes(32))}", body, "application/json")
        assert refusal.value.token == "invalidMessage"

    def test_collector_key_to_which_nothing_can_be_sealed_is_refused(self) -> None:
        leader = Leader(configuration())
        leader.collector_config = replace(leader.collector_config, kem_id=0x9999)
        with pytest.raises(PeerRefusedError, match="collector_hpke_config"):
            leader.register()


@pytest.mark.django_db
class TestStatusForTheLeader:
    def test_leader_sees_counts_and_reasons(self) -> None:
        leader = registered()
        leader.aggregate([*leader.reports(3), leader.report(2, cheat=True)])
        seen = task_status_at_helper(partner().client(), task_id=leader.task_id)
        assert (seen.state, seen.report_count, seen.collected, seen.outcome) == ("open", 3, False, "")
        assert seen.rejections == {"vdaf_verify_error": 1}

    def test_leader_sees_why_a_task_ended(self) -> None:
        leader = registered()
        task_end_at_helper(partner(), task_id=leader.task_id, reason="too few reports")
        seen = task_status_at_helper(partner().client(), task_id=leader.task_id)
        assert (seen.state, seen.outcome) == ("ended", "too few reports")


def _signing_key() -> bytes:
    from django.conf import settings

    return settings.SIGNING_KEY
