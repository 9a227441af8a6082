"""Values from a CSV file with the header `device,value` and one row per device, in memory.

Collections of values go through a shuffler, which waits for a whole cohort: as many devices as it mixes at
once also fit into memory here.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from devices_sim.workloads.bucket import Valued, ValueWorkload, listed
from devices_sim.workloads.csv_rows import CsvRows, shown
from panprivacy.errors import FieldError

HEADER = ("device", "value")

BUCKET_DEVICES = 50
"""Devices per bucket: each sends by itself, so that processes share few devices evenly."""


@contextmanager
def values_csv(path: Path, require_value: Callable[[str], object]) -> Iterator[ValueWorkload]:
    """The devices of a CSV file.

    Args:
        path: UTF-8 text, with or without a byte order mark.
        require_value: raises FieldError for a text that is no value, e.g. `ShuffleStatistic.value_of`.

    Raises:
        FieldError: the first thing wrong with the file; says in which line and column,
            and what is allowed.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        devices = list(_devices(file, require_value))
    if not devices:
        raise FieldError("device", "the file must name at least one device")
    yield ValueWorkload(listed(devices, BUCKET_DEVICES))


def _devices(file: BinaryIO, require_value: Callable[[str], object]) -> Iterator[Valued]:
    rows = CsvRows(file, HEADER)
    first_lines: dict[str, int] = {}
    for device, value in rows:
        rows.require_device_name(device)
        first = first_lines.setdefault(device, rows.line)
        if first != rows.line:
            raise FieldError(
                "device",
                f"line {rows.line}, column 1: {shown(device)} has its value in line {first} already; "
                "a device has one",
            )
        try:
            require_value(value)
        except FieldError as refusal:
            raise FieldError("value", f"line {rows.line}, column 2: {refusal.message}") from None
        yield device, value
