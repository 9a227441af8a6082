"""Handing a full batch on: all messages in one random order, in which no user's messages stay together."""

from secrets import SystemRandom

import numpy as np
from django.db import transaction

from log.audit.operations import entry_append
from panprivacy.formats.rounded_counts import rounded_count
from panprivacy.recipe.document import recipe_of
from panprivacy.statistics.shuffle.shuffler import permute
from shuffle.shuffler.actions import BATCH_SHUFFLED
from shuffle.shuffler.limits import PART_BYTES
from shuffle.shuffler.models import Batch, Part, Submission
from web.problems import Problem, row_found


def batch_shuffle(*, batch: Batch) -> tuple[Batch, int]:
    """Shuffle a full batch, once; later requests find the same parts.

    Returns:
        The batch, and its number of parts.

    Raises:
        Problem: it was deleted (`batch-deleted`, with the reason, and whether it ever was full), or is not
            full (`not-full`, with the number of users in coarse steps).
    """
    if batch.state != Batch.State.SHUFFLED:
        batch = _shuffle(batch)
    return batch, Part.objects.filter(batch=batch).count()


def part_of(*, batch: Batch, number: int) -> bytes:
    """The ciphertexts of one part, one after the other. Raises Problem if there is none."""
    part = row_found(Part.objects.all(), "The batch has no such part.", batch=batch, number=number)
    return bytes(part.payload)


@transaction.atomic
def _shuffle(batch: Batch) -> Batch:
    batch = Batch.objects.select_for_update().get(pk=batch.pk)
    if batch.state == Batch.State.SHUFFLED:
        return batch
    _require_full(batch)
    size = recipe_of(batch.document).public_key.ciphertext_bytes
    submissions = Submission.objects.filter(batch=batch)
    together = b"".join(map(bytes, submissions.values_list("payload", flat=True).iterator()))
    rows = np.frombuffer(together, dtype=np.uint8).reshape(-1, size)
    payload = permute(rows, SystemRandom()).tobytes()
    step = PART_BYTES // size * size
    Part.objects.bulk_create(
        (
            Part(batch=batch, number=number, payload=payload[start : start + step])
            for number, start in enumerate(range(0, len(payload), step))
        ),
        batch_size=1,
    )
    submissions.delete()
    batch.state, batch.messages = Batch.State.SHUFFLED, len(payload) // size
    batch.save(update_fields=["state", "messages"])
    entry_append(
        action=BATCH_SHUFFLED,
        subject=batch.identifier,
        actor=None,
        details={"cohort_size": batch.cohort_size},
    )
    return batch


def _require_full(batch: Batch) -> None:
    if batch.state == Batch.State.ENDED:
        # Checked first: for a batch that never was full, its analyzer would wait for ever.
        raise Problem("batch-deleted", "The batch was deleted", 410, batch.outcome, full=batch.was_full)
    if not batch.was_full:
        raise Problem(
            "not-full",
            "The batch is not full",
            409,
            f"It is handed on when all {batch.cohort_size:,} users have come, and not before.",
            received=rounded_count(batch.users, batch.cohort_size),
        )
