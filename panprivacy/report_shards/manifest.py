"""The manifest of a closed recipe: every object with its reports, and the hash of every byte in them.

It is two objects. The first is JSON (RFC 8785) with the format, the recipe, the length of a record, the
sorted segments in their order, and of each shard the hash of its list. The second has these lists, one after
the other: of each shard the entries of the indexes of all segments, in their order. So who sums a shard reads
the first object, one range of the second, and one range of each segment.

SHA-256 of the first object stands for all: nothing that is read can be other than what was sealed.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import rfc8785

from panprivacy.report_shards.segments import (
    HASH_BYTES,
    HEADER_BYTES,
    ChangedError,
    content_hash,
)
from panprivacy.report_shards.sorting import ENTRY_BYTES

FORMAT = "panapp manifest 1"
MANIFEST, LISTS = "manifest", "lists"
"""Names of the two objects, below the recipe's own."""

BATCH_BYTES = 32 * 1024 * 1024
"""What is read together, at most, unless a single range is longer."""


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
        """As it is stored."""
        return rfc8785.dumps(
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
        """Raises ChangedError where it is not the one that was sealed."""
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
    shards: int,
    indexes: Iterable[bytes],
) -> tuple[Manifest, memoryview]:
    """The manifest of these segments, and the object with the lists.

    Args:
        indexes: of each segment its index, as `sorted_segment` gave it, in turn.

    Needs the memory of all indexes, 40 bytes for each shard and segment, and some more.
    """
    lists = np.empty((shards, len(segments), ENTRY_BYTES), dtype=np.uint8)
    for number, index in enumerate(indexes):
        lists[:, number] = np.frombuffer(index, dtype=np.uint8).reshape(shards, ENTRY_BYTES)
    counts = lists[:, :, 4:8].copy().view(">u4")[:, :, 0].sum(axis=1, dtype=np.int64)
    rows = lists.reshape(shards, -1)
    manifest = Manifest(
        recipe,
        record_bytes,
        tuple(segments),
        tuple(content_hash(row.data) for row in rows),
        tuple(int(count) for count in counts),
    )
    return manifest, memoryview(lists.reshape(-1))  # type: ignore[arg-type]  # an array is a buffer


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
