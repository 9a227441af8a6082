"""Events from a CSV file of any size, in memory that does not grow with it.

The file has the header `device,step,events` and one row per device and step; a row
with 0 events names a device without saying that it had an event. Rows may stand in
any order and may repeat: several events within a step are one.

The file is read once. Each row is checked and appended to one of many bucket files,
chosen by a hash of the device's name, so that each bucket holds complete devices.
"""

import tempfile
import zlib
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import msgpack

from devices_sim.workloads.bucket import Bucket, EventWorkload, Stream
from devices_sim.workloads.csv_rows import CsvRows, shown
from panprivacy.errors import FieldError

HEADER = ("device", "step", "events")

BUCKET_BYTES = 128 * 1024
"""Bytes of CSV per bucket on average: at most 22,000 of the shortest possible rows (6 bytes)."""

PENDING_ROWS = 100_000
"""Rows held in memory before they are written to their buckets."""

UNKNOWN_SIZE_BUCKETS = 256
"""Number of buckets for input that does not tell its size, such as a pipe."""


@dataclass(frozen=True)
class FileBucket(Bucket[Set[int]]):
    """Rows of complete devices: MessagePack arrays [name, step, name, step, …], step 0 for "no event"."""

    path: Path

    def __iter__(self) -> Iterator[Stream]:
        devices: dict[str, set[int]] = {}
        with self.path.open("rb") as file:
            for rows in msgpack.Unpacker(file, max_buffer_size=0):
                for device, step in zip(rows[::2], rows[1::2], strict=True):
                    steps = devices.get(device)
                    if steps is None:
                        steps = devices[device] = set()
                    if step:
                        steps.add(step)
        return iter(devices.items())


@contextmanager
def events_csv(path: Path, steps: int) -> Iterator[EventWorkload]:
    """The devices of a CSV file; the workload lasts as long as the context.

    Args:
        path: UTF-8 text, with or without a byte order mark.
        steps: number of time steps T; a row outside 1..T is refused.

    Raises:
        FieldError: the first thing wrong with the file; says in which line and column,
            and what is allowed.
        OSError: the file cannot be read, or the temporary directory is full.
    """
    with (
        path.open("rb") as file,
        tempfile.TemporaryDirectory(prefix="panapp-events-") as directory,
    ):
        size = path.stat().st_size if path.is_file() else UNKNOWN_SIZE_BUCKETS * BUCKET_BYTES
        paths = _partition(file, steps, Path(directory), 1 + size // BUCKET_BYTES)
        yield EventWorkload(steps, tuple(FileBucket(bucket_path) for bucket_path in paths))


def _partition(file: BinaryIO, steps: int, directory: Path, buckets: int) -> list[Path]:
    paths = [directory / f"{bucket}.msgpack" for bucket in range(buckets)]
    pending: list[list[str | int]] = [[] for _ in paths]
    written: set[int] = set()

    def write() -> None:
        for bucket, rows in enumerate(pending):
            if rows:
                with paths[bucket].open("ab") as bucket_file:
                    bucket_file.write(msgpack.packb(rows))
                written.add(bucket)
                rows.clear()

    crc32 = zlib.crc32
    for count, (device, step) in enumerate(_rows(file, steps), 1):
        pending[crc32(device.encode()) % buckets] += (device, step)
        if count % PENDING_ROWS == 0:
            write()
    write()
    if not written:
        raise FieldError("device", "the file must name at least one device")
    return [paths[bucket] for bucket in sorted(written)]


def _rows(file: BinaryIO, steps: int) -> Iterator[tuple[str, int]]:
    """Device and step of every row, checked; step 0 stands for a row without an event."""
    rows = CsvRows(file, HEADER)
    # Texts that occur in practice, looked up rather than parsed; anything else takes the careful way.
    known_steps = {str(step): step for step in range(1, steps + 1)}
    known_events = {"1": True, "0": False}
    for device, step_text, events_text in rows:
        step = known_steps.get(step_text)
        if step is None:
            step = _step(step_text, steps, rows.line)
        happened = known_events.get(events_text)
        if happened is None:
            happened = _happened(events_text, rows.line)
        rows.require_device_name(device)
        yield device, step if happened else 0


def _step(text: str, steps: int, line: int) -> int:
    digits = text.strip()
    if digits.isascii() and digits.isdigit() and len(digits) <= 20 and 1 <= int(digits) <= steps:
        return int(digits)
    raise FieldError(
        "step",
        f"line {line}, column 2: must be a whole number of at least 1 and at most {steps}, not {shown(text)}",
    )


def _happened(text: str, line: int) -> bool:
    digits = text.strip()
    if digits.isascii() and digits.isdigit():
        return bool(digits.strip("0"))
    raise FieldError(
        "events", f"line {line}, column 3: must be a whole number of at least 0, not {shown(text)}"
    )
