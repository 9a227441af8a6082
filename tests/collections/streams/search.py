"""Where something stands in an installation, as whoever has its disk would look for it."""

from django.conf import settings
from django.db import connection

from tests.file_content import files_holding


def in_files(needle: bytes) -> set[str]:
    """Files of the installation that hold it: database, its log, keys, caches, schedules."""
    return files_holding(needle, settings.DATA_DIR)


def in_database(needle: bytes) -> set[str]:
    """Tables that hold it."""
    found = set()
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            cursor.execute(f'SELECT * FROM "{table}"')
            content = [bytes(v) if isinstance(v, memoryview) else v for row in cursor for v in row]
            if any(needle in (v if isinstance(v, bytes) else str(v).encode()) for v in content):
                found.add(table)
    return found
