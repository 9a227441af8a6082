"""Events from a CSV file of any size, in memory that does not grow with it.

The file has the header `device,step,events` and one row per device and step. A row
with 0 events names a device that had none in that step. Rows may be in
any order and may repeat: several events within a step are one. For a recipe that asks
by segment it may have a column `segment`: the same in all rows of a device, and empty
for a device in none of the recipe's segments.

If the recipe lists events by their names, the header is `device,step,event`, one row for each event: a name
that the recipe lists, or nothing in a row that only tells that there is such a device. Questions about one
event take both.

The file is read once. Each row is checked and appended to one of many bucket files. A
hash of the device's name chooses it, so that each bucket holds complete devices.
"""

import json
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from devices_sim.workloads.bucket import NAME_STRIDE, Bucket, EventWorkload, Stream, require_device_name
from devices_sim.workloads.segments import SegmentedDevice
from panprivacy.formats.csv_table import ROW_BYTES, CsvTable
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed

HEADER = ("device", "step", "events")
NAMED_HEADER = ("device", "step", "event")
SEGMENT = "segment"

BUCKET_BYTES = 128 * 1024
"""Bytes of CSV per bucket on average: at most 22,000 of the shortest possible rows (6 bytes)."""

PENDING_ROWS = 100_000
"""Rows held in memory until they are written to their buckets."""

UNKNOWN_SIZE_BUCKETS = 256
"""Number of buckets for input of unknown size, such as a pipe."""


@dataclass(frozen=True)
class FileBucket(Bucket[Set[int]]):
    """Rows of complete devices: one array [name, step, name, step, …] a line in JSON, step 0 for no event."""

    path: Path

    def __iter__(self) -> Iterator[Stream]:
        devices: dict[str, set[int]] = {}
        with self.path.open() as file:
            for rows in map(json.loads, file):
                for device, step in zip(rows[::2], rows[1::2], strict=True):
                    steps = devices.get(device)
                    if steps is None:
                        steps = devices[device] = set()
                    if step:
                        steps.add(step)
        return iter(devices.items())


@dataclass(frozen=True)
class SegmentedFileBucket(Bucket[SegmentedDevice]):
    """The same with segments: a row is [name, step, segment], the segment null for none of the recipe's."""

    path: Path

    def __iter__(self) -> Iterator[tuple[str, SegmentedDevice]]:
        devices: dict[str, tuple[set[int], str | None]] = {}
        with self.path.open() as file:
            for rows in map(json.loads, file):
                for device, step, segment in zip(rows[::3], rows[1::3], rows[2::3], strict=True):
                    steps, known = devices.setdefault(device, (set(), segment))
                    if known != segment:
                        raise FieldError(
                            SEGMENT, f"must be the same in all rows of device {as_typed(device)}"
                        )
                    if step:
                        steps.add(step)
        return ((name, SegmentedDevice(steps, segment)) for name, (steps, segment) in devices.items())


@contextmanager
def events_csv(
    path: Path, steps: int, segments: tuple[str, ...] = (), names: tuple[str, ...] = ()
) -> Iterator[EventWorkload]:
    """The devices of a CSV file; the workload lasts as long as the context.

    Args:
        path: as `CsvTable` reads it.
        steps: number of time steps T; a row outside 1..T is refused.
        segments: those that the file may name; if there are none, it has no such column.
        names: of the events that the recipe lists; if there are none, rows do not name theirs.

    Raises:
        FieldError: the first fault of the file, with its line and column, and what is allowed.
        OSError: the file cannot be read, or the temporary directory is full.
    """
    with (
        path.open("rb") as file,
        tempfile.TemporaryDirectory(prefix="panapp-events-") as directory,
    ):
        size = path.stat().st_size if path.is_file() else UNKNOWN_SIZE_BUCKETS * BUCKET_BYTES
        optional = (SEGMENT,) if segments else ()
        header = NAMED_HEADER if names and (len(names) > 1 or _is_named(file)) else HEADER
        rows = CsvTable(file, header, field="events", optional=optional)
        listed = names if header == NAMED_HEADER else ()
        paths = _partition(_rows(rows, steps, segments, listed), Path(directory), 1 + size // BUCKET_BYTES)
        if SEGMENT not in rows.columns:
            yield EventWorkload(steps, tuple(FileBucket(bucket_path) for bucket_path in paths))
            return
        located = tuple(SegmentedFileBucket(bucket_path) for bucket_path in paths)
        for bucket in located:
            iter(bucket)  # refuses devices of two segments; none of them has reported yet
        yield EventWorkload(steps, located)


def _partition(rows: Iterable[tuple[Any, ...]], directory: Path, buckets: int) -> list[Path]:
    paths = [directory / f"{bucket}.jsonl" for bucket in range(buckets)]
    pending: list[list[Any]] = [[] for _ in paths]
    written: set[int] = set()

    def write() -> None:
        for bucket, waiting in enumerate(pending):
            if waiting:
                with paths[bucket].open("a") as bucket_file:
                    bucket_file.write(json.dumps(waiting) + "\n")
                written.add(bucket)
                waiting.clear()

    crc32 = zlib.crc32
    for count, row in enumerate(rows, 1):
        pending[crc32(row[0].encode()) % buckets] += row
        if count % PENDING_ROWS == 0:
            write()
    write()
    if not written:
        raise FieldError("device", "the file must name at least one device")
    return [paths[bucket] for bucket in sorted(written)]


def _is_named(file: BinaryIO) -> bool:
    """Whether the third column of a file's header is that of names; no if it cannot be read twice."""
    if not file.seekable():
        return False
    first, *_ = file.read(ROW_BYTES).decode(errors="replace").splitlines() or [""]
    file.seek(0)
    return [name.strip() for name in first.lower().replace('"', "").split(",")][2:3] == ["event"]


def _rows(
    rows: CsvTable, steps: int, segments: tuple[str, ...], names: tuple[str, ...]
) -> Iterator[tuple[Any, ...]]:
    """Device and event of every row, checked, and its segment if there is that column; 0 marks a row without
    an event."""
    # Texts that occur in practice are found in a table, without parsing; anything else is parsed with full
    # checks.
    known_steps = {str(step): step for step in range(1, steps + 1)}
    strides = {name: place * NAME_STRIDE for place, name in enumerate(names)}
    known_events = {"1": True, "0": False} if not names else dict.fromkeys(names, True) | {"": False}
    known_segments: dict[str, str | None] = {"": None, **{segment: segment for segment in segments}}
    for device, step_text, events_text, *own in rows:
        step = known_steps.get(step_text)
        if step is None:
            exists_only = bool(names) and not (step_text + events_text).strip()
            step = 0 if exists_only else _step(step_text, steps, rows.line)
        happened = known_events.get(events_text)
        if happened is None and names:
            happened = known_events.get(events_text.strip())
        if happened is None:
            happened = _happened(events_text, rows.line, names)
        require_device_name(device, rows.line)
        event = step + strides.get(events_text.strip(), 0) if happened else 0
        if not own:
            yield device, event
        elif own[0].strip() in known_segments:
            yield device, event, known_segments[own[0].strip()]
        else:
            allowed = ", ".join(segments)
            raise FieldError(
                SEGMENT,
                f"line {rows.line}, column 4: must be one of {allowed}, or empty, not {as_typed(own[0])}",
            )


def _step(text: str, steps: int, line: int) -> int:
    digits = text.strip()
    if digits.isascii() and digits.isdigit() and len(digits) <= 20 and 1 <= int(digits) <= steps:
        return int(digits)
    raise FieldError(
        "step",
        f"line {line}, column 2: must be a whole number of at least 1 and at most {steps}, "
        f"not {as_typed(text)}",
    )


def _happened(text: str, line: int, names: tuple[str, ...]) -> bool:
    if names:
        raise FieldError(
            "event",
            f"line {line}, column 3: must be one of {', '.join(names)}, or empty, not {as_typed(text)}",
        )
    digits = text.strip()
    if digits.isascii() and digits.isdigit():
        return bool(digits.strip("0"))
    raise FieldError(
        "events", f"line {line}, column 3: must be a whole number of at least 0, not {as_typed(text)}"
    )
