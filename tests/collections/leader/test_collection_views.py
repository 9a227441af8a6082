"""Collectors elsewhere: signed requests, signed answers, everything else refused."""

import uuid
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings
from django.test import Client

from leader.models import CollectionJob, Collector
from leader.operations import task_end
from leader.results import COLLECTOR_KEY
from panprivacy import base64_text
from panprivacy.dap.basics import HpkeConfig, Interval, Role
from panprivacy.dap.collection import AggregateShareAad, CollectionJobReq, CollectionJobResp, Query
from panprivacy.dap.hpke import open_aggregate_share
from panprivacy.dap.media import media_type
from panprivacy.dap.signatures import sign_request, verify_response
from panprivacy.dap.vdafs import verifier_for
from storage.sealing import secret_unseal
from tests.collections.leader.pair import CLOCK, DOCUMENT, HOUR, Pair

pytestmark = pytest.mark.django_db

ORIGIN = "https://leader.example"
COLLECTOR = Ed25519PrivateKey.from_private_bytes(bytes(reversed(range(32))))
SOMEBODY = Ed25519PrivateKey.from_private_bytes(bytes(32))


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


def test_collector_elsewhere_polls_until_both_shares_are_there_and_opens_them() -> None:
    pair = collected_elsewhere()
    pair.upload(0, 1, 1)
    request = CollectionJobReq(Query.of_interval(Interval(HOUR, 1)))
    created = ask("POST", jobs_path(pair), request.encode())
    assert (created.status_code, created.content, created["Retry-After"]) == (200, b"", "5")
    assert created["Location"].startswith(ORIGIN)
    address = created["Location"].removeprefix(ORIGIN)
    assert ask("GET", address).content == b""
    pair.settle(3)
    ready = ask("GET", address)
    assert ready["Content-Type"] == media_type(CollectionJobResp)
    assert ask("POST", jobs_path(pair), request.encode()).content == ready.content
    response = CollectionJobResp.decode(ready.content)
    # The collector's own key, which this test finds where the pair keeps it.
    sealed = Collector.objects.get(task=pair.task).hpke_key
    key = secret_unseal(sealed, kind=COLLECTOR_KEY, owner=pair.task_id)
    aad = AggregateShareAad(pair.task_id, pair.configuration, request)
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


def test_collector_that_deletes_its_job_finds_it_gone() -> None:
    pair = collected_elsewhere()
    request = CollectionJobReq(Query.of_interval(Interval(HOUR, 1)))
    address = ask("POST", jobs_path(pair), request.encode())["Location"].removeprefix(ORIGIN)
    assert ask("DELETE", address).status_code == 200
    assert ask("DELETE", address).status_code == 200
    assert ask("GET", address).status_code == 404


def test_collector_of_too_few_reports_reads_why() -> None:
    pair = collected_elsewhere()
    pair.upload(0, 1)
    request = CollectionJobReq(Query.of_interval(Interval(HOUR, 1)))
    address = ask("POST", jobs_path(pair), request.encode())["Location"].removeprefix(ORIGIN)
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
        (
            CollectionJobReq(Query.of_interval(Interval(HOUR, 1))).encode()[:-2]
            + b"\x00\x08\x00\x02\x00\x00\x00\x01\x00\x00",
            "invalidExtension",
        ),
    ],
)
def test_collector_with_a_bad_request_reads_what_is_wrong(body: bytes, token: str) -> None:
    pair = collected_elsewhere()
    response = ask("POST", jobs_path(pair), body)
    assert response.status_code == 400
    assert response.json()["type"].endswith(f":{token}")


def test_request_of_somebody_else_is_refused() -> None:
    pair = collected_elsewhere()
    body = CollectionJobReq(Query.of_interval(Interval(HOUR, 1))).encode()
    assert ask("POST", jobs_path(pair), body, key=SOMEBODY).status_code == 403
    assert ask("POST", jobs_path(pair), body, sent_to="https://other.example").status_code == 403
    unsigned = Client().post(jobs_path(pair), body, content_type=media_type(CollectionJobReq))
    assert unsigned.status_code == 401
    assert not CollectionJob.objects.exists()


def test_request_for_the_job_of_another_task_finds_nothing() -> None:
    first, second = collected_elsewhere(), collected_elsewhere()
    job = first.collect()
    assert ask("GET", f"{jobs_path(second)}/{base64_text.encode_url(job.pk.bytes)}").status_code == 404
    assert ask("GET", f"{jobs_path(first)}/{base64_text.encode_url(uuid.uuid4().bytes)}").status_code == 404


def test_task_without_a_collector_elsewhere_answers_nobody() -> None:
    pair = Pair()
    body = CollectionJobReq(Query.of_interval(Interval(HOUR, 1))).encode()
    assert ask("POST", jobs_path(pair), body).status_code == 403


def test_recipes_task_has_no_collector_elsewhere() -> None:
    """It is collected as a whole, by the leader: nobody can ask for a part of it, open or closed."""
    recipe = {"interval": Interval(HOUR, 1), "document": DOCUMENT}
    with pytest.raises(ValueError, match="must have no collector elsewhere"):
        Pair(**recipe, collector_verification_key=COLLECTOR.public_key().public_bytes_raw())
    pair = Pair(**recipe)
    body = CollectionJobReq(Query.of_interval(Interval(HOUR, 1))).encode()
    for _ in ("open", "closed"):
        answer = ask("POST", jobs_path(pair), body)
        assert (answer.status_code, answer.json()["title"]) == (403, "There is no such collector")
        pair.close()
    assert not CollectionJob.objects.exists()


def test_unknown_task_is_said_to_be_unknown() -> None:
    collected_elsewhere()
    response = ask("POST", f"/leader/tasks/{base64_text.encode_url(bytes(32))}/collection_jobs", b"\0")
    assert response.json()["type"].endswith(":unrecognizedTask")


def test_ended_task_answers_nobody() -> None:
    pair = collected_elsewhere()
    task_end(task=pair.task, reason="over", now=pair.now)
    body = CollectionJobReq(Query.of_interval(Interval(HOUR, 1))).encode()
    assert ask("POST", jobs_path(pair), body).status_code == 403
