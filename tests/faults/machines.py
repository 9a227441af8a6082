"""A second machine within the test process: a thread whose database connection leads to a database of
its own."""

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

Job = tuple[Callable[[], Any], list[tuple[bool, Any]], threading.Event]


class Machine:
    """Runs functions, one at a time, where `connection` is that of another database.

    Django keeps connections by thread, so that the code under test is the product's as it stands: it
    sees one database and does not know that there is another.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._inbox: queue.Queue[Job | None] = queue.Queue()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def run(self, function: Callable[[], Any]) -> Any:
        """What `function` returns or raises over there."""
        outcome: list[tuple[bool, Any]] = []
        done = threading.Event()
        self._inbox.put((function, outcome, done))
        done.wait()
        succeeded, value = outcome[0]
        if succeeded:
            return value
        raise value

    def stop(self) -> None:
        self._inbox.put(None)
        self._thread.join()

    def _work(self) -> None:
        kind = type(connections["default"])
        connections["default"] = kind(self._settings, "default")
        while (job := self._inbox.get()) is not None:
            function, outcome, done = job
            try:
                outcome.append((True, function()))
            except BaseException as error:  # handed on to who waits, whatever it is
                outcome.append((False, error))
            done.set()
        BaseDatabaseWrapper.close(connections["default"])  # SQLite's own keeps what lies in memory


class Template:
    """A migrated database without rows of anyone, of the same kind as the tests'. Migrating takes seconds,
    copying a moment. SQLite copies the tests' own, which nothing else may be connected to on PostgreSQL; its
    copies lie in memory, as that does."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "template.sqlite3"
        self._settings = dict(connection.settings_dict)
        self._settings["NAME"] = self._name("template")
        # Django keeps pools by alias: a pool here would hand out connections to the first machine's database.
        options = self._settings["OPTIONS"]
        self._settings["OPTIONS"] = {name: value for name, value in options.items() if name != "pool"}

    @contextmanager
    def made(self) -> Iterator["Template"]:
        """The template, for as long as copies are made of it."""
        if connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                cursor.execute("VACUUM INTO %s", [str(self._file)])
            yield self
            return
        with self._created(self._settings["NAME"], None):
            with self._machine(self._settings["NAME"]) as machine:
                machine.run(lambda: call_command("migrate", verbosity=0))
            yield self

    @contextmanager
    def second_machine(self) -> Iterator[Machine]:
        """A machine with a copy."""
        if connection.vendor == "sqlite":
            with self._machine(":memory:") as machine:
                machine.run(self._fill)
                yield machine
            return
        name = self._name("helper")
        with self._created(name, self._settings["NAME"]), self._machine(name) as machine:
            yield machine

    @contextmanager
    def _machine(self, database: str) -> Iterator[Machine]:
        machine = Machine({**self._settings, "NAME": database})
        try:
            yield machine
        finally:
            machine.stop()

    def _fill(self) -> None:
        """Copy the template into the empty SQLite database of this thread."""
        connection.ensure_connection()
        connection.connection.deserialize(self._file.read_bytes())

    def _name(self, suffix: str) -> str:
        return f"{connection.settings_dict['NAME']}_{suffix}"

    @contextmanager
    def _created(self, name: str, template: str | None) -> Iterator[None]:
        """An empty database of PostgreSQL, or a copy of the template, until the end."""
        source = f' TEMPLATE "{template}"' if template else ""
        with connection._nodb_cursor() as cursor:
            cursor.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
            cursor.execute(f'CREATE DATABASE "{name}"{source}')
        try:
            yield
        finally:
            with connection._nodb_cursor() as cursor:
                cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
