"""Sorted segments: records by shard, so that one range of an object has those of one shard.

The first bits of a record's key give its shard. Within a shard, records keep their order. After the records
follows the index, 40 bytes for each shard in turn: the number of its first record and how many it has, 4
bytes each, big-endian, and the SHA-256 of these records.
"""

import numpy as np
from numpy.typing import NDArray

from panprivacy.recipe.report_shards.segments import HASH_BYTES, HEADER_BYTES, content_hash, segment_header

MOST_SHARDS = 65_536
"""16 bits of the key."""

ENTRY_BYTES = 8 + HASH_BYTES


def sorted_segment(
    records: bytes | bytearray | memoryview, *, record_bytes: int, shards: int
) -> tuple[bytes, bytes]:
    """An object with these records, sorted, and its index, with which the object ends.

    Args:
        records: one after the other, in the order in which they came.
        shards: a power of two, at most `MOST_SHARDS`.

    Needs twice the memory of the records in addition to them.
    """
    table = np.frombuffer(records, dtype=np.uint8).reshape(-1, record_bytes)
    numbers = shard_numbers(table, shards)
    # Stable: of records with one key, the one that came first stays first.
    ordered = table[np.argsort(numbers, kind="stable")]
    counts = np.bincount(numbers, minlength=shards)
    starts = np.concatenate(([0], np.cumsum(counts)))
    view = memoryview(ordered.reshape(-1))  # type: ignore[arg-type]  # an array is a buffer
    index = b"".join(
        int(start).to_bytes(4)
        + int(count).to_bytes(4)
        + content_hash(view[int(start) * record_bytes : int(start + count) * record_bytes])
        for start, count in zip(starts[:-1], counts, strict=True)
    )
    return b"".join((segment_header(record_bytes), view, index)), index


def shard_numbers(table: NDArray[np.uint8], shards: int) -> NDArray[np.int64]:
    """The shard of each record, by the first bits of its key.

    Args:
        table: bytes of shape (records, bytes of a record), at least two columns, one record in each row.
        shards: a power of two from 1 to `MOST_SHARDS`.

    Returns:
        Whole numbers from 0 to `shards` − 1, of shape (records,).

    Raises:
        ValueError: no such number of shards.
    """
    if not 1 <= shards <= MOST_SHARDS or shards & (shards - 1):
        raise ValueError(f"shards: a power of two from 1 to {MOST_SHARDS:,}, not {shards:,}")
    first_bits = (table[:, 0].astype(np.int64) << 8) | table[:, 1]
    numbers: NDArray[np.int64] = first_bits >> (17 - shards.bit_length())
    return numbers


def index_place(count: int, *, record_bytes: int, shards: int) -> tuple[int, int]:
    """The place of the index in an object with this number of records: its first byte, and its length."""
    return HEADER_BYTES + count * record_bytes, shards * ENTRY_BYTES
