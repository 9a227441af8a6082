"""A second machine within the test process: a thread whose database connection leads to a database of
its own."""

import queue
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connection, connections

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
        connection.close()


class Template:
    """A migrated database without rows of anyone, of the same kind as the tests'. Migrating takes seconds,
    copying a moment. SQLite copies the tests' own, which nothing else may be connected to on PostgreSQL."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._settings = dict(connection.settings_dict)
        self._settings["NAME"] = self._name("template")
        # Django keeps pools by alias: a pool here would hand out connections to the first machine's database.
        options = self._settings["OPTIONS"]
        self._settings["OPTIONS"] = {name: value for name, value in options.items() if name != "pool"}

    @contextmanager
    def made(self) -> Iterator["Template"]:
        """The template, for as long as copies are made of it."""
        with self._created(self._settings["NAME"], None):
            if connection.vendor == "sqlite":
                with connection.cursor() as cursor:
                    cursor.execute("VACUUM INTO %s", [self._settings["NAME"]])
            else:
                machine = Machine(self._settings)
                try:
                    machine.run(lambda: call_command("migrate", verbosity=0))
                finally:
                    machine.stop()
            yield self

    @contextmanager
    def second_machine(self) -> Iterator[Machine]:
        """A machine with a copy."""
        name = self._name("helper")
        with self._created(name, self._settings["NAME"]):
            machine = Machine({**self._settings, "NAME": name})
            try:
                yield machine
            finally:
                machine.stop()

    def _name(self, suffix: str) -> str:
        if connection.vendor == "sqlite":
            return str(self._folder / f"{suffix}.sqlite3")
        return f"{connection.settings_dict['NAME']}_{suffix}"

    @contextmanager
    def _created(self, name: str, template: str | None) -> Iterator[None]:
        """An empty database, or a copy of the template, until the end."""
        if connection.vendor == "sqlite":
            if template is not None:
                shutil.copyfile(template, name)
            try:
                yield
            finally:
                for file in self._folder.glob(f"{Path(name).name}*"):
                    file.unlink()
            return
        source = f' TEMPLATE "{template}"' if template else ""
        with connection._nodb_cursor() as cursor:
            cursor.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
            cursor.execute(f'CREATE DATABASE "{name}"{source}')
        try:
            yield
        finally:
            with connection._nodb_cursor() as cursor:
                cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
