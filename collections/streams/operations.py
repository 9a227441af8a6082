"""What can be done to a stream. Every change of its state is one transaction that holds the stream's row.

The key of the next version is written before the transaction commits and the key of the previous version is
erased after it: whatever crashes, the committed state can be read, and with it every batch that was
acknowledged. docs/threat-model.md describes what else may be readable, and for how long.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

import numpy as np
import structlog
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from numpy.typing import NDArray

from log.audit.operations import entry_append
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.intervals.estimate import Estimate
from panprivacy.statistics.streams.interface import StreamStatistic
from panprivacy.statistics.streams.sample import Sample
from panprivacy.statistics.streams.state import StreamState
from storage.erasure import sync_committed
from storage.group_commit import GroupCommit, waits_bound
from storage.key_slots import all_erased
from storage.sealing import secrets_delete
from streams.actions import INTRUSION_ANNOUNCED
from streams.errors import IntrusionRefusedError, StreamBusyError, StreamClosedError, StreamLostError
from streams.limits import require_room
from streams.models import AnnouncedIntrusion, EndedStream, ItemBatch, SeenState, Stream, StreamSample
from streams.samples import sample_of, sample_seal
from streams.sealed_state import (
    estimate_seal,
    estimate_unseal,
    key_slots,
    state_seal,
    state_unseal,
)

logger = structlog.get_logger(__name__)

LARGEST_STATE = 32_000_000
"""Most bytes of a state. It is read and written as a whole for every batch of items, however small."""

REASON_LENGTH = 200
"""Most characters of the reason of an announced intrusion."""


@transaction.atomic
def stream_start(*, published: PublishedRecipe, sample: Sample) -> Stream:
    """Begin the stream of a recipe, in the transaction that publishes it.

    Raises:
        FieldError: its state would be larger than LARGEST_STATE bytes.
    """
    stream = Stream(identifier=published.identifier, document=published.canonical.decode())
    state = statistic_as(published, StreamStatistic).start(secrets.SystemRandom())
    _require_small(state, published)
    state_seal(stream, state)
    stream.save(force_insert=True)
    StreamSample.objects.create(stream=stream, sealed=sample_seal(sample, stream.id))
    return stream


def _require_small(state: StreamState, published: PublishedRecipe) -> None:
    size = len(state.to_bytes())
    if size > LARGEST_STATE:
        fitting = published.calibrated_statistic.parameters.table_size * LARGEST_STATE // size
        raise FieldError(
            "table_size",
            f"must be at most about {fitting:,} with these parameters: the state would have {size:,} bytes, "
            f"and this installation keeps at most {LARGEST_STATE:,}",
        )


@transaction.atomic
def stream_close(*, identifier: str) -> None:
    """Take no more items. Waits for those who are folding items in."""
    stream = _locked(identifier)
    stream.is_open = False
    stream.save(update_fields=["is_open"])


def items_fold(*, identifier: str, nonce: bytes, items: Sequence[str], now: datetime) -> None:
    """Fold a batch into the state, all of it or nothing; one with a known nonce counts as already folded. The
    items themselves are stored nowhere else.

    Args:
        identifier: of the recipe.
        nonce: 16 bytes, drawn once for the batch.

    Raises:
        ItemError: an item cannot be one; the message has its place in the batch, not the item.
        StreamBusyError: more would be written in a minute than `STREAM_BYTES_PER_MINUTE`; nothing was folded.
        StreamClosedError: the stream takes no items at present.
        StreamLostError: its state cannot be read.
    """
    # Before anything is locked: hashing takes longer than the rest.
    cells = sample_of(_stream_id(identifier)).cells_of(items)
    BATCHES.submit(ReadBatch(identifier, nonce, cells, now))


@dataclass(frozen=True)
class ReadBatch:
    """A batch whose items were hashed, and are to be folded in."""

    identifier: str
    nonce: bytes
    cells: NDArray[np.int64]
    now: datetime


# Durable: inside of another transaction a rollback would bring back a state without its key.
@transaction.atomic(durable=True)
def batches_fold(batches: Sequence[ReadBatch]) -> list[Exception | None]:
    """Fold several batches in, of any streams, in their order; the exception of each that was not."""
    waits_bound()
    outcomes: list[Exception | None] = [None] * len(batches)
    # All rows are locked in one order, so that two processes never wait for each other.
    for identifier in sorted({batch.identifier for batch in batches}):
        places = [place for place, batch in enumerate(batches) if batch.identifier == identifier]
        try:
            folded = _fold(identifier, [batches[place] for place in places])
        except (StreamClosedError, StreamLostError) as error:
            folded = [error] * len(places)
        for place, outcome in zip(places, folded, strict=True):
            outcomes[place] = outcome
    return outcomes


BATCHES: GroupCommit[ReadBatch, None] = GroupCommit(batches_fold)
"""Batches of many requests, folded in together if the process serves requests."""


def _fold(identifier: str, batches: Sequence[ReadBatch]) -> list[Exception | None]:
    """The same for batches of one stream, whose state is written once."""
    stream = _locked(identifier)
    nonces = [batch.nonce for batch in batches]
    known = ItemBatch.objects.filter(stream=stream, nonce__in=nonces).values_list("nonce", flat=True)
    folded = set(map(bytes, known))
    outcomes: list[Exception | None] = []
    fresh: list[ReadBatch] = []
    for batch in batches:
        outcome: Exception | None = None
        if batch.nonce not in folded:
            try:
                _require_open(stream, batch.now)
                if not fresh:
                    # For an empty batch, too: senders hide by those when items came, so it must leave what
                    # any other leaves.
                    require_room(stream)
            except (StreamClosedError, StreamBusyError) as error:
                outcome = error
            else:
                folded.add(batch.nonce)
                fresh.append(batch)
        outcomes.append(outcome)
    if fresh:
        state, statistic = state_unseal(stream), statistic_as(stream.published, StreamStatistic)
        ItemBatch.objects.bulk_create(ItemBatch(stream=stream, nonce=batch.nonce) for batch in fresh)
        for batch in fresh:
            statistic.process_batch(state, batch.cells, secrets.SystemRandom())
        _advance(stream, partial(state_seal, state=state))
    return outcomes


def intrusion_announce(
    *,
    identifier: str,
    actor: AbstractBaseUser | None,
    reason: str,
    now: datetime,
    number: int | None = None,
) -> AnnouncedIntrusion:
    """Read the state on purpose: randomize everything anew, and keep what was seen.

    In this order, in two transactions: what was seen is not sealed, and must not be in the database, not
    even in a transaction that comes to nothing, before the intrusion counts.

    Args:
        identifier: of the recipe.
        actor: the analyst who announces it. That they may is for the caller to check.
        reason: why, for the log: 1 to `REASON_LENGTH` characters, such as a file number. White space counts
            as single blanks. The recipe's public log does not show it.
        number: the number that the caller expects it to have, so that a repeated request is refused. None:
            whichever is next.

    Returns:
        The intrusion, which is counted; `selectors.seen_bytes` has what was seen.

    Raises:
        FieldError: the reason is empty, too long or has characters that cannot be printed.
        IntrusionRefusedError: the recipe allows no more, is closed, or another number is the next.
        StreamLostError: the state cannot be read.
    """
    stated = " ".join(reason.split())
    if not stated or len(stated) > REASON_LENGTH or not stated.isprintable():
        raise FieldError("reason", f"must be 1 to {REASON_LENGTH} printable characters")
    intrusion, seen = _announce(identifier, actor, stated, now, number)
    SeenState.objects.create(intrusion=intrusion, state=seen)
    return intrusion


@transaction.atomic(durable=True)
def _announce(
    identifier: str, actor: AbstractBaseUser | None, reason: str, now: datetime, number: int | None
) -> tuple[AnnouncedIntrusion, bytes]:
    stream = _locked(identifier)
    if not stream.is_open:
        raise IntrusionRefusedError("the recipe is closed")
    state = state_unseal(stream)
    statistic = statistic_as(stream.published, StreamStatistic)
    allowed = statistic.parameters.announced_intrusions
    if state.announced_intrusions >= allowed:
        raise IntrusionRefusedError(f"the recipe allows {allowed:,}, and all were made")
    following = state.announced_intrusions + 1
    if number not in (None, following):
        raise IntrusionRefusedError(f"the next one has the number {following:,}, not {number:,}")
    seen = state.to_bytes()
    intrusion = AnnouncedIntrusion.objects.create(identifier=identifier, number=following, at=now)
    statistic.announce_intrusion(state, secrets.SystemRandom())
    _advance(stream, partial(state_seal, state=state))
    entry_append(
        action=INTRUSION_ANNOUNCED,
        subject=identifier,
        actor=actor,
        details={"number": intrusion.number, "allowed": allowed, "reason": reason},
    )
    return intrusion, seen


def estimate_draw(*, identifier: str) -> None:
    """Draw the result of a closed stream, and put it in the place of the state. Once: later calls change
    nothing, nor do those after the stream's end.

    Before the transaction that releases it, not in it: there the result is written unsealed, and a database
    keeps rows of transactions that were rolled back. So it must be final by then, or two results, each with
    noise of its own, would be on the disk. That none could be computed is final as well.

    Raises:
        StreamClosedError: the stream takes items still.
        StreamLostError: the state cannot be read.
    """
    # Durable: inside of another transaction a rollback would bring back a state without its key.
    with transaction.atomic(durable=True):
        stream = _find_locked(identifier)
        if stream is None:
            return
        if stream.is_open:
            raise StreamClosedError("a stream is estimated once it takes no more items")
        if stream.estimate is None:
            _advance(stream, partial(estimate_seal, estimate=_estimate_made(stream)))
        else:
            # After a crash: no release until what was drawn is on the disk, and the state is erased.
            transaction.on_commit(partial(_key_erase, stream.id, stream.version - 1))


def _estimate_made(stream: Stream) -> Estimate | None:
    state = state_unseal(stream)
    try:
        return statistic_as(stream.published, StreamStatistic).estimate(state, secrets.SystemRandom())
    except ArithmeticError:
        # Parameters at the edge of what floating point can hold.
        logger.exception("estimate_failed", recipe=stream.identifier)
        return None


@transaction.atomic
def stream_estimate(*, identifier: str) -> Estimate | None:
    """The result of a closed stream as `estimate_draw` drew it: the same at every call.

    Returns:
        None if none could be computed.

    Raises:
        NotEstimatedError: it was not drawn.
        StreamLostError: it cannot be read.
    """
    return estimate_unseal(_locked(identifier))


@transaction.atomic
def stream_forget(*, identifier: str) -> None:
    """Delete state, estimate, sample, nonces and keys. What was seen at announced intrusions stays."""
    stream = _locked(identifier)
    EndedStream.objects.create(id=stream.id)
    transaction.on_commit(partial(_keys_delete, stream.id))
    secrets_delete(StreamSample.objects.filter(stream=stream), "sealed")
    stream.delete()


def old_keys_erase() -> None:
    """Erase what a crash left: keys of other versions than the committed one, and of ended streams.

    Raises:
        KeysNotErasedError: some files could not be read or written; of all others the keys are erased.
    """
    streams = Stream.objects.only("id", "version")
    left = [(stream.id, partial(_old_keys_erase_if_any, stream)) for stream in streams]
    left += [(ended.id, partial(_keys_delete, ended.id)) for ended in EndedStream.objects.all()]
    all_erased((key_slots(stream_id).path.name, erase) for stream_id, erase in left)


def _old_keys_erase_if_any(stream: Stream) -> None:
    # Checked before locking: there is rarely something to do.
    if key_slots(stream.id).read_all().keys() - {stream.version}:
        _old_keys_erase_of(stream.id)


@transaction.atomic
def _old_keys_erase_of(stream_id: UUID) -> None:
    stream = Stream.objects.select_for_update().only("id", "version").filter(id=stream_id).first()
    if stream is None:
        return
    # What is committed may not be on the disk yet, and then the previous version is all there is.
    sync_committed()
    slots = key_slots(stream_id)
    for version in slots.read_all().keys() - {stream.version}:
        slots.erase(version)


def _locked(identifier: str) -> Stream:
    stream = _find_locked(identifier)
    if stream is None:
        raise StreamClosedError("the stream has ended")
    return stream


def _find_locked(identifier: str) -> Stream | None:
    return Stream.objects.select_for_update().filter(identifier=identifier).first()


def _stream_id(identifier: str) -> UUID:
    found = Stream.objects.filter(identifier=identifier).values_list("id", flat=True).first()
    if found is None:
        raise StreamClosedError("the stream has ended")
    return found


def _require_open(stream: Stream, now: datetime) -> None:
    published = stream.published
    if not stream.is_open or not (published.simulation or published.opens_at <= now < published.closes_at):
        raise StreamClosedError("the stream takes no items now")


def _advance(stream: Stream, seal: Callable[[Stream], None]) -> None:
    """Store what `seal` puts into the row as the next version; the key of this one is erased once that is
    committed."""
    before = stream.version
    stream.version += 1
    if before - 1 in key_slots(stream.id).read_all():
        # A crash left it, and its slot is written over now: the version after it must be on the disk first.
        sync_committed()
    seal(stream)
    stream.save(update_fields=["version", "state", "estimate"])
    transaction.on_commit(partial(_key_erase, stream.id, before))


def _key_erase(stream_id: UUID, version: int) -> None:
    sync_committed()
    key_slots(stream_id).erase(version)


def _keys_delete(stream_id: UUID) -> None:
    sync_committed()
    key_slots(stream_id).delete()
    EndedStream.objects.filter(id=stream_id).delete()
