"""How much one upload may bring, found out before memory is spent on it: anyone may upload."""

from contextlib import suppress

from dap.limits import require_few_reports
from panprivacy.tls_messages import Reader

UPLOAD_REPORTS = 10_000
"""Reports of one upload."""


def upload_check(body: bytes) -> None:
    """Walk over an UploadRequest without decoding it.

    What is cut short is not told here: decoding does.

    Raises:
        TooManyReportsError: more than `UPLOAD_REPORTS` reports, or than `dap.limits` allows of extensions.
    """
    with suppress(ValueError):
        require_few_reports(Reader(body, 0, len(body)), UPLOAD_REPORTS, of="An upload", shares=2)
