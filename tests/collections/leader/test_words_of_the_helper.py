"""What the helper says in words is shown, whatever it is: no refusal is lost over its own explanation."""

import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings

from leader.collecting import collection_job_advance, collection_job_drive
from leader.models import CollectionJob
from leader.results import Refusal
from panprivacy.dap.media import problem_type
from panprivacy.dap.signatures import sign_response
from tests.collections.leader.pair import Answer, Pair

pytestmark = pytest.mark.django_db

DETAILS = {"NUL": "a\0b", "half a surrogate pair": "a\ud800b", "very long": "a" * 100_000}


def refused(pair: Pair, status: int, detail: str) -> Answer:
    """The helper's refusal of the request that is on its way."""
    body = json.dumps({"type": problem_type("batchMismatch"), "detail": detail}).encode()
    signature = sign_response(
        status=status,
        headers={},
        body=body,
        request_headers=pair.network.headers,
        signing_key=Ed25519PrivateKey.from_private_bytes(settings.SIGNING_KEY),
    )
    return status, signature, body


@pytest.fixture
def pair() -> Pair:
    return Pair()


@pytest.fixture
def asking(pair: Pair) -> CollectionJob:
    """A collection whose batch is taken: only the helper's share is missing."""
    pair.upload(0, 1, 2)
    job = pair.collect()
    pair.tick()
    collection_job_advance(job=CollectionJob.objects.get(pk=job.pk), now=pair.now)
    return CollectionJob.objects.get(pk=job.pk, state=CollectionJob.State.ASKING)


@pytest.mark.parametrize("detail", DETAILS.values(), ids=DETAILS)
def test_collection_that_is_refused_in_odd_words_ends_with_the_refusal(
    pair: Pair, asking: CollectionJob, detail: str
) -> None:
    pair.network.faults.append(lambda send: refused(pair, 409, detail))
    collection_job_drive(job=asking.pk, peer=pair.partner.client(), now=pair.now)
    refusal = pair.result(asking)
    assert isinstance(refusal, Refusal)
    assert refusal.problem == "batchMismatch"
    assert refusal.detail.startswith("The helper refused its share: a")
    assert refusal.detail.isprintable()


@pytest.mark.parametrize("detail", DETAILS.values(), ids=DETAILS)
def test_collection_that_is_put_off_in_odd_words_says_since_when_and_goes_on(
    pair: Pair, asking: CollectionJob, detail: str
) -> None:
    pair.network.faults.append(lambda send: refused(pair, 503, detail))
    collection_job_drive(job=asking.pk, peer=pair.partner.client(), now=pair.now)
    asking.refresh_from_db()
    assert asking.failing_since == pair.now
    assert "status 503" in asking.last_error
    pair.settle(1)
    assert not isinstance(pair.result(asking), Refusal)
