"""How much one upload may bring, found out before memory is spent on it: anyone may upload."""

from dap.limits import EXTENSION_BYTES, skip
from panprivacy.dap.basics import REPORT_ID_BYTES
from panprivacy.dap.codec import UINT8, UINT64, Reader

UPLOAD_REPORTS = 10_000
"""Reports of one upload."""


class UploadTooLargeError(ValueError):
    """An upload with more reports, or more extensions, than it may have. The message says how many."""


def upload_check(body: bytes) -> None:
    """Walk over an UploadRequest without decoding it.

    What is cut short is not told here: decoding does.

    Raises:
        UploadTooLargeError: more than `UPLOAD_REPORTS` reports, or than `EXTENSION_BYTES` of extensions.
    """
    reader = Reader(body, 0, len(body))
    reports = extensions = 0
    try:
        while reader.remaining:
            reports += 1
            reader.take(REPORT_ID_BYTES + UINT64.width)
            extensions += skip(reader, 2)
            skip(reader, 4)  # public share
            for _ in range(2):
                reader.take(UINT8.width)  # configuration identifier
                skip(reader, 2)  # encapsulated key
                skip(reader, 4)  # ciphertext
    except ValueError:
        pass
    if reports > UPLOAD_REPORTS:
        raise UploadTooLargeError(f"An upload has at most {UPLOAD_REPORTS:,} reports.")
    if extensions > EXTENSION_BYTES:
        raise UploadTooLargeError(f"An upload has at most {EXTENSION_BYTES:,} bytes of extensions.")
