"""How much one upload may bring, checked before memory is spent on it: anyone may upload."""

from contextlib import suppress

from dap.limits import require_few_reports
from panprivacy.formats.tls_messages import Reader

UPLOAD_REPORTS = 10_000
"""Reports of one upload."""


def upload_check(body: bytes) -> None:
    """Walk over an UploadRequest without decoding it.

    Truncated input is not detected here, but in decoding.

    Raises:
        TooManyReportsError: more than `UPLOAD_REPORTS` reports, or than `dap.limits` allows of extensions.
    """
    with suppress(ValueError):
        require_few_reports(Reader(body, 0, len(body)), UPLOAD_REPORTS, of="An upload", shares=2)
