"""Segments, sorted segments, manifests, and the sum over a shard."""

import hashlib
import random
import tracemalloc
from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panprivacy.recipe.report_shards.manifest import (
    LISTS,
    Manifest,
    Range,
    SortedSegment,
    manifest_seal,
    shard_slices,
)
from panprivacy.recipe.report_shards.segments import (
    HEADER_BYTES,
    ChangedError,
    content_hash,
    segment_read,
    segment_write,
)
from panprivacy.recipe.report_shards.sorted_segment import index_place, sorted_segment

RECORD = 24
SHARDS = st.sampled_from([1, 2, 8, 256, 4_096])
RECORDS = st.lists(st.binary(min_size=RECORD, max_size=RECORD), max_size=40)


def shard_of(record: bytes, shards: int) -> int:
    """By the definition: as many of the first bits as there are shards."""
    return int.from_bytes(record[:2]) * shards // 65_536


class Objects(dict[str, bytes]):
    """A recipe's objects, which come back as the store gives them."""

    def read(self, ranges: Sequence[Range]) -> list[bytes]:
        return [self[place.name][place.start : place.start + place.length] for place in ranges]


def sealed(groups: Sequence[Sequence[bytes]], shards: int) -> tuple[Manifest, Objects]:
    objects, segments, index_hashes = Objects(), [], []
    for number, records in enumerate(groups):
        content, index = sorted_segment(b"".join(records), record_bytes=RECORD, shards=shards)
        objects[f"sorted/{number}"] = content
        segments.append(SortedSegment(f"sorted/{number}", len(records), content_hash(b"")))
        index_hashes.append(content_hash(index))
    lists = bytearray()
    manifest = manifest_seal(
        recipe="r",
        record_bytes=RECORD,
        segments=segments,
        index_hashes=index_hashes,
        shards=shards,
        read=objects.read,
        write=lists.extend,
    )
    objects[LISTS] = bytes(lists)
    return manifest, objects


def test_a_sorted_segment_has_the_documented_bytes() -> None:
    records = [b"\xff" + b"a" * 23, b"\x00" + b"b" * 23, b"\x80" + b"c" * 23]
    content, index = sorted_segment(b"".join(records), record_bytes=RECORD, shards=2)
    low, high = records[1], records[0] + records[2]
    assert content == segment_write([records[1], records[0], records[2]], RECORD) + index
    assert index == (
        bytes([0, 0, 0, 0, 0, 0, 0, 1])
        + hashlib.sha256(low).digest()
        + bytes([0, 0, 0, 1, 0, 0, 0, 2])
        + hashlib.sha256(high).digest()
    )
    assert index_place(3, record_bytes=RECORD, shards=2) == (len(content) - len(index), len(index))


def test_segment_has_the_documented_bytes_and_no_others_are_read() -> None:
    records = [b"k" * 16 + b"c" * 8, b"l" * 16 + b"d" * 8]
    content = segment_write(records, RECORD)
    assert content == b"panapp segment 1" + b"\0\0\0\x18" + records[0] + records[1]
    expected = content_hash(content)
    assert bytes(segment_read(content, record_bytes=RECORD, expected_hash=expected)) == b"".join(records)
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1
        with pytest.raises(ChangedError):
            segment_read(bytes(changed), record_bytes=RECORD, expected_hash=expected)
    with pytest.raises(ChangedError):
        segment_read(content, record_bytes=RECORD + 1, expected_hash=expected)
    with pytest.raises(ValueError, match="24 bytes"):
        segment_write([bytes(RECORD - 1)], RECORD)


@pytest.mark.parametrize("shards", [0, 3, 131_072])
def test_a_number_of_shards_that_is_no_power_of_two_is_refused(shards: int) -> None:
    with pytest.raises(ValueError, match="power of two"):
        sorted_segment(bytes(RECORD), record_bytes=RECORD, shards=shards)


@given(st.lists(RECORDS.filter(bool), min_size=1, max_size=4), SHARDS)
def test_every_record_is_in_its_shard_once_and_in_its_order(groups: list[list[bytes]], shards: int) -> None:
    manifest, objects = sealed(groups, shards)
    everything = [record for records in groups for record in records]
    for shard in {shard_of(record, shards) for record in everything} | {0, shards - 1}:
        content = b"".join(shard_slices(manifest, shard, objects.read))
        expected = [record for record in everything if shard_of(record, shards) == shard]
        assert content == b"".join(expected)
        assert manifest.counts[shard] == len(expected)


@given(st.lists(RECORDS.filter(bool), min_size=1, max_size=4), SHARDS)
def test_a_manifest_comes_back_as_it_was_written(groups: list[list[bytes]], shards: int) -> None:
    manifest, _ = sealed(groups, shards)
    content = manifest.to_bytes()
    assert Manifest.from_bytes(content, expected_hash=content_hash(content)) == manifest
    with pytest.raises(ChangedError):
        Manifest.from_bytes(content + b" ", expected_hash=content_hash(content))
    other = content.replace(b"panapp manifest 1", b"panapp manifest 2")
    with pytest.raises(ChangedError):
        Manifest.from_bytes(other, expected_hash=content_hash(other))


@given(st.data())
def test_every_changed_byte_that_is_read_is_found(data: st.DataObject) -> None:
    source = random.Random(data.draw(st.integers(0, 2**32)))
    manifest, objects = sealed([[source.randbytes(RECORD) for _ in range(9)] for _ in range(2)], 4)
    shard = next(shard for shard, count in enumerate(manifest.counts) if count)
    intact = b"".join(shard_slices(manifest, shard, objects.read))
    name = data.draw(st.sampled_from(sorted(objects)))
    place = data.draw(st.integers(0, len(objects[name]) - 1))
    changed = bytearray(objects[name])
    changed[place] ^= 1 << data.draw(st.integers(0, 7))
    objects[name] = bytes(changed)
    with suppress(ChangedError):
        assert b"".join(shard_slices(manifest, shard, objects.read)) == intact, "of another shard"


def test_slices_are_read_together_in_bounded_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("panprivacy.recipe.report_shards.manifest.BATCH_BYTES", 5 * RECORD)
    manifest, objects = sealed([[bytes(RECORD)] * count for count in (2, 3, 1, 9, 1)], 1)
    sizes: list[int] = []

    def read(ranges: Sequence[Range]) -> list[bytes]:
        sizes.append(sum(place.length for place in ranges) // RECORD)
        return objects.read(ranges)

    slices = list(shard_slices(manifest, 0, read))
    assert [len(every) // RECORD for every in slices] == [2, 3, 1, 9, 1]
    assert sizes[1:] == [5, 1, 9, 1]
    assert all(
        objects[f"sorted/{number}"][HEADER_BYTES:].startswith(every) for number, every in enumerate(slices)
    )


def test_sealing_shards_in_blocks_gives_the_same_and_holds_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never more than one block's lists, and its part of 64 indexes: else memory grows as shards times
    segments do."""
    groups = [[source.randbytes(RECORD) for _ in range(9)] for source in map(random.Random, range(5))]
    whole = sealed(groups, 256)
    reads: list[int] = []
    read = Objects.read

    def counting(self: Objects, ranges: Sequence[Range]) -> list[bytes]:
        reads.append(sum(place.length for place in ranges))
        return read(self, ranges)

    monkeypatch.setattr(Objects, "read", counting)
    monkeypatch.setattr("panprivacy.recipe.report_shards.manifest.INDEXES_TOGETHER", 2)
    for block in (1, 5 * 40 * 3, 5 * 40 * 7, 5 * 40 * 256):
        monkeypatch.setattr("panprivacy.recipe.report_shards.manifest.BLOCK_BYTES", block)
        reads.clear()
        assert sealed(groups, 256) == whole
        assert max(reads) <= max(block, 2 * 40)
        assert sum(reads) == 5 * 40 * 256


def test_sealing_an_index_that_was_changed_in_any_block_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content, index = sorted_segment(bytes(9 * RECORD), record_bytes=RECORD, shards=8)
    monkeypatch.setattr("panprivacy.recipe.report_shards.manifest.BLOCK_BYTES", 40 * 2)
    for place in range(len(index)):
        changed = bytearray(content)
        changed[len(content) - len(index) + place] ^= 1
        with pytest.raises(ChangedError, match="sorted segment"):
            manifest_seal(
                recipe="r",
                record_bytes=RECORD,
                segments=[SortedSegment("s", 9, b"")],
                index_hashes=[content_hash(index)],
                shards=8,
                read=Objects(s=bytes(changed)).read,
                write=bytearray().extend,
            )


def test_sealing_needs_no_more_memory_for_more_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of numpy and of Python, as they count it: 2 MB more of lists need less than 1 MB more."""
    monkeypatch.setattr("panprivacy.recipe.report_shards.manifest.BLOCK_BYTES", 40_000)
    segments = [SortedSegment(f"s{number}", 1, b"") for number in range(64)]

    def peak(shards: int) -> int:
        index = bytes(40 * shards)
        content = bytes(HEADER_BYTES + RECORD) + index
        objects = Objects({every.name: content for every in segments})
        hashes = [content_hash(index)] * 64
        tracemalloc.start()
        manifest_seal(
            recipe="r",
            record_bytes=RECORD,
            segments=segments,
            index_hashes=hashes,
            shards=shards,
            read=objects.read,
            write=lambda _: None,
        )
        try:
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(1_024) < peak(256) + 1_000_000
