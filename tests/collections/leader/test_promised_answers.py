"""A helper that answers later: where its answer will be is believed only as far as it can be asked there."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings

from leader.aggregating import aggregation_jobs_plan
from leader.collecting import collection_job_advance
from leader.exchange import LOCATION_ATTEMPTS, PATIENCE
from leader.models import AggregationJob, CollectionJob
from leader.selectors import progress_of
from panprivacy.dap.signatures import sign_response
from tests.collections.leader.pair import CLOCK, HELPER_URL, Answer, Fault, Pair

pytestmark = pytest.mark.django_db

BAD_LOCATIONS = {
    "no host": "http://[",
    "a space": "/helper/x y",
    "a control character": "/helper/\x7f",
    "too long": f"{HELPER_URL}/{'a' * 600}",
    "another host": "http://evil.example/x",
    "another host, without scheme": "//127.0.0.1:1/x",
    "no port": "https://helper.example:x/helper/y",
    "no path": "later",
}


def signed(pair: Pair, *, status: int = 200, **headers: str) -> Answer:
    """The helper's answer without a body to the request that is on its way."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    signing_key = Ed25519PrivateKey.from_private_bytes(settings.SIGNING_KEY)
    request_headers = pair.network.headers
    signature = sign_response(
        status=status, headers=given, body=b"", request_headers=request_headers, signing_key=signing_key
    )
    return status, given | signature, b""


def later(pair: Pair, location: str) -> Fault:
    """The helper promises the answer for later."""
    return lambda send: signed(pair, Location=location, Retry_After="1")


def nobody(send: Callable[[], Answer]) -> Answer:
    """A proxy that knows no such path."""
    return 404, {}, b"<h1>Not found</h1>"


def planned(pair: Pair) -> AggregationJob:
    pair.upload(0, 1, 2)
    (job,) = aggregation_jobs_plan(task=pair.task, now=pair.now)
    return AggregationJob.objects.get(pk=job)


@pytest.mark.parametrize("location", BAD_LOCATIONS.values(), ids=BAD_LOCATIONS)
def test_drive_with_a_promise_for_no_address_of_the_helper_says_so_and_asks_again_as_before(
    location: str,
) -> None:
    pair = Pair()
    job = planned(pair)
    pair.network.faults.append(later(pair, location))
    pair.drive(job.pk)
    row = AggregationJob.objects.get()
    assert (row.location, row.failing_since) == ("", pair.now)
    assert "address" in row.last_error
    pair.drive(job.pk)
    assert [method for method, _, _ in pair.network.requests] == ["POST", "POST"]
    assert pair.counts() == (3, 3)


def test_drive_with_neither_an_answer_nor_a_promise_says_so() -> None:
    pair = Pair()
    job = planned(pair)
    pair.network.faults.append(lambda send: signed(pair))
    pair.drive(job.pk)
    assert AggregationJob.objects.get().failing_since == pair.now


def test_drive_when_nobody_answers_where_the_answer_was_promised_asks_anew() -> None:
    pair = Pair()
    job = planned(pair)
    pair.network.faults.extend([later(pair, "/helper/moved/away"), *[nobody] * LOCATION_ATTEMPTS])
    for _ in range(LOCATION_ATTEMPTS + 1):
        pair.drive(job.pk)
    row = AggregationJob.objects.get()
    assert (row.location, row.failing_since) == ("", pair.now)
    pair.drive(job.pk)
    methods = [method for method, _, _ in pair.network.requests]
    assert methods == ["POST", *["GET"] * LOCATION_ATTEMPTS, "POST"]
    assert len({body for method, _, body in pair.network.requests if method == "POST"}) == 1
    assert pair.counts() == (3, 3)


def test_collection_when_nobody_answers_where_the_share_was_promised_asks_anew() -> None:
    pair = Pair()
    pair.upload(0, 1, 2)
    job = pair.collect()
    pair.tick()
    collection_job_advance(job=CollectionJob.objects.get(pk=job.pk), now=pair.now)
    assert CollectionJob.objects.get(pk=job.pk).state == CollectionJob.State.ASKING
    pair.network.faults.extend([later(pair, "/helper/moved/away"), *[nobody] * LOCATION_ATTEMPTS])
    pair.settle(LOCATION_ATTEMPTS + 2)
    assert pair.result(job) is not None


@pytest.mark.parametrize("retried", [False, True], ids=["at its place", "by asking again"])
def test_drive_with_an_answer_that_is_promised_for_ever_is_shown_like_a_helper_that_is_away(
    retried: bool,
) -> None:
    pair = Pair()
    job = planned(pair)
    began = pair.now
    promise = later(pair, "/helper/later")
    # Where it was promised, the helper knows nothing of it any more: all begins again.
    forgotten: Fault = lambda send: signed(pair, status=404)  # noqa: E731  # named for its type
    pair.network.faults.extend([promise, forgotten if retried else promise] * 50)
    pair.drive(job.pk)
    assert progress_of(task=pair.task).failing_since is None  # nothing is wrong with that
    while pair.now < began + PATIENCE:
        CLOCK.now += timedelta(seconds=30)
        pair.drive(job.pk)
    for _ in range(2):
        pair.drive(job.pk)
        progress = progress_of(task=pair.task)
        assert progress.failing_since == began
        assert "promise" in progress.last_error
    pair.network.faults.clear()
    AggregationJob.objects.update(location="")
    pair.drive(job.pk)
    assert pair.counts() == (3, 3)


def test_promise_after_a_failure_does_not_make_it_forgotten() -> None:
    pair = Pair()
    job = planned(pair)
    began = pair.now
    pair.network.faults.extend([nobody, later(pair, "/helper/later")])
    pair.drive(job.pk)
    CLOCK.now += timedelta(seconds=30)
    pair.drive(job.pk)
    assert progress_of(task=pair.task).failing_since == began
