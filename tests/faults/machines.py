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


@contextmanager
def second_machine(folder: Path) -> Iterator[Machine]:
    """A machine with an empty, migrated database of the same kind as the tests'."""
    settings = dict(connection.settings_dict)
    if connection.vendor == "sqlite":
        settings["NAME"] = str(folder / "helper.sqlite3")
    else:
        settings["NAME"] = f"{settings['NAME']}_helper"
        with connection._nodb_cursor() as cursor:
            cursor.execute(f'DROP DATABASE IF EXISTS "{settings["NAME"]}" WITH (FORCE)')
            cursor.execute(f'CREATE DATABASE "{settings["NAME"]}"')
    machine = Machine(settings)
    try:
        machine.run(lambda: call_command("migrate", verbosity=0))
        yield machine
    finally:
        machine.stop()
        if connection.vendor != "sqlite":
            with connection._nodb_cursor() as cursor:
                cursor.execute(f'DROP DATABASE "{settings["NAME"]}" WITH (FORCE)')
