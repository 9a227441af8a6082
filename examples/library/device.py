"""A device that keeps its state in a database of its own, and is a new process at each time step.

Run as `python device.py SITE RECIPE KEY`: the site's address, the recipe's identifier, and the Ed25519 key
that signs the site's recipes, in base64. The recipe is of events.
"""

import sqlite3
import sys
from base64 import b64decode
from contextlib import closing

from panprivacy.device.client import Device
from panprivacy.device.transport import HttpTransport


class StateRow:
    """The state in a row of SQLite, which has written it durably when `write` returns."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database
        database.execute("CREATE TABLE IF NOT EXISTS state (only INTEGER PRIMARY KEY, content BLOB)")

    def read(self) -> bytes | None:
        """The content; None ahead of joining."""
        row = self.database.execute("SELECT content FROM state").fetchone()
        return None if row is None else bytes(row[0])

    def write(self, content: bytes) -> None:
        """Replace it as a whole."""
        with self.database:
            self.database.execute("REPLACE INTO state VALUES (1, ?)", (content,))


site, recipe, key = sys.argv[1:]
with closing(sqlite3.connect("device.sqlite3")) as database, HttpTransport(site) as transport:
    state = StateRow(database)
    with Device.join(state, transport.recipe(recipe), verification_key=b64decode(key)) as device:
        steps = device.recipe.parameters.step_count
    for number in range(1, steps + 1):
        # Hours or days pass between these lines: nothing but the row is kept.
        with Device.open(state) as device:
            device.step(event=number == 1, number=number)
    with Device.open(state) as device:
        delivery = device.send(transport)
assert delivery is not None, "the coin kept this device out"
print(f"{steps} steps, report {delivery.value}")
