"""From a full batch at the shuffler to stored reports here: ask, fetch, have it deleted there.

The database decides: a part's messages and the number of parts that are stored change in one transaction, and
the shuffler is asked to delete only after the last one is committed. Its parts are the same bytes every time.
So whatever is lost, doubled or killed, every message is stored once. Nothing is decrypted before all are
here.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q

from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.shuffle.interface import ShuffleStatistic
from partners.client import PeerClient, PeerRefusedError, PeerUnavailableError
from partners.failed_requests import request_failed
from partners.shuffler_calls import (
    NotFull,
    ShuffledBatch,
    batch_ask,
    batch_delete,
    part_fetch,
    was_deleted_unfull,
)
from recipes.models import Recipe
from recipes.steps import step_due
from shuffle.analyzer.messages import FETCHED_REASON, BatchWrongError, part_check, part_store
from shuffle.analyzer.models import BatchFetch

logger = structlog.get_logger(__name__)

LEASE = timedelta(minutes=5)
"""For which a worker has the row for itself; the time limit of a task."""

POLL = timedelta(minutes=1)
"""Between two questions whether a batch is full."""

PARTS_AT_ONCE = 16
"""Parts that one task fetches; the next task continues."""

REQUESTS_SECONDS = 10.0
"""Time after which a task begins no further request; the next task continues. A shuffler that drips bytes
holds a worker for this long plus one request, and its failure is noted before the time limit of the task."""

State = BatchFetch.State


def fetch_begin(*, recipe: Recipe, now: datetime) -> BatchFetch:
    """The row of a published recipe. One that was closed is asked about at once, once."""
    fetch = BatchFetch.objects.filter(recipe=recipe).first()
    if fetch is None:
        with transaction.atomic():
            # The recipe is locked first, as by what ends it: in another order the two would block each other.
            Recipe.objects.select_for_update(no_key=True).get(pk=recipe.pk)
            fetch, _ = BatchFetch.objects.get_or_create(recipe=recipe, defaults={"send_after": now})
    if recipe.status == Recipe.Status.CLOSED and not fetch.asked_closed:
        BatchFetch.objects.filter(pk=fetch.pk, state=State.ASKING, failing_since=None).update(send_after=now)
        BatchFetch.objects.filter(pk=fetch.pk).update(asked_closed=True)
    return fetch


@dataclass(frozen=True)
class Taken:
    """Rows that are leased, by their keys, and until when."""

    rows: list[int]
    until: datetime


@transaction.atomic
def fetches_take(*, now: datetime) -> Taken:
    """Rows with a request or notice to send to their shuffler now, leased; the caller sends their tasks."""
    pending = Q(state__in=(State.ASKING, State.FETCHING)) | ~Q(deletion_reason="")
    due = BatchFetch.objects.select_for_update(skip_locked=True).filter(
        pending, is_deleted_there=False, send_after__lte=now
    )
    taken = list(due.order_by("send_after").values_list("pk", flat=True)[:1_000])
    until = now + LEASE
    BatchFetch.objects.filter(pk__in=taken).update(send_after=until)
    return Taken(taken, until)


def fetch_drive(
    *, fetch: BatchFetch, shuffler: PeerClient, now: datetime, clock: Callable[[], float] = time.monotonic
) -> None:
    """Advance one batch as far as possible. May run at any time, twice at once, or die anywhere.

    Args:
        clock: seconds, from whenever.
    """
    began = clock()

    def has_time() -> bool:
        return clock() - began < REQUESTS_SECONDS

    try:
        if fetch.state == State.ASKING and not fetch.deletion_reason:
            _ask(fetch, shuffler, now)
        if fetch.state == State.FETCHING and not fetch.deletion_reason:
            _fetch(fetch, shuffler, has_time)
        if fetch.deletion_reason and not fetch.is_deleted_there and has_time():
            _have_deleted(fetch, shuffler)
    except BatchWrongError as error:
        _refuse(fetch, f"the shuffler's batch is wrong: {error}", now)
    except PeerRefusedError as error:
        if fetch.deletion_reason:
            # Whatever it objects to, it is asked again: its messages must go.
            _failed(fetch, str(error), now)
        else:
            _refuse(fetch, f"the shuffler refuses: {error}", now)
    except PeerUnavailableError as error:
        _failed(fetch, str(error), now)
    else:
        _succeeded(fetch, now)


@transaction.atomic
def fetch_end(*, recipe: Recipe, reason: str, now: datetime) -> None:
    """Take in nothing more, and have the shuffler delete what it has, with this reason if it has none yet."""
    row = BatchFetch.objects.select_for_update().filter(recipe=recipe).first()
    if row is None:
        row = BatchFetch(recipe=recipe)
    if row.state in {State.ASKING, State.FETCHING}:
        row.state, row.refusal = State.REFUSED, "the collection was ended"
    if not row.deletion_reason:
        row.deletion_reason, row.send_after = reason[:200], now
    row.save()


def _ask(fetch: BatchFetch, shuffler: PeerClient, now: datetime) -> None:
    recipe = fetch.recipe
    # Read before the answer: what is not full now may be by the time the recipe is closed.
    closed = _takes_no_more(recipe, now)
    try:
        answer = batch_ask(shuffler, identifier=str(recipe.identifier))
    except PeerRefusedError as refusal:
        # For a closed recipe this is the usual end, which the shuffler's own upkeep may reach before us.
        if not (closed and was_deleted_unfull(refusal)):
            raise
        answer = NotFull(fetch.received)
    if isinstance(answer, NotFull):
        changes: dict[str, Any] = {"received": min(answer.received, recipe.cohort_size - 1)}
        if closed:
            changes |= {"state": State.NOT_FULL, "deletion_reason": "it closed before all users had come"}
    else:
        _check(recipe, answer)
        changes = {
            "state": State.FETCHING if answer.parts else State.FETCHED,
            "deletion_reason": "" if answer.parts else FETCHED_REASON,
            "received": answer.users,
            "messages": answer.messages,
            "parts": answer.parts,
            "count_signature": answer.signature,
            "rejected": dict(answer.rejected),
        }
    with transaction.atomic():
        # Only from the state that we read: another process may have ended it in the meantime.
        BatchFetch.objects.filter(pk=fetch.pk, state=State.ASKING, deletion_reason="").update(**changes)
        if changes.get("state") in {State.FETCHED, State.NOT_FULL}:
            step_due(recipe=recipe)
    fetch.refresh_from_db()


def _takes_no_more(recipe: Recipe, now: datetime) -> bool:
    """Whether no device can take part any more: it was closed, or its time is over, as the shuffler
    sees too."""
    if not recipe.simulation and recipe.published.closes_at <= now:
        return True
    return Recipe.objects.filter(pk=recipe.pk, status=Recipe.Status.CLOSED).exists()


def _check(recipe: Recipe, batch: ShuffledBatch) -> None:
    statistic = statistic_as(recipe.published, ShuffleStatistic)
    if batch.users != statistic.cohort_size:
        raise BatchWrongError(f"it is of {batch.users:,} users, not of {statistic.cohort_size:,}")
    if not 0 <= batch.messages <= batch.users * statistic.most_messages:
        raise BatchWrongError("it has more messages than its users send")
    if not 0 <= batch.parts <= batch.messages or (batch.messages and not batch.parts):
        raise BatchWrongError("its messages do not fit its number of parts")


def _fetch(fetch: BatchFetch, shuffler: PeerClient, has_time: Callable[[], bool]) -> None:
    recipe = fetch.recipe
    for number in range(fetch.fetched, min(fetch.fetched + PARTS_AT_ONCE, fetch.parts)):
        if not has_time():
            break
        payload = part_fetch(shuffler, identifier=str(recipe.identifier), number=number)
        part_check(recipe=recipe, payload=payload)
        part_store(fetch=fetch, number=number, payload=payload)
    fetch.refresh_from_db()


def _have_deleted(fetch: BatchFetch, shuffler: PeerClient) -> None:
    batch_delete(shuffler, identifier=str(fetch.recipe.identifier), reason=fetch.deletion_reason)
    BatchFetch.objects.filter(pk=fetch.pk).update(is_deleted_there=True)


def _refuse(fetch: BatchFetch, reason: str, now: datetime) -> None:
    """There will be no batch. Its stored data is deleted in the transaction that records this outcome."""
    with transaction.atomic():
        changed = BatchFetch.objects.filter(pk=fetch.pk, state__in=(State.ASKING, State.FETCHING)).update(
            state=State.REFUSED,
            refusal=reason[:300],
            deletion_reason="the analyzer cannot use it",
            send_after=now,
        )
        step_due(recipe=fetch.recipe)
    if changed:
        logger.warning("batch_refused", recipe=fetch.recipe.identifier, reason=reason)


def _succeeded(fetch: BatchFetch, now: datetime) -> None:
    often = fetch.recipe.simulation or fetch.state != State.ASKING
    wait = timedelta(seconds=settings.ADVANCE_SECONDS) if often else POLL
    BatchFetch.objects.filter(pk=fetch.pk).update(
        send_after=now + wait, attempts=0, failing_since=None, last_error=""
    )


def _failed(fetch: BatchFetch, error: str, now: datetime) -> None:
    request_failed(BatchFetch.objects.all(), fetch, error=error, now=now)
    logger.warning("shuffler_request_failed", recipe=fetch.recipe.identifier, error=error)
