"""From the messages of devices through the shuffler to a release."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from partners import signed_views
from publishing.publication import recipe_close
from recipes.models import Recipe, RecipeKey
from reports.models import RejectionCount, StoredReports
from results.models import Release
from results.operations import result_withhold
from results.trust_models import collection_model_of
from shuffle.analyzer.batches import REQUESTS_SECONDS, fetch_begin, fetch_drive, fetch_end, fetches_take
from shuffle.analyzer.messages import FETCHED_REASON, part_store
from shuffle.analyzer.models import BatchFetch
from shuffle.analyzer.peers import shuffler_of
from shuffle.shuffler.batch_ends import batch_end, upkeep
from shuffle.shuffler.models import Batch, Part, Submission, SubmissionNonce
from simulations.installation.services import wait_until
from tests.clock import time_is
from tests.collections.shuffle.analyzer import scene
from tests.collections.shuffle.analyzer.scene import (
    drive,
    fill,
    release_of,
    settle,
    shuffle_recipe,
    statistic_of,
)
from tests.concurrency import KilledError, in_thread, waits_for_lock
from tests.driving import collections_advance
from tests.patience import PATIENCE
from web.transport import REQUEST_SECONDS

pytestmark = pytest.mark.django_db


def zeros(recipe: Recipe) -> list[int]:
    """As many messages as the shuffler takes from a user, each for the first place."""
    return [0] * statistic_of(recipe).fewest_messages


def assert_nothing_is_left(recipe: Recipe) -> None:
    """Neither messages nor the key that opens them, on either side."""
    for model in (StoredReports, RecipeKey, Submission, SubmissionNonce, Part):
        assert not model.objects.exists(), model
    assert Batch.objects.get(identifier=recipe.identifier).state == Batch.State.ENDED


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"statistic": "uniformity", "alpha": 0.5, "epsilon": 8.0, "delta": 0.1},
        {"statistic": "shuffle_histogram", "cohort_size": 60, "epsilon": 8.0, "delta": 0.1},
    ],
)
def test_full_batch_is_released_as_the_statistic_makes_it_of_all_messages(members: dict[str, Any]) -> None:
    recipe = shuffle_recipe(**members)
    total = fill(recipe, [place % 2 for place in range(recipe.cohort_size)])
    settle()
    release = release_of(recipe)
    assert release.outcome == Release.Outcome.RELEASED, release.reason
    assert release.reports == recipe.cohort_size
    assert release.values == list(statistic_of(recipe).estimate(total, recipe.cohort_size).values)
    assert_nothing_is_left(recipe)


def test_recipe_closed_before_its_batch_is_full_releases_nothing() -> None:
    recipe = shuffle_recipe()
    fill(recipe, [0, 1])
    recipe_close(recipe=recipe, actor=None)
    settle()
    release = release_of(recipe)
    assert (release.outcome, release.cause) == (Release.Outcome.WITHHELD, Release.Cause.TOO_FEW)
    assert release.reports is None
    assert_nothing_is_left(recipe)
    assert scene.send(recipe, zeros(recipe)) == 409


def test_recipe_closed_when_its_batch_was_full_is_released() -> None:
    recipe = shuffle_recipe()
    fill(recipe, [0, 1, 1])
    recipe_close(recipe=recipe, actor=None)
    settle()
    assert release_of(recipe).outcome == Release.Outcome.RELEASED


@pytest.mark.parametrize("unreadable", [1, 3])
def test_message_that_no_protocol_sends_is_replaced_and_nothing_shows_it(unreadable: int) -> None:
    recipe = shuffle_recipe(simulation=False)
    fill(recipe, [0, 1, 1][unreadable:])
    for _ in range(unreadable):
        assert scene.send(recipe, [99] * len(zeros(recipe))) == 201
    settle()
    release = release_of(recipe)
    assert release.outcome == Release.Outcome.RELEASED
    assert release.rejected == {}
    assert all(server["rejected"] == {} for server in release.servers)
    assert not RejectionCount.objects.exists()


def test_result_is_given_up_if_the_shuffler_is_gone() -> None:
    recipe = shuffle_recipe()
    fill(recipe, [0, 1, 1])
    settle(transport=scene.unreachable)
    recipe = recipe_close(recipe=recipe, actor=None)
    trouble = collection_model_of(recipe).progress(recipe).servers[1].trouble
    assert trouble is not None
    assert "ConnectionRefusedError" in trouble.error
    release = result_withhold(recipe=recipe, reason="the shuffler is gone", actor=None)
    assert release.cause == Release.Cause.GIVEN_UP
    assert not RecipeKey.objects.exists()
    settle()
    assert_nothing_is_left(recipe)


def test_recipe_closes_by_itself_once_its_batch_is_here() -> None:
    recipe = shuffle_recipe()
    fill(recipe, [0, 0])
    settle(ticks=1)
    fetch = BatchFetch.objects.get()
    assert (fetch.state, fetch.deletion_reason, fetch.parts) == (BatchFetch.State.ASKING, "", 0)
    assert Recipe.objects.get().status == Recipe.Status.PUBLISHED
    fill(recipe, [0])
    settle()
    assert Recipe.objects.get().status == Recipe.Status.CLOSED
    fetch.refresh_from_db()
    assert (fetch.state, fetch.deletion_reason) == (BatchFetch.State.FETCHED, FETCHED_REASON)
    assert fetch.is_deleted_there
    assert (fetch.fetched, fetch.stored) == (fetch.parts, fetch.messages)
    assert fetch.messages == 3 * len(zeros(recipe))


PARTS = 4
REQUESTS = 1 + PARTS + 1
"""Ask, fetch each part, delete."""

LATER = timedelta(hours=1)


class DyingNetwork:
    """Ends the process at one of its requests: before it is sent, or when the shuffler has answered."""

    def __init__(self, request: int, *, answered: bool) -> None:
        self.left = request
        self.answered = answered

    def __call__(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> scene.Answer:
        self.left -= 1
        if self.left == -1 and not self.answered:
            raise KilledError
        answer = scene.reached(method, url, headers, body)
        if self.left == -1:
            raise KilledError
        return answer


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> tuple[Recipe, list[int]]:
    """A recipe whose full batch has several parts; and how often each message was sent."""
    recipe = shuffle_recipe()
    size = recipe.published.public_key.ciphertext_bytes
    messages = recipe.cohort_size * statistic_of(recipe).most_messages
    monkeypatch.setattr("shuffle.shuffler.shuffled_batch.PART_BYTES", -(-messages // PARTS) * size)
    return recipe, fill(recipe, [0, 1, 1])


def assert_counted_once(recipe: Recipe, total: list[int]) -> None:
    release = release_of(recipe)
    assert release.outcome == Release.Outcome.RELEASED, release.reason
    assert release.values == list(statistic_of(recipe).estimate(total, recipe.cohort_size).values)
    assert Batch.objects.get().state == Batch.State.ENDED


@pytest.mark.parametrize("answered", [False, True])
@pytest.mark.parametrize("request_number", range(REQUESTS))
def test_worker_killed_at_any_request_leaves_every_message_counted_once(
    full: tuple[Recipe, list[int]], request_number: int, answered: bool
) -> None:
    recipe, total = full
    with pytest.raises(KilledError):
        settle(transport=DyingNetwork(request_number, answered=answered), ticks=1)
    stored = sum(StoredReports.objects.values_list("count", flat=True))
    assert stored <= sum(total)
    settle()
    assert_counted_once(recipe, total)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_answers_lost_for_a_while_are_asked_for_again(full: tuple[Recipe, list[int]], method: str) -> None:
    recipe, total = full
    settle(transport=scene.losing_answers(method), ticks=3)
    settle(after=LATER)
    assert_counted_once(recipe, total)


def test_worker_killed_within_a_transaction_leaves_nothing_of_the_part(
    full: tuple[Recipe, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, total = full
    stored = []

    def dying(row: BatchFetch, **options: Any) -> None:
        stored.append(StoredReports.objects.count())
        raise KilledError

    collections_advance()
    with monkeypatch.context() as patched:
        patched.setattr(BatchFetch, "save", dying)
        with pytest.raises(KilledError):
            settle(ticks=1)
    assert stored == [1]
    assert not StoredReports.objects.exists()
    settle()
    assert_counted_once(recipe, total)


def test_two_workers_with_the_same_batch_store_every_part_once(full: tuple[Recipe, list[int]]) -> None:
    recipe, total = full
    collections_advance()
    slow = BatchFetch.objects.select_related("recipe").get()
    quick = BatchFetch.objects.select_related("recipe").get()
    # One has asked and stored all parts; the other still believes that it is to ask.
    for worker in (quick, slow, slow):
        fetch_drive(fetch=worker, shuffler=shuffler_of(recipe, scene.reached), now=timezone.now())
    settle()
    assert_counted_once(recipe, total)


@pytest.mark.parametrize("fetched", [2, PARTS])
def test_part_that_comes_late_or_early_is_not_stored(full: tuple[Recipe, list[int]], fetched: int) -> None:
    recipe, total = full
    with pytest.raises(KilledError):
        settle(transport=DyingNetwork(1 + fetched, answered=False), ticks=1)
    fetch = BatchFetch.objects.select_related("recipe").get()
    assert fetch.fetched == fetched
    stored = StoredReports.objects.count()
    for number in set(range(PARTS)) - {fetched}:
        part_store(fetch=fetch, number=number, payload=bytes(66))
    assert StoredReports.objects.count() == stored
    settle(after=LATER)
    assert_counted_once(recipe, total)


def test_nothing_is_decrypted_before_the_last_part_is_here(full: tuple[Recipe, list[int]]) -> None:
    recipe, total = full
    with pytest.raises(KilledError):
        settle(transport=DyingNetwork(PARTS, answered=False), ticks=1)
    # Closed, so that nothing but the missing part keeps the others from being decrypted.
    recipe = recipe_close(recipe=recipe, actor=None)
    settle(transport=scene.unreachable, ticks=3)
    assert sum(StoredReports.objects.values_list("count", flat=True)) == sum(total) * (PARTS - 1) // PARTS
    assert not Release.objects.exists()
    settle(after=LATER)
    assert_counted_once(recipe, total)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("ending", "said", "words"),
    [
        ("/batch", {"users": 2}, "of 2 users"),
        ("/batch", {"messages": 1_000_000}, "more messages"),
        ("/batch", {"messages": 9, "parts": 0}, "parts"),
        ("/batch", {"messages": 9, "parts": 10}, "parts"),
        ("/batch", {"parts": PARTS - 1}, "announced"),
        ("/batch/2", b"", "whole ciphertexts"),
        ("/batch/2", bytes(67), "whole ciphertexts"),
        ("/batch/2", bytes(66), "not a ciphertext"),
    ],
)
def test_batch_that_cannot_be_one_is_refused_for_good(
    full: tuple[Recipe, list[int]],
    monkeypatch: pytest.MonkeyPatch,
    ending: str,
    said: dict[str, int] | bytes,
    words: str,
) -> None:
    recipe, total = full
    if isinstance(said, dict):
        batch = {"users": 3, "messages": sum(total), "parts": PARTS, "signature": "", "rejected": {}}
        said = json.dumps({**batch, **said}).encode()
    settle(transport=_answering(ending, said, monkeypatch), ticks=3)
    _assert_refused(recipe, words)


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("values", [(0, 1), (0, 1, 1)], ids=["unfull", "full"])
def test_batch_that_the_shuffler_deleted_ends_the_collection(values: tuple[int, ...], closed: bool) -> None:
    """Only of a closed recipe whose batch was not full there were too few users: else its spending would be
    returned, although every user's messages were there."""
    recipe = shuffle_recipe()
    fill(recipe, values)
    if closed:
        recipe_close(recipe=recipe, actor=None)
    batch_end(batch=Batch.objects.get(), reason="restored from a backup", now=timezone.now())
    settle(ticks=3)
    if closed and len(values) < 3:
        assert release_of(recipe).cause == Release.Cause.TOO_FEW
    else:
        _assert_refused(recipe, "restored from a backup")


def test_leases_keep_workers_from_asking_for_the_same_at_once() -> None:
    shuffle_recipe()
    collections_advance()
    now = timezone.now()
    assert len(fetches_take(now=now).rows) == 1
    assert fetches_take(now=now).rows == []
    assert len(fetches_take(now=now + timedelta(minutes=6)).rows) == 1


def test_unfull_batch_that_both_found_too_late_had_too_few_users(monkeypatch: pytest.MonkeyPatch) -> None:
    # The shuffler deletes it when its time is over, and we ask before we notice that ours is.
    recipe = shuffle_recipe(simulation=False)
    fill(recipe, [0, 1])
    settle(ticks=1)
    later = recipe.published.closes_at + timedelta(seconds=1)
    time_is(monkeypatch, lambda: later)
    upkeep(now=later)
    drive(now=later)
    settle()
    assert release_of(recipe).cause == Release.Cause.TOO_FEW


def _assert_refused(recipe: Recipe, says: str) -> None:
    release = release_of(recipe)
    assert (release.outcome, release.cause) == (Release.Outcome.WITHHELD, Release.Cause.REFUSED)
    assert says in release.reason
    assert not StoredReports.objects.exists()
    assert Batch.objects.get().state == Batch.State.ENDED


def _answering(ending: str, answer: bytes, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A network on which the shuffler itself answers GET of one address with other content."""
    signed = signed_views._sign

    def carry(method: str, url: str, headers: Mapping[str, str], body: bytes) -> scene.Answer:
        def other(request: Any, response: Any) -> Any:
            response.content, response.status_code = answer, 200
            return signed(request, response)

        if method != "GET" or not url.endswith(ending):
            return scene.reached(method, url, headers, body)
        with monkeypatch.context() as patched:
            patched.setattr(signed_views, "_sign", other)
            return scene.reached(method, url, headers, body)

    return carry


class SlowNetwork:
    """Takes `seconds` for each request, on a clock of its own."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.now = 0.0
        self.requests = 0

    def __call__(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> scene.Answer:
        self.now += self.seconds
        self.requests += 1
        return scene.reached(method, url, headers, body)


@pytest.mark.parametrize(
    ("seconds", "most"),
    [(REQUEST_SECONDS - 1, 1), (REQUESTS_SECONDS, 1), (REQUESTS_SECONDS * 0.4, 3), (0.1, REQUESTS)],
)
def test_task_begins_no_request_after_its_time_and_the_next_one_goes_on(
    full: tuple[Recipe, list[int]], seconds: float, most: int
) -> None:
    recipe, total = full
    network = SlowNetwork(seconds)
    tasks = []
    collections_advance()
    row = BatchFetch.objects.select_related("recipe").get()
    while not row.is_deleted_there:
        before, began = network.requests, network.now
        shuffler = shuffler_of(recipe, network)
        fetch_drive(fetch=row, shuffler=shuffler, now=timezone.now(), clock=lambda: network.now)
        tasks.append(network.requests - before)
        assert network.now - began <= REQUESTS_SECONDS + seconds < settings.CELERY_TASK_TIME_LIMIT
        row.refresh_from_db()
        assert row.failing_since is None
    assert (max(tasks), sum(tasks)) == (most, REQUESTS)
    settle()
    assert_counted_once(recipe, total)


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
def test_batch_that_is_asked_for_while_its_recipe_ends_blocks_nothing() -> None:
    """The one that begins waits for the recipe's lock, and holds nothing that the other needs."""
    recipe = shuffle_recipe()
    now = timezone.now()
    with transaction.atomic():
        Recipe.objects.select_for_update().get(pk=recipe.pk)
        asking = in_thread(lambda: fetch_begin(recipe=recipe, now=now))
        assert wait_until(waits_for_lock, PATIENCE)
        fetch_end(recipe=recipe, reason="it was withheld", now=now)
    asking.join(PATIENCE)
    assert BatchFetch.objects.get().deletion_reason == "it was withheld"
