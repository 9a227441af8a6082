"""Whatever is lost, doubled or killed between shuffler and analyzer, every message counts once."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from analyzer.fetching import REQUESTS_SECONDS, fetch_drive, fetches_take
from analyzer.models import BatchFetch
from analyzer.peers import shuffler_of
from analyzer.storing import part_store
from peers import signed_views
from peers.transport import REQUEST_SECONDS
from recipes.models import Recipe
from releases.models import Release
from releases.operations import collections_advance
from reports.models import StoredReports
from shuffler.ending import batch_end, upkeep
from shuffler.models import Batch
from tests.clock import time_is
from tests.collections.analyzer import scene
from tests.collections.analyzer.scene import drive, fill, release_of, settle, shuffle_recipe, statistic_of
from trust_models.publishing import recipe_close

pytestmark = pytest.mark.django_db

PARTS = 4
REQUESTS = 1 + PARTS + 1
"""Ask, fetch each part, delete."""

LATER = timedelta(hours=1)


class KilledError(BaseException):
    """The end of a process."""


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
    monkeypatch.setattr("shuffler.mixing.PART_BYTES", -(-messages // PARTS) * size)
    return recipe, fill(recipe, [0, 1, 1])


def assert_counted_once(recipe: Recipe, total: list[int]) -> None:
    release = release_of(recipe)
    assert release is not None
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
    assert release_of(recipe) is None
    settle(after=LATER)
    assert_counted_once(recipe, total)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b'{"users": 2, "messages": 9, "parts": 1, "signature": "", "rejected": {}}', "of 2 users"),
        (b'{"users": 3, "messages": 1000000, "parts": 1, "signature": "", "rejected": {}}', "more messages"),
        (b'{"users": 3, "messages": 9, "parts": 0, "signature": "", "rejected": {}}', "parts"),
        (b'{"users": 3, "messages": 9, "parts": 10, "signature": "", "rejected": {}}', "parts"),
    ],
)
def test_batch_that_cannot_be_one_is_refused_for_good(
    monkeypatch: pytest.MonkeyPatch, answer: bytes, says: str
) -> None:
    recipe = shuffle_recipe()
    settle(transport=_answering("/batch", answer, monkeypatch), ticks=3)
    _assert_refused(recipe, says)


@pytest.mark.parametrize(
    ("part", "says"),
    [(b"", "whole ciphertexts"), (bytes(67), "whole ciphertexts"), (bytes(66), "not a ciphertext")],
)
def test_part_that_holds_no_ciphertexts_is_refused_and_nothing_of_it_stored(
    full: tuple[Recipe, list[int]], monkeypatch: pytest.MonkeyPatch, part: bytes, says: str
) -> None:
    recipe, _ = full
    settle(transport=_answering("/batch/2", part, monkeypatch), ticks=3)
    _assert_refused(recipe, says)


def test_batch_with_fewer_messages_than_announced_is_refused(
    full: tuple[Recipe, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, total = full
    shorter = b'{"users": 3, "messages": %d, "parts": %d, "signature": "", "rejected": {}}' % (
        sum(total),
        PARTS - 1,
    )
    settle(transport=_answering("/batch", shorter, monkeypatch), ticks=3)
    _assert_refused(recipe, "announced")


def test_shuffler_that_deleted_the_batch_ends_the_collection_without_a_result(
    full: tuple[Recipe, list[int]],
) -> None:
    recipe, _ = full
    batch_end(batch=Batch.objects.get(), reason="restored from a backup", now=timezone.now())
    settle(ticks=3)
    _assert_refused(recipe, "restored from a backup")


def test_leases_keep_workers_from_asking_for_the_same_at_once() -> None:
    shuffle_recipe()
    collections_advance()
    now = timezone.now()
    assert len(fetches_take(now=now).rows) == 1
    assert fetches_take(now=now).rows == []
    assert len(fetches_take(now=now + timedelta(minutes=6)).rows) == 1


def test_shuffler_that_deleted_a_batch_before_it_was_full_ends_the_collection_with_its_reason() -> None:
    recipe = shuffle_recipe()
    fill(recipe, [0, 1])
    settle(ticks=1)
    batch_end(batch=Batch.objects.get(), reason="restored from a backup", now=timezone.now())
    settle()
    _assert_refused(recipe, "restored from a backup")


def test_closed_recipe_whose_unfull_batch_the_shuffler_deleted_first_had_too_few_users() -> None:
    recipe = shuffle_recipe()
    fill(recipe, [0, 1])
    recipe_close(recipe=recipe, actor=None)
    batch_end(batch=Batch.objects.get(), reason="its time was over", now=timezone.now())
    settle()
    release = release_of(recipe)
    assert release is not None
    assert release.cause == Release.Cause.TOO_FEW


def test_unfull_batch_that_both_sides_found_too_late_had_too_few_users(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The shuffler deletes it when its time is over, and we ask before we notice that ours is.
    recipe = shuffle_recipe(simulation=False)
    fill(recipe, [0, 1])
    settle(ticks=1)
    later = recipe.published.closes_at + timedelta(seconds=1)
    time_is(monkeypatch, lambda: later)
    upkeep(now=later)
    drive(now=later)
    settle()
    release = release_of(recipe)
    assert release is not None
    assert release.cause == Release.Cause.TOO_FEW


def test_closed_recipe_whose_full_batch_the_shuffler_deleted_is_not_said_to_have_had_too_few(
    full: tuple[Recipe, list[int]],
) -> None:
    # Its spending would be returned, although every user's messages were there.
    recipe, _ = full
    recipe_close(recipe=recipe, actor=None)
    batch_end(batch=Batch.objects.get(), reason="restored from a backup", now=timezone.now())
    settle(ticks=3)
    _assert_refused(recipe, "restored from a backup")


def _assert_refused(recipe: Recipe, says: str) -> None:
    release = release_of(recipe)
    assert release is not None
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
