"""Sharing the connections of a process: they are fewer than its threads."""

from django.db import connection


def connection_release() -> None:
    """Let other threads have this thread's connection, before seconds of work that need none: hashing a
    password, requests to another server, computing. The next query takes another one.

    Does nothing in a transaction, and in processes that keep connections (`CONN_MAX_AGE`). Not to be called
    while rows of an `iterator()` are read: they come over this connection.
    """
    is_shared = connection.settings_dict["CONN_MAX_AGE"] == 0
    if is_shared and connection.connection is not None and not connection.in_atomic_block:
        connection.close()
