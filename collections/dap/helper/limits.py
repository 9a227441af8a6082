"""How much one request may ask for, checked before memory is spent on it."""

from contextlib import suppress

from dap.limits import require_few_reports, skip
from panprivacy.formats.tls_messages import UINT8, Reader

AGGREGATION_JOB_BYTES = 16 * 1024 * 1024
AGGREGATE_SHARE_BYTES = 64 * 1024
COUNT_BYTES = 1024
REGISTRATION_BYTES = 1024 * 1024
"""A recipe's document with two Paillier keys takes a few thousand."""


def job_check(body: bytes, most: int) -> None:
    """Walk over an AggregationJobInitReq without decoding it.

    Truncated input is not detected here, but in decoding.

    Raises:
        TooManyReportsError: more than `most` reports, or than `dap.limits` allows of extensions.
    """
    reader = Reader(body, 0, len(body))
    with suppress(ValueError):
        reader.take(UINT8.width)
        skip(reader, 4)
        extensions = skip(reader, 2)
        require_few_reports(reader, most, of="A job", shares=1, messages=1, extensions=extensions)
