"""Storing what a shuffler hands out: each message once, whatever is fetched twice and whatever crashes."""

from django.db import transaction

from panprivacy.encryption.interface import InvalidCiphertextError
from recipes.models import Recipe
from recipes.steps import step_due
from reports.models import StoredReports
from reports.rows import reports_per_chunk
from shuffle.analyzer.models import BatchFetch

FETCHED_REASON = "the analyzer has fetched it"


class BatchWrongError(ValueError):
    """What the shuffler signed for is no batch of this recipe; it will be the same tomorrow."""


def part_check(*, recipe: Recipe, payload: bytes) -> None:
    """BatchWrongError unless the part is whole ciphertexts under the recipe's key.

    Checked before anything is stored: a worker could not decrypt an invalid one.
    """
    key = recipe.published.public_key
    size = key.ciphertext_bytes
    if not payload or len(payload) % size:
        raise BatchWrongError("a part is not made of whole ciphertexts")
    try:
        for start in range(0, len(payload), size):
            key.parse(payload[start : start + size])
    except InvalidCiphertextError as error:
        raise BatchWrongError("a message is not a ciphertext under the recipe's key") from error


@transaction.atomic
def part_store(*, fetch: BatchFetch, number: int, payload: bytes) -> None:
    """Store a part that was checked, if it is the next one. The second of two processes finds that it is not.

    Raises:
        BatchWrongError: with it the batch has more or fewer messages than were announced.
    """
    # The recipe's lock first, as in the release of its result, so that the two cannot deadlock.
    Recipe.objects.select_for_update(no_key=True).get(pk=fetch.pk)
    row = BatchFetch.objects.select_for_update().get(pk=fetch.pk)
    if row.state != BatchFetch.State.FETCHING or row.fetched != number:
        return
    published = fetch.recipe.published
    size = published.public_key.ciphertext_bytes
    step = reports_per_chunk(published) * size
    pieces = [payload[start : start + step] for start in range(0, len(payload), step)]
    StoredReports.objects.bulk_create(
        StoredReports(recipe_id=row.recipe_id, count=len(piece) // size, payload=piece) for piece in pieces
    )
    row.fetched += 1
    row.stored += len(payload) // size
    if row.stored > row.messages or (row.fetched == row.parts and row.stored < row.messages):
        raise BatchWrongError("it is not the number of messages that was announced")
    if row.fetched == row.parts:
        row.state, row.deletion_reason = BatchFetch.State.FETCHED, FETCHED_REASON
    row.save(update_fields=["fetched", "stored", "state", "deletion_reason"])
    if row.state == BatchFetch.State.FETCHED:
        step_due(recipe=row.recipe_id)
