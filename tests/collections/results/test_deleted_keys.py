"""A recipe's private key is not to be found in the database's files once its result is out."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from django.db import connection

from publishing.publication import recipe_close
from recipes.models import Recipe, RecipeKey
from results.models import Release
from storage.erasure import log_truncate
from storage.tasks import truncate_log
from tests.driving import collections_advance
from tests.factories import published_recipe
from tests.file_content import content_of

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL keeps files of its own"),
]


def files_with(piece: bytes) -> set[str]:
    """Endings of those of the database's files that hold these bytes."""
    path = str(connection.settings_dict["NAME"])
    files = {suffix: Path(path + suffix) for suffix in ("", "-wal")}
    return {suffix for suffix, file in files.items() if file.exists() and piece in content_of(file)}


def sealed_key(recipe: Recipe) -> bytes:
    return bytes(RecipeKey.objects.get(recipe=recipe).sealed)


def conclude(recipe: Recipe) -> None:
    """Close it, and let the periodic look find that nothing came."""
    recipe_close(recipe=recipe, actor=None)
    collections_advance()
    assert Release.objects.filter(recipe=recipe).exists()


@contextmanager
def another_connection() -> Iterator[sqlite3.Connection]:
    """While one is open, SQLite does not empty the log by itself."""
    path = str(connection.settings_dict["NAME"])
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("SELECT count(*) FROM recipes_recipekey").fetchone()
        yield other


@contextmanager
def snapshot() -> Iterator[None]:
    """Somebody who reads the database as it is now."""
    with another_connection() as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM recipes_recipekey").fetchone()
        yield


def test_key_is_in_no_file_once_the_result_is_out() -> None:
    recipe = published_recipe()
    sealed = sealed_key(recipe)
    assert files_with(sealed)
    with another_connection():
        conclude(recipe)
        assert files_with(sealed) == set()


def test_key_that_a_reader_kept_in_the_log_is_gone_after_it() -> None:
    recipe = published_recipe()
    sealed = sealed_key(recipe)
    with snapshot():
        started = time.monotonic()
        conclude(recipe)
        # Not as long as writers wait for each other, which is 30 s: nobody can write meanwhile.
        assert time.monotonic() - started < 15
        assert files_with(sealed)
        assert not log_truncate()
    truncate_log()
    assert files_with(sealed) == set()


def test_connections_overwrite_what_they_delete_and_keep_their_patience() -> None:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA secure_delete")
        assert cursor.fetchone() == (1,)
        assert log_truncate()
        cursor.execute("PRAGMA busy_timeout")
        assert cursor.fetchone() == (30_000,)
