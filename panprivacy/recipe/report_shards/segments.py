"""Segments: reports that were stored together, as one object.

header      16 bytes: `panapp segment 1`
size        4 bytes: length of a record, big-endian
records     each a key of 16 bytes, then the ciphertexts of a report
"""

import hashlib
from collections.abc import Sequence

MAGIC = b"panapp segment 1"
HEADER_BYTES = len(MAGIC) + 4
KEY_BYTES = 16
"""Length of a record's key: a keyed hash, the same for reports if only one of them counts."""

HASH_BYTES = 32


class ChangedError(ValueError):
    """An object differs from what was written. The message is a clause without secrets."""


def content_hash(content: bytes | bytearray | memoryview) -> bytes:
    """SHA-256, 32 bytes."""
    return hashlib.sha256(content).digest()


def record_length(ciphertexts: int, ciphertext_bytes: int) -> int:
    """Bytes of a record of a recipe whose reports have this number of ciphertexts of this length."""
    return KEY_BYTES + ciphertexts * ciphertext_bytes


def segment_header(record_bytes: int) -> bytes:
    """With which an object begins whose records have this length."""
    return MAGIC + record_bytes.to_bytes(4)


def segment_write(records: Sequence[bytes], record_bytes: int) -> bytes:
    """An object with these records, in this order. Raises ValueError if one has another length."""
    if any(len(record) != record_bytes for record in records):
        raise ValueError(f"records: each must have {record_bytes} bytes")
    return segment_header(record_bytes) + b"".join(records)


def segment_read(content: bytes, *, record_bytes: int, expected_hash: bytes) -> memoryview:
    """The records of an object, one after the other.

    Raises:
        ChangedError: it is not the object that was written.
    """
    if content_hash(content) != expected_hash or not content.startswith(segment_header(record_bytes)):
        raise ChangedError("a stored segment of reports was changed")
    return memoryview(content)[HEADER_BYTES:]
