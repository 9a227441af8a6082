"""Values from a CSV file with one row per device, in memory: `device,value`, or more columns than one.

A value is short, and a device sends once: all devices of a file fit into memory.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from devices_sim.workloads.bucket import Valued, ValueWorkload, listed, require_device_name
from panprivacy.device.value_reports.randomized import text_of
from panprivacy.formats.csv_table import CsvTable
from panprivacy.formats.errors import FieldError
from panprivacy.formats.parameters import as_typed

HEADER = ("device", "value")

BUCKET_DEVICES = 50
"""Devices per bucket: each sends separately, so that processes share few devices evenly."""


@contextmanager
def values_csv(
    path: Path, require_value: Callable[[Sequence[str]], object], header: tuple[str, ...] = HEADER
) -> Iterator[ValueWorkload]:
    """The devices of a CSV file.

    Args:
        path: as `CsvTable` reads it.
        require_value: raises FieldError for cells that are no value, e.g. `Randomizer.value_of`.
        header: `device`, and a name for each cell of a value.

    Raises:
        FieldError: the first fault of the file, with its line and column, and what is allowed.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        devices = list(_devices(file, require_value, header))
    if not devices:
        raise FieldError("device", "the file must name at least one device")
    yield ValueWorkload(listed(devices, BUCKET_DEVICES))


def _devices(
    file: BinaryIO, require_value: Callable[[Sequence[str]], object], header: tuple[str, ...]
) -> Iterator[Valued]:
    rows = CsvTable(file, header, field="values")
    first_lines: dict[str, int] = {}
    for device, *cells in rows:
        require_device_name(device, rows.line)
        first = first_lines.setdefault(device, rows.line)
        if first != rows.line:
            raise FieldError(
                "device",
                f"line {rows.line}, column 1: {as_typed(device)} has its value in line {first} already; "
                "a device has one",
            )
        try:
            require_value(cells)
        except FieldError as refusal:
            column = header.index(refusal.field) + 1 if refusal.field in header else 2
            raise FieldError(refusal.field, f"line {rows.line}, column {column}: {refusal.message}") from None
        yield device, text_of(cells)
