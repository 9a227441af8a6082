"""Values that count once for each owner: nonces, digests, identifiers."""

from collections.abc import Collection

from django.db import connection


def values_claim(
    table: str, *, owner_column: str, owner: int, column: str, values: Collection[bytes]
) -> set[bytes]:
    """Insert those values of an owner that are new, in the caller's transaction.

    The values travel as one, and the statement is always the same: taking apart one with a placeholder for
    each value took longer than the database did.

    Args:
        table: with a unique key over both columns.
        values: all of one length, 1 byte or more.

    Returns:
        Those that were new.
    """
    if not values:
        return set()
    # All rows are locked in one order, so that two transactions never wait for each other.
    ordered = sorted(set(values))
    size = len(ordered[0])
    if any(len(value) != size for value in ordered):
        raise ValueError("values: all must have one length")
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH RECURSIVE place(number) AS "  # noqa: S608  # names of ours
            "(SELECT 0 UNION ALL SELECT number + 1 FROM place WHERE number + 1 < %s) "
            f"INSERT INTO {table} ({owner_column}, {column}) "
            "SELECT %s, substr(%s, 1 + number * %s, %s) FROM place WHERE true "
            f"ON CONFLICT DO NOTHING RETURNING {column}",
            [len(ordered), owner, b"".join(ordered), size, size],
        )
        return {bytes(value) for (value,) in cursor.fetchall()}
