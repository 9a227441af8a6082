"""The manifest of a closed recipe: every object with its reports, and the hash of every byte in them.

It is two objects. The first is JSON (RFC 8785): the format, the recipe, the length of a record, the
sorted segments in their order, and the hash of each shard's list. The second has these lists, one after
the other: of each shard the entries of the indexes of all segments, in their order. To sum a shard, a worker
reads the first object, one range of the second, and one range of each segment.

SHA-256 of the first object covers all: every byte that is read is the one that was sealed.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from panprivacy.formats.canonical_json import canonical_json
from panprivacy.recipe.report_shards.segments import (
    HASH_BYTES,
    HEADER_BYTES,
    ChangedError,
    content_hash,
)
from panprivacy.recipe.report_shards.sorted_segment import ENTRY_BYTES, index_place

FORMAT = "panapp manifest 1"
MANIFEST, LISTS = "manifest", "lists"
"""Names of the two objects, below the recipe's own."""

BATCH_BYTES = 32 * 1024 * 1024
"""What is read together, at most, unless a single range is longer."""

BLOCK_BYTES = 64 * 1024 * 1024
"""Length of the lists that are made at once, about."""

INDEXES_TOGETHER = 64
"""Indexes that are partly read in parallel."""


@dataclass(frozen=True)
class SortedSegment:
    """One object of a manifest.

    Attributes:
        name: below the recipe's own.
        reports: number of records.
        sources: SHA-256 of the hashes of the segments that it was made of, in their order.
    """

    name: str
    reports: int
    sources: bytes


@dataclass(frozen=True)
class Range:
    """Bytes of one object, below the recipe's own name."""

    name: str
    start: int
    length: int


Read = Callable[[Sequence[Range]], Sequence[bytes]]
"""Reads ranges of objects, all together, in the order in which they are asked for."""


@dataclass(frozen=True)
class Manifest:
    """The first object.

    Attributes:
        recipe: its identifier.
        lists: of each shard the SHA-256 of its list.
        counts: of each shard the number of its records.
    """

    recipe: str
    record_bytes: int
    segments: tuple[SortedSegment, ...]
    lists: tuple[bytes, ...]
    counts: tuple[int, ...]

    def to_bytes(self) -> bytes:
        """The stored form."""
        return canonical_json(
            {
                "format": FORMAT,
                "recipe": self.recipe,
                "record_bytes": self.record_bytes,
                "segments": [
                    {"name": every.name, "reports": every.reports, "sources": every.sources.hex()}
                    for every in self.segments
                ],
                "shards": [
                    {"list": digest.hex(), "reports": count}
                    for digest, count in zip(self.lists, self.counts, strict=True)
                ],
            }
        )

    @classmethod
    def from_bytes(cls, content: bytes, *, expected_hash: bytes) -> "Manifest":
        """Raises ChangedError if it is not the one that was sealed."""
        if content_hash(content) != expected_hash:
            raise ChangedError("the manifest of the stored reports was changed")
        members: dict[str, Any] = json.loads(content)
        if members["format"] != FORMAT:
            raise ChangedError(f"the manifest of the stored reports is no {FORMAT!r}")
        return cls(
            recipe=members["recipe"],
            record_bytes=members["record_bytes"],
            segments=tuple(
                SortedSegment(every["name"], every["reports"], bytes.fromhex(every["sources"]))
                for every in members["segments"]
            ),
            lists=tuple(bytes.fromhex(every["list"]) for every in members["shards"]),
            counts=tuple(every["reports"] for every in members["shards"]),
        )


def manifest_seal(
    *,
    recipe: str,
    record_bytes: int,
    segments: Sequence[SortedSegment],
    index_hashes: Sequence[bytes],
    shards: int,
    read: Read,
    write: Callable[[memoryview], object],
) -> Manifest:
    """The manifest of these segments. It reads their indexes and writes the lists, some shards at a time: at
    once there is never more of either than `BLOCK_BYTES`, or one shard's list if that is longer.

    Args:
        index_hashes: of each segment the SHA-256 of its index.
        read: from the store; raises for objects that it does not have.
        write: appends to the object with the lists.

    Raises:
        ChangedError: an index is not what was written. What was appended until then means nothing.
    """

    def part_of(segment: SortedSegment, first: int, width: int) -> Range:
        place, _ = index_place(segment.reports, record_bytes=record_bytes, shards=shards)
        return Range(segment.name, place + first * ENTRY_BYTES, width * ENTRY_BYTES)

    seen = [hashlib.sha256() for _ in segments]
    lists: list[bytes] = []
    counts: list[int] = []
    block = max(1, BLOCK_BYTES // (ENTRY_BYTES * max(1, len(segments))))
    for first in range(0, shards, block):
        width = min(block, shards - first)
        entries = np.empty((width, len(segments), ENTRY_BYTES), dtype=np.uint8)
        for start in range(0, len(segments), INDEXES_TOGETHER):
            together = segments[start : start + INDEXES_TOGETHER]
            contents = read([part_of(every, first, width) for every in together])
            for number, content in enumerate(contents, start):
                seen[number].update(content)
                entries[:, number] = np.frombuffer(content, dtype=np.uint8).reshape(width, ENTRY_BYTES)
        rows = entries.reshape(width, -1)
        lists += [content_hash(row.data) for row in rows]
        counts += entries[:, :, 4:8].copy().view(">u4")[:, :, 0].sum(axis=1, dtype=np.int64).tolist()
        write(memoryview(entries.reshape(-1)))  # type: ignore[arg-type]  # an array is a buffer
        del entries, rows  # to free memory for the next ones
    if [every.digest() for every in seen] != list(index_hashes):
        raise ChangedError("a sorted segment of reports was changed")
    return Manifest(recipe, record_bytes, tuple(segments), tuple(lists), tuple(counts))


def shard_slices(manifest: Manifest, shard: int, read: Read) -> Iterator[bytes]:
    """The records of one shard, segment by segment, in the order in which they came.

    Args:
        read: from the store; raises for objects that it does not have.

    Raises:
        ChangedError: an object is not what was sealed.
    """
    length = len(manifest.segments) * ENTRY_BYTES
    (entries,) = read([Range(LISTS, shard * length, length)])
    if content_hash(entries) != manifest.lists[shard]:
        raise ChangedError("the lists of the stored reports were changed")
    batch: list[tuple[Range, bytes]] = []
    size = 0
    for number, segment in enumerate(manifest.segments):
        entry = entries[number * ENTRY_BYTES : (number + 1) * ENTRY_BYTES]
        start, count = int.from_bytes(entry[:4]), int.from_bytes(entry[4:8])
        if not count:
            continue
        length = count * manifest.record_bytes
        if batch and size + length > BATCH_BYTES:
            yield from _checked(batch, read)
            batch, size = [], 0
        place = Range(segment.name, HEADER_BYTES + start * manifest.record_bytes, length)
        batch.append((place, entry[-HASH_BYTES:]))
        size += length
    if batch:
        yield from _checked(batch, read)


def _checked(batch: Sequence[tuple[Range, bytes]], read: Read) -> Iterator[bytes]:
    contents = read([place for place, _ in batch])
    for content, (_, expected_hash) in zip(contents, batch, strict=True):
        if content_hash(content) != expected_hash:
            raise ChangedError("a sorted segment of reports was changed")
        yield content
