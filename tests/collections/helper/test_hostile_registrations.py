"""A leader that writes what nobody can store or ask: each is refused by name, and nothing fails over it."""

import json
import secrets
from typing import Any

import pytest

from dap.models import Task
from panprivacy.dap.hpke import generate_keypair
from panprivacy.dap.vdafs import Prio3SumConfig
from peers.client import PeerRefusedError
from peers.helper_calls import plain_task_register
from tests.collections.helper.scene import configuration, partner, peer, registered

pytestmark = pytest.mark.django_db

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a batch size that JSON cannot hold": ({"min_batch_size": 2**64 - 1}, "min_batch_size: must be at most"),
    "a batch size that no database holds": (
        {"min_batch_size": 10**12 + 1},
        "min_batch_size: must be at most",
    ),
    "an address of 600 characters": (
        {"leader_aggregator_endpoint": f"https://leader.test/{'a' * 600}"},
        "leader_aggregator_endpoint: must be an http",
    ),
    "a file": (
        {"leader_aggregator_endpoint": "file:///etc/passwd"},
        "leader_aggregator_endpoint: must be an http",
    ),
    "a script": (
        {"leader_aggregator_endpoint": "javascript:alert(1)"},
        "leader_aggregator_endpoint: must be an http",
    ),
    "a sum that wraps round": (
        {"vdaf_type": 2, "vdaf_configuration": Prio3SumConfig(2**63).encode()},
        "min_batch_size: must be at most 1 where",
    ),
}
TEXTS = {"NUL": "a\0b", "half a surrogate pair": "a\ud800b"}


@pytest.mark.parametrize(("changes", "words"), BAD.values(), ids=BAD)
def test_register_with_what_cannot_be_is_refused_by_name(changes: dict[str, Any], words: str) -> None:
    config, _ = generate_keypair(7, secrets.SystemRandom())
    with pytest.raises(PeerRefusedError) as refusal:
        plain_task_register(
            partner(),
            task_id=secrets.token_bytes(32),
            configuration=configuration(**changes),
            verify_key=secrets.token_bytes(32),
            collector_config=config,
        )
    assert refusal.value.status == 400
    assert words in str(refusal.value)
    assert not Task.objects.exists()


def test_register_of_the_largest_batch_size_is_taken() -> None:
    assert registered(min_batch_size=10**12).task.state == Task.State.OPEN


@pytest.mark.parametrize("reason", TEXTS.values(), ids=TEXTS)
def test_end_with_a_reason_that_is_no_text_is_refused_by_name_and_ends_nothing(reason: str) -> None:
    leader = registered()
    body = json.dumps({"reason": reason}).encode()
    with pytest.raises(PeerRefusedError, match="reason: must be text") as refusal:
        peer().send("DELETE", leader.path, body, "application/json")
    assert refusal.value.status == 400
    assert leader.task.state == Task.State.OPEN


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_key_in_a_scheme_that_is_no_text_is_refused_by_name(text: str) -> None:
    body = json.dumps({"request": "ab" * 16, "encryption": text}).encode()
    with pytest.raises(PeerRefusedError, match="encryption: must be text"):
        peer().post("/keys", body, "application/json")
