"""Collectors elsewhere: signed requests, signed answers, everything else refused."""

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings
from django.test import Client

from dap.leader.models import CollectionJob, Collector
from dap.leader.operations import task_end
from dap.leader.results import COLLECTOR_KEY
from panprivacy.formats import base64_text
from panprivacy.protocols.dap.basics import HpkeConfig, Interval, Role
from panprivacy.protocols.dap.collection import AggregateShareAad, CollectionJobReq, CollectionJobResp, Query
from panprivacy.protocols.dap.hpke import open_aggregate_share
from panprivacy.protocols.dap.media import media_type
from panprivacy.protocols.dap.signatures import sign_request, verify_response
from panprivacy.protocols.dap.vdafs import verifier_for
from storage.sealing import secret_unseal
from tests.collections.dap.leader.scene import CLOCK, DOCUMENT, HOUR, Pair

pytestmark = pytest.mark.django_db

ORIGIN = "https://leader.example"
COLLECTOR = Ed25519PrivateKey.from_private_bytes(bytes(reversed(range(32))))
SOMEBODY = Ed25519PrivateKey.from_private_bytes(bytes(32))


REQUEST = CollectionJobReq(Query.of_interval(Interval(HOUR, 1)))
BODY = REQUEST.encode()


def collected_elsewhere() -> Pair:
    return Pair(collector_verification_key=COLLECTOR.public_key().public_bytes_raw())


def ask(
    method: str, path: str, body: bytes = b"", *, key: Ed25519PrivateKey = COLLECTOR, sent_to: str = ""
) -> Any:
    """A signed request of the collector's; the answer's signature is checked."""
    content_type = media_type(CollectionJobReq) if body else ""
    headers = sign_request(
        method=method,
        url=(sent_to or ORIGIN) + path,
        body=body,
        content_type=content_type,
        signing_key=key,
        created=int(CLOCK.now.timestamp()),
    )
    arguments = {"content_type": content_type} if body else {}
    response = Client().generic(method, path, body, headers=headers, **arguments)
    leader = Ed25519PrivateKey.from_private_bytes(settings.SIGNING_KEY).public_key()
    verify_response(
        status=response.status_code,
        headers=response.headers,
        body=response.content,
        request_headers=headers,
        verification_key=Ed25519PublicKey.from_public_bytes(leader.public_bytes_raw()),
        now=int(CLOCK.now.timestamp()),
    )
    return response


def jobs_path(pair: Pair) -> str:
    return f"/leader/tasks/{base64_text.encode_url(pair.task_id)}/collection_jobs"


def test_collector_elsewhere_polls_for_both_shares_and_opens_them() -> None:
    pair = collected_elsewhere()
    pair.upload(0, 1, 1)
    created = ask("POST", jobs_path(pair), BODY)
    assert (created.status_code, created.content, created["Retry-After"]) == (200, b"", "5")
    assert created["Location"].startswith(ORIGIN)
    address = created["Location"].removeprefix(ORIGIN)
    assert ask("GET", address).content == b""
    pair.settle(3)
    ready = ask("GET", address)
    assert ready["Content-Type"] == media_type(CollectionJobResp)
    assert ask("POST", jobs_path(pair), BODY).content == ready.content
    response = CollectionJobResp.decode(ready.content)
    # The collector's own key, which this test finds where the pair keeps it.
    sealed = Collector.objects.get(task=pair.task).hpke_key
    key = secret_unseal(sealed, kind=COLLECTOR_KEY, owner=pair.task_id)
    aad = AggregateShareAad(pair.task_id, pair.configuration, REQUEST)
    config = HpkeConfig.decode(bytes(pair.task.collector_config))
    shares = [
        open_aggregate_share(config, key, role, aad, ciphertext)
        for role, ciphertext in (
            (Role.LEADER, response.leader_encrypted_agg_share),
            (Role.HELPER, response.helper_encrypted_agg_share),
        )
    ]
    verifier = verifier_for(pair.configuration, pair.task_id, Role.LEADER, bytes(32))
    assert verifier.unshard(*shares, response.report_count) == (1, 2, 0, 0)


def test_collector_finds_its_own_job_until_it_deletes_it() -> None:
    pair, other = collected_elsewhere(), collected_elsewhere()
    address = ask("POST", jobs_path(pair), BODY)["Location"].removeprefix(ORIGIN)
    job = address.rpartition("/")[2]
    assert ask("GET", address).status_code == 200
    assert ask("GET", f"{jobs_path(other)}/{job}").status_code == 404
    for _ in range(2):
        assert ask("DELETE", address).status_code == 200
    assert ask("GET", address).status_code == 404
    unknown = ask("POST", f"/leader/tasks/{base64_text.encode_url(bytes(32))}/collection_jobs", b"\0")
    assert unknown.json()["type"].endswith(":unrecognizedTask")


def test_collector_of_too_few_reports_reads_why() -> None:
    pair = collected_elsewhere()
    pair.upload(0, 1)
    address = ask("POST", jobs_path(pair), BODY)["Location"].removeprefix(ORIGIN)
    pair.close()
    pair.settle(1)
    response = ask("GET", address)
    assert response.status_code == 400
    assert response.json()["type"].endswith(":invalidBatchSize")
    assert response.json()["taskid"] == base64_text.encode_url(pair.task_id)


@pytest.mark.parametrize(
    ("body", "token"),
    [
        (b"\xff", "invalidMessage"),
        (CollectionJobReq(Query.of_next_batch()).encode(), "invalidMessage"),
        (CollectionJobReq(Query.of_interval(Interval(HOUR, 0))).encode(), "batchInvalid"),
        (BODY[:-2] + b"\x00\x08\x00\x02\x00\x00\x00\x01\x00\x00", "invalidExtension"),
    ],
)
def test_collector_with_a_bad_request_reads_what_is_wrong(body: bytes, token: str) -> None:
    pair = collected_elsewhere()
    response = ask("POST", jobs_path(pair), body)
    assert response.status_code == 400
    assert response.json()["type"].endswith(f":{token}")


def test_request_of_somebody_else_is_refused() -> None:
    pair = collected_elsewhere()
    assert ask("POST", jobs_path(pair), BODY, key=SOMEBODY).status_code == 403
    assert ask("POST", jobs_path(pair), BODY, sent_to="https://other.example").status_code == 403
    unsigned = Client().post(jobs_path(pair), BODY, content_type=media_type(CollectionJobReq))
    assert unsigned.status_code == 401
    # Nor does a task without such a collector answer, or one that has ended.
    assert ask("POST", jobs_path(Pair()), BODY).status_code == 403
    task_end(task=pair.task, reason="over", now=pair.now)
    assert ask("POST", jobs_path(pair), BODY).status_code == 403
    assert not CollectionJob.objects.exists()


def test_recipes_task_has_no_collector_elsewhere() -> None:
    """It is collected as a whole, by the leader: nobody can ask for a part of it, open or closed."""
    recipe = {"interval": Interval(HOUR, 1), "document": DOCUMENT}
    with pytest.raises(ValueError, match="must have no collector elsewhere"):
        Pair(**recipe, collector_verification_key=COLLECTOR.public_key().public_bytes_raw())
    pair = Pair(**recipe)
    for _ in ("open", "closed"):
        answer = ask("POST", jobs_path(pair), BODY)
        assert (answer.status_code, answer.json()["title"]) == (403, "There is no such collector")
        pair.close()
    assert not CollectionJob.objects.exists()
