"""Which tasks a helper takes part in, and which it refuses."""

import random
import secrets
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dap.helper.models import ShareKey
from dap.helper.task_ends import upkeep
from dap.models import Side, Task
from dap.operations import task_named, task_share_key, task_verify_key, verifier_of
from log.audit.models import Entry
from panprivacy.encryption import generate_private_key
from panprivacy.formats import base64_text
from panprivacy.protocols.dap.hpke import generate_keypair
from panprivacy.protocols.dap.vdafs import Prio3SumConfig
from panprivacy.recipe.draft import RecipeDraft
from panprivacy.statistics.trust_models.two_server import TwoServers
from partners.client import PeerRefusedError
from partners.helper_calls import helper_key, recipe_task_register, task_end_at_helper
from partners.partner import ask_json
from storage.signing_key import verification_key
from tests.collections.dap.helper.scene import (
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
CONFIG, _ = generate_keypair(7, secrets.SystemRandom())
UNUSABLE = replace(CONFIG, kem_id=0x9999)
OTHER_KEY = generate_private_key(SCHEME, random.Random(1)).public_key

pytestmark = pytest.mark.django_db


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


class TestKeys:
    def test_same_request_gets_the_same_key_and_another_one_another(self) -> None:
        one, two = secrets.token_bytes(16), secrets.token_bytes(16)
        first, again, other = (helper_key(partner(), request=r, scheme=SCHEME) for r in (one, one, two))
        assert first.to_json() == again.to_json() != other.to_json()
        with pytest.raises(PeerRefusedError) as refusal:
            helper_key(partner(), request=one, scheme="paillier-2048")
        assert refusal.value.status == 409

    @pytest.mark.parametrize(
        ("request_", "scheme", "words"),
        [
            *((request, SCHEME, "hexadecimal") for request in ("", "00", "zz" * 16, "AA" * 16, "00" * 17)),
            ("00" * 16, "rot13", "rot13"),
        ],
    )
    def test_malformed_request_is_refused(self, request_: str, scheme: str, words: str) -> None:
        with pytest.raises(PeerRefusedError, match=words):
            ask_json(peer(), "POST", "/keys", {"request": request_, "encryption": scheme})
        assert not ShareKey.objects.exists()

    def test_unused_key_is_deleted_after_a_day(self) -> None:
        helper_key(partner(), request=bytes(16), scheme=SCHEME)
        upkeep(now=timezone.now() + timedelta(hours=23))
        assert ShareKey.objects.count() == 1
        upkeep(now=timezone.now() + timedelta(hours=25))
        assert not ShareKey.objects.exists()


class TestRecipes:
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

    def test_registration_sent_again_is_signed_alike_and_changes_no_key(self) -> None:
        publication = Publication()
        first = publication.register()
        assert publication.register() == first
        other_config, _ = generate_keypair(4, secrets.SystemRandom())
        for other in ({"verify_key": secrets.token_bytes(32)}, {"collector_config": other_config}):
            with pytest.raises(PeerRefusedError) as refusal:
                publication.register(**other)
            assert refusal.value.status == 409
        assert task_verify_key(Task.objects.get()) == publication.verify_key
        assert Entry.objects.filter(action="task_registered").count() == 1

    @pytest.mark.parametrize(
        ("changes", "named"),
        [
            ({"helper_key_members": OTHER_KEY.to_json()}, "helper.public_key"),
            ({"helper_url": "https://other.test"}, "helper.url"),
            ({"helper_verification_key": STRANGERS_KEY}, "helper.verification_key"),
        ],
        ids=["key", "address", "verification key"],
    )
    def test_recipe_of_another_helper_is_refused(self, changes: dict[str, Any], named: str) -> None:
        assert named in Publication().with_servers(**changes).refused()

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"task_id": bytes(32)}, "identifier"),
            ({"document": b"[]"}, "document"),
            *(({"verify_key": bytes(length)}, "verify_key") for length in (0, 16, 33)),
            ({"request": bytes(16)}, "one is kept for 1 day only"),
        ],
    )
    def test_registration_with_one_wrong_field_is_refused(self, changes: dict[str, Any], words: str) -> None:
        assert words in Publication().refused(**changes)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a batch below the helper's smallest": ({"min_batch_size": 3}, "at least 4"),
    "a batch size that JSON cannot hold": ({"min_batch_size": 2**64 - 1}, "min_batch_size: must be at most"),
    "a batch size that no database holds": (
        {"min_batch_size": 10**12 + 1},
        "min_batch_size: must be at most",
    ),
    "an unknown VDAF": ({"vdaf_type": 0x99}, "VDAF"),
    "pan-private shares without a recipe": ({"vdaf_type": 0xFFFF1001}, "VDAF"),
    "a sum that wraps round": (
        {"vdaf_type": 2, "vdaf_configuration": Prio3SumConfig(2**63).encode()},
        "min_batch_size: must be at most 1 if",
    ),
    **{
        f"a helper at {url}": ({"helper_aggregator_endpoint": url}, "helper_aggregator_endpoint")
        for url in ("https://other.test/helper", f"{HELPER_URL}//", f"{HELPER_URL}/x", f"{HELPER_URL}?")
    },
    **{
        f"a leader at {url[:30]}": ({"leader_aggregator_endpoint": url}, "leader_aggregator_endpoint")
        for url in (f"{LEADER_URL}//", "file:///etc/passwd", f"https://leader.test/{'a' * 600}")
    },
}


class TestPlainTasks:
    @pytest.mark.parametrize(("changes", "words"), BAD.values(), ids=BAD)
    def test_impossible_task_is_refused(self, changes: dict[str, Any], words: str, settings: Any) -> None:
        settings.SMALLEST_COHORT = 4
        with pytest.raises(PeerRefusedError) as refusal:
            Leader(configuration(**{"min_batch_size": 4, **changes}), verify=False).register()
        assert refusal.value.status == 400
        assert words in str(refusal.value)
        assert not Task.objects.exists()

    def test_task_is_registered_once_and_not_with_other_parameters(self) -> None:
        leader = registered()
        leader.register()
        assert Task.objects.count() == 1
        assert leader.task.document == ""
        leader.configuration = replace(leader.configuration, min_batch_size=2)
        with pytest.raises(PeerRefusedError) as refusal:
            leader.register()
        assert refusal.value.status == 409

    def test_task_of_the_largest_batch_is_taken(self) -> None:
        assert registered(min_batch_size=10**12).task.state == Task.State.OPEN

    def test_task_whose_addresses_end_in_a_slash_gives_a_result(self) -> None:
        leader = registered(
            leader_aggregator_endpoint=f"{LEADER_URL}/", helper_aggregator_endpoint=f"{HELPER_URL}/"
        )
        leader.register()
        time = current_time()
        reports = leader.reports(3, time=time)
        assert leader.aggregate(reports) == ["ok"] * 3
        assert leader.collected(reports, leader.share_request(reports, interval_selector(time))) == 3

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"task_configuration": "?"}, "task_configuration"),
            ({"verify_key": "AA=="}, "verify_key"),
            # No key of this algorithm can be sealed to.
            ({"collector_hpke_config": base64_text.encode(UNUSABLE.encode())}, "collector_hpke_config"),
        ],
    )
    def test_malformed_registration_names_the_field(self, changes: dict[str, str], field: str) -> None:
        members = {
            "task_configuration": configuration().encode(),
            "verify_key": bytes(32),
            "collector_hpke_config": CONFIG.encode(),
        }
        content = {name: base64_text.encode(value) for name, value in members.items()} | changes
        with pytest.raises(PeerRefusedError, match=field):
            ask_json(peer(), "PUT", f"/tasks/{base64_text.encode_url(bytes(32))}", content)
        assert not Task.objects.exists()


class TestStatusForTheLeader:
    def test_leader_sees_counts_and_reasons_and_why_a_task_ended(self) -> None:
        leader = registered()
        leader.aggregate([*leader.reports(3), leader.report(2, cheat=True)])
        seen = leader.status()
        rejections = {"vdaf_verify_error": 1}
        counted = {"state": "open", "report_count": 3, "collected": False}
        assert seen == {**counted, "rejections": rejections, "outcome": ""}
        task_end_at_helper(partner(), task_id=leader.task_id, reason="too few reports")
        seen = leader.status()
        assert (seen["state"], seen["outcome"]) == ("ended", "too few reports")


TEXTS = {"NUL": "a\0b", "half a surrogate pair": "a\ud800b"}


@pytest.mark.parametrize("reason", TEXTS.values(), ids=TEXTS)
def test_end_with_a_reason_that_is_no_text_is_refused(reason: str) -> None:
    leader = registered()
    with pytest.raises(PeerRefusedError, match="reason: must be text") as refusal:
        ask_json(peer(), "DELETE", leader.path, {"reason": reason})
    assert refusal.value.status == 400
    assert leader.task.state == Task.State.OPEN
