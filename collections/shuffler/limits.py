"""How much a recipe, and one request, may ask for."""

from django.conf import settings

from panprivacy.errors import FieldError
from panprivacy.recipe import PublishedRecipe
from panprivacy.shuffle.recipe_statistic import shuffle_statistic

NONCE_BYTES = 16
REGISTRATION_BYTES = 1024 * 1024
EMPTY_BYTES = 1024
"""Of the body of a request that carries nothing; a reason fits."""

PART_BYTES = 4 * 1024 * 1024
"""Most bytes of one part of a shuffled batch."""

ENVELOPE_BYTES = 640
"""Of a body beside its messages, at most: a token has 354."""

MESSAGE_OVERHEAD = 5
"""Bytes that MessagePack adds to a byte string, at most."""


def largest_body(recipe: PublishedRecipe) -> int:
    """Bytes that one user's messages take in a request, at most."""
    per_message = recipe.public_key.ciphertext_bytes + MESSAGE_OVERHEAD
    return ENVELOPE_BYTES + shuffle_statistic(recipe).most_messages * per_message


def require_fits(recipe: PublishedRecipe) -> None:
    """FieldError where this shuffler could not take such a batch in."""
    statistic = shuffle_statistic(recipe)
    if statistic.cohort_size < settings.SMALLEST_COHORT:
        raise FieldError("cohort_size", f"must be at least {settings.SMALLEST_COHORT} for this shuffler")
    if largest_body(recipe) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        raise FieldError(
            "k",
            f"makes {statistic.most_messages:,} messages per user: more than {most:,} bytes in one request",
        )
    messages = statistic.cohort_size * statistic.most_messages
    size = messages * recipe.public_key.ciphertext_bytes
    if size > settings.BATCH_BYTES:
        raise FieldError(
            "cohort_size",
            f"makes {messages:,} messages of all users, {size:,} bytes; this shuffler mixes at most "
            f"{settings.BATCH_BYTES:,}",
        )
