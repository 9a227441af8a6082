"""How much a recipe, and one request, may ask for."""

from django.conf import settings

from panprivacy.formats.base64_text import encoded_length
from panprivacy.formats.errors import FieldError
from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.shuffle.interface import ShuffleStatistic

REGISTRATION_BYTES = 1024 * 1024
EMPTY_BYTES = 1024
"""Of the body of a request that carries nothing; a reason fits."""

PART_BYTES = 4 * 1024 * 1024
"""Most bytes of one part of a shuffled batch."""

ENVELOPE_BYTES = 640
"""Most bytes of a body besides its messages: a token has 472 in base64."""

MESSAGE_OVERHEAD = 4
"""Bytes that JSON adds to a message in base64: its quotes, a comma and a space."""


def largest_body(recipe: PublishedRecipe) -> int:
    """Bytes that one user's messages take in a request, at most."""
    per_message = encoded_length(recipe.public_key.ciphertext_bytes) + MESSAGE_OVERHEAD
    return ENVELOPE_BYTES + statistic_as(recipe, ShuffleStatistic).most_messages * per_message


def require_fits(recipe: PublishedRecipe) -> None:
    """FieldError if this shuffler could not take such a batch in."""
    statistic = statistic_as(recipe, ShuffleStatistic)
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
