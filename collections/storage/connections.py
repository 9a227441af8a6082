"""Sharing the connections of a process: they are fewer than its threads."""

from django.db import close_old_connections, connection


def connection_release() -> None:
    """Let other threads have this thread's connection, before seconds of work that need none: hashing a
    password, asking another server, computing. The next query takes another one.

    A transaction keeps its connection. So does a process whose threads share none (`CONN_MAX_AGE`).
    """
    if not connection.in_atomic_block:
        close_old_connections()
