"""All public results as one table, for warehouses: a row for each released value, the oldest result first."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import IO, Any, TypeVar

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Max, QuerySet

from panprivacy.formats.times import format_time
from panprivacy.recipe.result_rows import COLUMNS, ResultRow, result_rows
from recipes.models import Recipe
from results.documents import SOFTWARE
from results.models import Release, SignedResult
from results.selectors import overview_search
from web.spreadsheets import csv_lines

RESULTS_AT_ONCE = 8
"""Documents read at once: one of them may be megabytes."""

ROWS_AT_ONCE = 10_000
"""Rows in a piece of a file, and in a row group of Parquet."""


T = TypeVar("T")


class NoParquetError(Exception):
    """This installation has no pyarrow."""


@dataclass(frozen=True)
class TableFilter:
    """Which public results are in the table.

    Attributes:
        since: only what was released then or later; None for all.
        simulations: whether those of public simulations are in it.
    """

    since: datetime | None = None
    simulations: bool = True


def public_results(chosen: TableFilter) -> QuerySet[Recipe]:
    """Recipes whose results are in the table, with their releases."""
    recipes = overview_search(user=AnonymousUser(), status=Release.Outcome.RELEASED)
    if not chosen.simulations:
        recipes = recipes.filter(simulation=False)
    if chosen.since is not None:
        recipes = recipes.filter(release__released_at__gte=chosen.since)
    return recipes


def table_version(chosen: TableFilter) -> str:
    """A digest of what the table depends on. Results never change, so their number and the last one identify
    the table."""
    found = public_results(chosen).order_by().aggregate(number=Count("release"), last=Max("release"))
    return hashlib.sha256(f"{SOFTWARE} {chosen} {found}".encode()).hexdigest()


def public_rows(chosen: TableFilter) -> Iterator[ResultRow]:
    """Of every public result that the filter takes. The database is read in pieces."""
    recipes = public_results(chosen)
    found = recipes.order_by("release__released_at", "release__pk").values_list(
        "release__pk", "round__number"
    )
    for piece in _pieces(found, RESULTS_AT_ONCE):
        documents = dict(
            SignedResult.objects.filter(release__in=[release for release, _ in piece]).values_list(
                "release", "document"
            )
        )
        for release, number in piece:
            yield from result_rows(json.loads(documents.pop(release)), number)


def results_csv(rows: Iterable[ResultRow], file: IO[bytes]) -> None:
    """Write the table as CSV. What is not known is empty."""
    file.write(csv_lines([COLUMNS]).encode())
    for piece in _pieces(rows, ROWS_AT_ONCE):
        file.write(csv_lines((*row.cells()[:-1], format_time(row.released_at)) for row in piece).encode())


def results_parquet(rows: Iterable[ResultRow], file: IO[bytes]) -> None:
    """Write the table as Parquet.

    Raises:
        NoParquetError: `requirements-parquet.txt` is not installed.
    """
    pyarrow = _pyarrow()
    schema = _schema(pyarrow)
    with pyarrow.parquet.ParquetWriter(file, schema) as writer:
        for piece in _pieces(rows, ROWS_AT_ONCE):
            columns = zip(*(row.cells() for row in piece), strict=True)
            arrays = [
                pyarrow.array(column, field.type) for column, field in zip(columns, schema, strict=True)
            ]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))


def _pyarrow() -> Any:
    """Loaded only when a table is asked for, and not installed at every site."""
    try:
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise NoParquetError from None
    return pyarrow


def _schema(pyarrow: Any) -> Any:
    types = {
        "recipe": pyarrow.string(),
        "round": pyarrow.int32(),
        "segment": pyarrow.string(),
        "value": pyarrow.string(),
        "reports": pyarrow.int64(),
        "released_at": pyarrow.timestamp("s", tz="UTC"),
    }
    return pyarrow.schema([(name, types.get(name, pyarrow.float64())) for name in COLUMNS])


def _pieces(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    remaining = iter(rows)
    while piece := list(islice(remaining, size)):
        yield piece
