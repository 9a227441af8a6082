"""How much one request may ask for, found out before memory is spent on it."""

from dap.limits import EXTENSION_BYTES, skip
from panprivacy.dap.basics import REPORT_ID_BYTES
from panprivacy.dap.codec import UINT8, UINT64, Reader

AGGREGATION_JOB_BYTES = 16 * 1024 * 1024
AGGREGATE_SHARE_BYTES = 64 * 1024
REGISTRATION_BYTES = 1024 * 1024
"""A recipe's document with two Paillier keys takes a few thousand."""


class TooManyReportsError(ValueError):
    """A job with more reports, or more extensions, than it may have. The message says how many that are."""


def require_few_reports(body: bytes, most: int) -> None:
    """Walk over an AggregationJobInitReq without decoding it.

    What is cut short is not told here: decoding does.

    Raises:
        TooManyReportsError: more than `most` reports, or than `EXTENSION_BYTES` of extensions.
    """
    reader = Reader(body, 0, len(body))
    reports = extensions = 0
    try:
        reader.take(UINT8.width)
        skip(reader, 4)
        extensions += skip(reader, 2)
        while reader.remaining:
            reports += 1
            if reports > most:
                raise TooManyReportsError(f"A job has at most {most:,} reports.")
            reader.take(REPORT_ID_BYTES + UINT64.width)
            extensions += skip(reader, 2)
            if extensions > EXTENSION_BYTES:
                raise TooManyReportsError(f"A job has at most {EXTENSION_BYTES:,} bytes of extensions.")
            skip(reader, 4)  # public share
            reader.take(UINT8.width)  # configuration identifier
            skip(reader, 2)  # encapsulated key
            skip(reader, 4)  # ciphertext
            skip(reader, 4)  # the leader's verification message
    except TooManyReportsError:
        raise
    except ValueError:
        return
