"""Tables in which every owner has a partition of its own: millions of its rows go at once, as files.

On PostgreSQL a DELETE of a million rows takes seconds, and leaves their bytes in pages until they are
vacuumed and written over. Emptying a partition takes some 0.4 s for a gigabyte, and leaves no file.
SQLite has no partitions: rows are deleted there.

A process may neither make a table nor empty one (docs/operations/). Functions of the database, which
`partition_functions` installs, do it with the rights of the tables' owner, and check themselves whether it
may be done. docs/adr/0012 has the reasons.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import structlog
from django.apps import apps
from django.db import OperationalError, connection, transaction
from django.db.models import QuerySet
from django.utils.module_loading import module_has_submodule

logger = structlog.get_logger(__name__)

DELETED_ROWS = 10_000
"""Rows that one transaction deletes, if no partition can be dropped."""

MOST_BUSY = 3
"""Owners whose partitions are in use, after which upkeep waits for its next run."""

LOCK_NOT_AVAILABLE = "55P03"
"""PostgreSQL's code of the error that a lock was not had in time."""


@dataclass(frozen=True)
class Table:
    """One of the tables.

    Attributes:
        name: of the table.
        key: column that is its primary key, together with the owner's.
        indexed: further columns by which rows of an owner are searched.
    """

    name: str
    key: str
    indexed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Partitioned:
    """Tables whose rows belong to owners, and go with them.

    PostgreSQL does not check that an owner exists: it has a partition, or no row is taken.

    Attributes:
        name: what the names of the database's functions begin with.
        owner: column of every table with the owner's key.
        tables: in the order in which inserts lock them.
        live: SQL condition that an owner may have rows, with `{owner}` for its key.
        over: SQL condition that it never will again, and that its rows are not needed any more.
    """

    name: str
    owner: str
    tables: tuple[Table, ...]
    live: str
    over: str

    def make(self, owner: int) -> None:
        """Make the partitions of a new owner, in the transaction that stores it.

        Others who make some wait until it ends. Inserts for other owners do not block.

        Raises:
            IntegrityError: the owner is not live.
        """
        if connection.vendor == "postgresql":
            self._call("make", owner)

    def clear(self, owner: int) -> None:
        """Remove all rows of an owner that is over: on SQLite in the transaction that ends it, or in parts
        outside of one; on PostgreSQL directly after its commit.

        `upkeep` empties what a death left, and a partition that is read for long, such as by a backup.
        """
        if connection.vendor == "postgresql":
            transaction.on_commit(lambda: self._empty(owner), robust=True)
        else:
            for table in self.tables:
                self._delete_from(table, owner)

    def upkeep(self) -> None:
        """Remove what is left of owners that are over: rows, and on PostgreSQL partitions. Partitions in use
        at this moment stay for the next round."""
        if connection.vendor != "postgresql":
            for table in self.tables:
                for owner in self._over(table.name):
                    self._delete_from(table, owner)
            return
        busy = 0
        for owner in self._over_with_partitions():
            # First: a process that waits to drop a table keeps others waiting, one that waits to empty it
            # does not.
            busy += not (self._empty(owner) and self._had("drop", owner))
            if busy >= MOST_BUSY:
                return

    def _empty(self, owner: int) -> bool:
        """Empty the partitions of an owner; returns whether all of them are.

        Each in a transaction of its own: PostgreSQL deletes files in the COMMIT, which then takes longer."""
        had = [self._had("empty", owner, table.name) for table in self.tables]
        return all(had)

    def _had(self, function: str, *arguments: int | str) -> bool:
        """Call a function in a transaction; returns whether it had its locks in time."""
        try:
            with transaction.atomic():
                self._call(function, *arguments)
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", None) != LOCK_NOT_AVAILABLE:
                raise
            logger.warning("partition_in_use", tables=self.name, arguments=arguments, function=function)
            return False
        return True

    def _call(self, function: str, *arguments: int | str) -> None:
        places = ", ".join(["%s"] * len(arguments))
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {self.name}_partitions_{function}({places})", arguments)

    def _delete_from(self, table: Table, owner: int) -> None:
        """Delete the rows of one owner, in parts, each a transaction unless there is one already."""
        rows, key, beyond = table.name, table.key, ""
        last: list[bytes | int] = []
        with connection.cursor() as cursor:
            while True:
                cursor.execute(
                    f"DELETE FROM {rows} WHERE {self.owner} = %s AND {key} IN "  # noqa: S608  # our own names
                    f"(SELECT {key} FROM {rows} WHERE {self.owner} = %s{beyond} ORDER BY {key} LIMIT %s) "
                    f"RETURNING {key}",
                    [owner, owner, *last, DELETED_ROWS],
                )
                deleted = [row for (row,) in cursor.fetchall()]
                if len(deleted) < DELETED_ROWS:
                    return
                # What was just deleted is still in the index: not to be passed again.
                beyond, last = f" AND {key} > %s", [max(deleted)]

    def _over(self, rows: str) -> list[int]:
        """Owners that are over and have rows there: read by the index, an owner at a time."""
        over = self.over.format(owner="held.owner")
        first = f"SELECT min({self.owner}) FROM {rows}"  # noqa: S608  # our own names
        with connection.cursor() as cursor:
            cursor.execute(
                f"WITH RECURSIVE held(owner) AS ({first} UNION ALL "  # noqa: S608  # our own names
                f"SELECT ({first} WHERE {self.owner} > held.owner) FROM held WHERE held.owner IS NOT NULL) "
                f"SELECT owner FROM held WHERE owner IS NOT NULL AND {over}"
            )
            return [owner for (owner,) in cursor.fetchall()]

    def _over_with_partitions(self) -> list[int]:
        over = self.over.format(owner="named.owner")
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT DISTINCT named.owner "  # noqa: S608  # our own names
                "FROM (SELECT substring(relname FROM '_([0-9]+)$')::bigint AS owner "
                "FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid "
                "WHERE inhparent = ANY (%s::regclass[])) AS named "
                f"WHERE named.owner IS NOT NULL AND {over} ORDER BY named.owner",
                [[table.name for table in self.tables]],
            )
            return [owner for (owner,) in cursor.fetchall()]


def installed() -> Iterator[Partitioned]:
    """Those that the installed apps declare, each in a module `partitions`."""
    for app in apps.get_app_configs():
        if app.module is not None and module_has_submodule(app.module, "partitions"):
            yield from getattr(import_module(f"{app.name}.partitions"), "PARTITIONED", ())


def rows_delete(rows: QuerySet[Any]) -> None:
    """Delete rows that may be millions, in parts of `DELETED_ROWS`, each a transaction unless there is one
    already. Safe to interrupt and to repeat."""
    while rows.filter(pk__in=list(rows.values_list("pk", flat=True)[:DELETED_ROWS])).delete()[0]:
        pass


def partitions_upkeep() -> None:
    """Remove what is left of owners that are over, everywhere: what a death, a backup or a busy table kept.
    Safe to run at any time, even twice."""
    for partitioned in installed():
        partitioned.upkeep()
