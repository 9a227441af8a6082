"""A stored conversation of our two sides in the dialect of Janus, replayed to either side as bytes.

With JANUS_RECORD=1 the test of the leader writes the file anew.
"""

import json
import os
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dap.helper.registrations import janus_task_register
from dap.leader.operations import task_create
from dap.leader.uploads import reports_upload
from dap.models import HpkeKey
from dap.operations import configuration_of
from dap.secrets_at_rest import HPKE_KEY
from dap.task_files import task_file_read, task_file_write
from panprivacy.protocols.dap.aggregation import AggregationJobInitReq
from panprivacy.protocols.dap.basics import HpkeConfig
from panprivacy.protocols.dap.collection import AggregateShareReq
from panprivacy.protocols.dap.dialects import JANUS, Token
from panprivacy.protocols.dap.hpke import generate_keypair
from panprivacy.protocols.dap.media import media_type
from panprivacy.protocols.dap.upload import UploadRequest
from panprivacy.protocols.hpke import KemName
from partners.client import PeerClient
from storage.sealing import secret_seal
from tests.collections.dap.leader.scene import HELPER_URL, LEADER_URL, NOW, Network, one_hot_sum
from tests.collections.dap.leader.test_janus import JanusPair
from tests.network import Answer

FILE = Path(__file__).with_name("janus_conversation.json")
BUCKETS = (0, 1, 1, 3)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _janus_is_a_partner(settings: Any) -> None:
    settings.JANUS_PARTNERS = [HELPER_URL, LEADER_URL]


class StoredPair(JanusPair):
    """The two sides of the stored conversation, with its keys."""

    def __init__(self, stored: dict[str, Any]) -> None:
        self.network = Network()
        config, private_key = (bytes.fromhex(stored[name]) for name in ("hpke_config", "hpke_private_key"))
        sealed = secret_seal(private_key, kind=HPKE_KEY, owner=config)
        number = HpkeConfig.decode(config).id
        HpkeKey.objects.create(config_id=number, config=config, sealed=sealed, created_at=NOW)
        helper = task_file_read(stored["file"].encode())
        janus_task_register(parameters=helper, now=NOW)
        self.task = task_create(
            task_id=helper.task_id,
            configuration=helper.configuration,
            verify_key=helper.verify_key,
            collector_config=helper.collector_config,
            collector_key=bytes.fromhex(stored["collector_private_key"]),
            helper_url=HELPER_URL,
            helper_key=b"",
            dialect=JANUS,
            helper_token=Token.from_bytes(stored["token"].encode()),
            now=NOW,
        )
        self.task_id, self.configuration = helper.task_id, configuration_of(self.task)
        self.partner = self


def conversation() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(FILE.read_text())
    return read


def test_stored_requests_get_the_stored_answers_of_the_helper() -> None:
    stored = conversation()
    pair = StoredPair(stored)
    (job, share) = stored["exchanges"]
    answer = send(pair.client(), job, AggregationJobInitReq)
    assert (answer.status, answer.body.hex()) == (201, job["answer"])
    # Each sealing has its own randomness: the length is the same.
    assert len(send(pair.client(), share, AggregateShareReq).body) == len(bytes.fromhex(share["answer"]))
    assert pair.counts()[1] == len(BUCKETS)


def send(client: PeerClient, exchange: dict[str, str], message: Any) -> Any:
    request = bytes.fromhex(exchange["request"])
    return client.send(exchange["method"], exchange["path"], request, media_type(message))


def test_stored_answers_give_the_leader_the_right_sum() -> None:
    if os.environ.get("JANUS_RECORD"):
        record()
    stored = conversation()
    pair = StoredPair(stored)
    expected = iter(stored["exchanges"])

    def replayed(method: str, url: str, headers: Any, body: bytes) -> Answer:
        exchange = next(expected)
        assert headers["Authorization"] == f"Bearer {stored['token'].partition(chr(10))[2]}"
        # The identifier at the end is random.
        assert (method, url[:-22]) == (exchange["method"], f"{HELPER_URL}{exchange['path'][:-22]}")
        assert body.hex() == exchange["request"]
        return 201, {}, bytes.fromhex(exchange["answer"])

    pair.network = replayed  # type: ignore[assignment]
    uploaded = UploadRequest.decode(bytes.fromhex(stored["reports"])).reports
    assert reports_upload(task=pair.task, reports=uploaded, now=NOW) == []
    job = pair.collect()
    pair.settle(2)
    assert pair.collected(job).values == one_hot_sum(BUCKETS)


def record() -> None:
    """Let both sides speak to each other, and write down what was said."""
    config, private_key = generate_keypair(1, secrets.SystemRandom(), KemName.X25519)
    collector_config, collector_key = generate_keypair(9, secrets.SystemRandom(), KemName.X25519)
    stored: dict[str, Any] = {
        "hpke_config": config.encode().hex(),
        "hpke_private_key": private_key.hex(),
        "collector_private_key": collector_key.hex(),
        "token": "Bearer\nof-the-conversation",
    }
    token = Token.from_bytes(stored["token"].encode())
    new = replace(
        JanusPair().parameters(),
        task_id=bytes(range(32)),
        collector_config=collector_config,
        token_hash=token.hashed(),
    )
    stored["file"] = task_file_write(new)
    HpkeKey.objects.all().delete()
    pair = StoredPair(stored)
    stored["reports"] = b"".join(report.encode() for report in pair.upload(*BUCKETS)).hex()
    exchanges: list[dict[str, str]] = []
    carry = pair.network

    def noting(method: str, url: str, headers: Any, body: bytes) -> Answer:
        status, answered, content = carry(method, url, headers, body)
        path = url.removeprefix(HELPER_URL)
        exchanges.append({"method": method, "path": path, "request": body.hex(), "answer": content.hex()})
        return status, answered, content

    pair.network = noting  # type: ignore[assignment]
    pair.collect()
    pair.settle(2)
    FILE.write_text(json.dumps({**stored, "exchanges": exchanges}, indent=1) + "\n")
    pytest.skip("the conversation was written anew")
