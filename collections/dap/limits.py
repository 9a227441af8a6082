"""How much one request may ask for, on either side; found out before memory is spent on it."""

from panprivacy.dap.codec import Reader

JOB_REPORTS = 1_000
"""Reports that a leader puts into one aggregation job at most, and that every helper must take."""

EXTENSION_BYTES = 65_536
"""Extensions of all reports of a request together. None is known, but four bytes of them make an object of a
hundred."""


def skip(reader: Reader, width: int) -> int:
    """Pass over an opaque field without decoding it.

    Args:
        width: of its length, in bytes.

    Returns:
        Its length.

    Raises:
        ValueError: cut short.
    """
    length = reader.uint(width)
    reader.within(length)
    return length
