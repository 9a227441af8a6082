"""How much one request may ask for, on either side; checked before memory is spent on it."""

from panprivacy.formats.tls_messages import UINT8, UINT64, Reader
from panprivacy.protocols.dap.basics import REPORT_ID_BYTES
from panprivacy.protocols.dap.token_extension import ENCODED_BYTES, HEADER

JOB_REPORTS = 1_000
"""Reports that a leader puts into one aggregation job at most, and that every helper must take."""

EXTENSION_BYTES = 65_536
"""Extensions of all reports of a request together, but for those that are a single token: any other is
unknown, and four bytes of them make an object of a hundred."""


class TooManyReportsError(Exception):
    """A request with more reports, or extensions, than it may have. The message states how many that are."""


def require_few_reports(
    reader: Reader, most: int, *, of: str, shares: int, messages: int = 0, extensions: int = 0
) -> None:
    """Walk over the reports of a request, to its end, without decoding them.

    Args:
        reader: at the first report.
        of: the request, as a subject.
        shares, messages: sealed shares of each report, and the verification messages behind them.
        extensions: bytes of them that precede the reports.

    Raises:
        TooManyReportsError: more than `most` reports, or than `EXTENSION_BYTES` of extensions.
        ValueError: cut short.
    """
    reports = 0
    while reader.remaining:
        reports += 1
        if reports > most:
            raise TooManyReportsError(f"{of} has at most {most:,} reports.")
        reader.take(REPORT_ID_BYTES + UINT64.width)
        extensions += _unknown_extensions(reader)
        if extensions > EXTENSION_BYTES:
            raise TooManyReportsError(f"{of} has at most {EXTENSION_BYTES:,} bytes of extensions.")
        skip(reader, 4)  # public share
        for _ in range(shares):
            reader.take(UINT8.width)  # configuration identifier
            skip(reader, 2)  # encapsulated key
            skip(reader, 4)  # ciphertext
        for _ in range(messages):
            skip(reader, 4)


def _unknown_extensions(reader: Reader) -> int:
    """Pass over the extensions of one report: how many bytes of them are anything but a single token."""
    length = reader.uint(2)
    carried = reader.within(length)
    is_token = length == ENCODED_BYTES and carried.take(len(HEADER)) == HEADER
    return 0 if is_token else length


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
