"""Conversations with Janus' binaries, replayed as bytes to our helper and to our leader.

tests/peers/test_janus_processes.py writes the file anew with JANUS_RECORD=1.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import transaction

from dap.helper.registrations import janus_task_register
from dap.leader.operations import task_create
from dap.leader.uploads import reports_upload
from dap.models import HpkeKey
from dap.operations import configuration_of
from dap.secrets_at_rest import HPKE_KEY
from dap.task_files import task_file_read
from panprivacy.protocols.dap.aggregation import AggregationJobInitReq
from panprivacy.protocols.dap.basics import HpkeConfig
from panprivacy.protocols.dap.collection import AggregateShareReq
from panprivacy.protocols.dap.dialects import JANUS
from panprivacy.protocols.dap.media import media_type
from panprivacy.protocols.dap.tokens import Token
from panprivacy.protocols.dap.upload import UploadRequest
from panprivacy.protocols.hpke import KemName
from storage.sealing import secret_seal
from tests.collections.dap.leader.scene import CLOCK, one_hot_sum
from tests.collections.dap.leader.test_janus import JanusPair
from tests.network import Answer, deliver

FILE = Path(__file__).with_name("janus_conversations.json")
BUCKETS = (0, 1, 1, 3)

pytestmark = pytest.mark.django_db


class StoredPair(JanusPair):
    """The task of a stored conversation, with its keys, at its time."""

    def __init__(self, stored: dict[str, Any], settings: Any) -> None:
        CLOCK.now = datetime.fromisoformat(stored["time"])
        helper = task_file_read(stored["file"].encode())
        settings.HELPER_URL, settings.LEADER_URL = helper.own_url, helper.peer_url
        settings.JANUS_PARTNERS = [helper.own_url, helper.peer_url]
        self.network: Any = self._to_helper
        config, private_key = (bytes.fromhex(stored[name]) for name in ("hpke_config", "hpke_private_key"))
        with transaction.atomic():
            HpkeKey.objects.create(
                kem=KemName.X25519,
                config_id=HpkeConfig.decode(config).id,
                config=config,
                sealed=secret_seal(private_key, kind=HPKE_KEY, owner=config),
                created_at=self.now,
            )
        janus_task_register(parameters=helper, now=self.now)
        self.task = task_create(
            task_id=helper.task_id,
            configuration=helper.configuration,
            verify_key=helper.verify_key,
            collector_config=helper.collector_config,
            collector_key=bytes.fromhex(stored["collector_private_key"]),
            helper_url=helper.own_url,
            helper_key=b"",
            dialect=JANUS,
            helper_token=Token.from_bytes(stored["token"].encode()),
            now=self.now,
        )
        self.task_id, self.configuration = helper.task_id, configuration_of(self.task)
        self.partner = self

    @staticmethod
    def _to_helper(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        return deliver(
            method, urlsplit(url).path, headers, body, urlconf="tests.network_urls", base="/helper"
        )


def conversation(side: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(FILE.read_text())[side]
    return read


def test_requests_of_janus_get_the_answers_that_it_took(settings: Any) -> None:
    stored = conversation("our_helper")
    pair = StoredPair(stored, settings)
    *jobs, share = stored["exchanges"]
    for job in jobs:
        assert send(pair, job, AggregationJobInitReq).hex() == job["answer"]
    # Each sealing has its own randomness: the length is the same.
    assert len(send(pair, share, AggregateShareReq)) == len(bytes.fromhex(share["answer"]))
    assert pair.counts()[1] == len(BUCKETS)


def send(pair: StoredPair, exchange: dict[str, str], message: Any) -> bytes:
    request = bytes.fromhex(exchange["request"])
    return pair.client().send(exchange["method"], exchange["path"], request, media_type(message)).body


def test_answers_of_janus_give_our_leader_the_right_sum(settings: Any) -> None:
    stored = conversation("our_leader")
    pair = StoredPair(stored, settings)
    expected = iter(stored["exchanges"])

    def replayed(method: str, url: str, headers: Any, body: bytes) -> Answer:
        exchange = next(expected)
        assert headers["Authorization"] == f"Bearer {stored['token'].partition(chr(10))[2]}"
        # The identifier at the end is random.
        assert (method, url[:-22]) == (exchange["method"], f"{settings.HELPER_URL}{exchange['path'][:-22]}")
        assert body.hex() == exchange["request"]
        return 201, {}, bytes.fromhex(exchange["answer"])

    pair.network = replayed
    uploaded = UploadRequest.decode(bytes.fromhex(stored["reports"])).reports
    assert reports_upload(task=pair.task, reports=uploaded, now=pair.now) == []
    job = pair.collect()
    pair.settle(2)
    assert pair.collected(job).values == one_hot_sum(BUCKETS)
