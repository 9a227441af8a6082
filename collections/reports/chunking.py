"""How many reports one task can take in without taking long.

A report can be one small ciphertext or a thousand large ones. Rows of stored reports are
never split, so both the rows and the chunks that workers get keep to this size.
"""

from django.conf import settings

from panprivacy.recipe.document import PublishedRecipe
from panprivacy.recipe.statistic import statistic_as
from panprivacy.statistics.interface import ReportStatistic

CHUNK_SECONDS = 10.0
"""Time that decrypting one chunk should take at most: well below the tasks' time limit."""

CHUNK_BYTES = 8 * 1024 * 1024
"""Length of the ciphertexts of one chunk at most, which a worker holds in memory."""


def reports_per_chunk(recipe: PublishedRecipe) -> int:
    """Number of reports of one stored row, and of one chunk, at most; 1 or more."""
    public_key, ciphertexts = recipe.public_key, statistic_as(recipe, ReportStatistic).report_ciphertexts
    by_time = CHUNK_SECONDS / (ciphertexts * public_key.decryption_seconds)
    by_length = CHUNK_BYTES / (ciphertexts * public_key.ciphertext_bytes)
    return max(1, int(min(settings.CHUNK_REPORTS, by_time, by_length)))
