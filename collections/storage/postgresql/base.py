"""What Django loads for `ENGINE = "storage.postgresql"`."""

from typing import Any

from django.db.backends.postgresql import base
from psycopg import OperationalError
from psycopg_pool import ConnectionPool


class DatabaseWrapper(base.DatabaseWrapper):
    """Passes over pooled connections that are lost.

    A restart of PostgreSQL, or a failover, ends all of a pool's connections. psycopg's own check waits a
    second and longer after each that it finds: with 16 of them nothing could be stored for 18 s.
    """

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """A connection that answers; OperationalError if none comes in time."""
        connection = super().get_new_connection(conn_params)
        if (pool := self.pool) is None:
            return connection
        for _ in range(pool.max_size):
            try:
                ConnectionPool.check_connection(connection)
            except BaseException as error:
                pool.putconn(connection)  # which throws it away if it is lost
                if not isinstance(error, OperationalError):
                    raise
                connection = super().get_new_connection(conn_params)
            else:
                break
        return connection
