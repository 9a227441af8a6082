"""SQL that makes the database itself refuse to change what must stand.

`guard` returns a migration operation; the same statements work for any table. On
PostgreSQL a trigger function raises, on SQLite RAISE(ABORT) does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


@dataclass(frozen=True)
class Guard:
    """One table and the changes that are refused.

    Attributes:
        table: name of the table.
        name: short name of the rule, part of the triggers' names.
        message: what the database answers.
        update_when: SQL condition over OLD and NEW under which an update is refused.
        delete_when: SQL condition over OLD under which a deletion is refused.
    """

    table: str
    name: str
    message: str
    update_when: str = "1 = 1"
    delete_when: str = "1 = 1"

    def install_statements(self, vendor: str) -> Sequence[str]:
        """CREATE statements for `sqlite` or `postgresql`."""
        events = (("update", self.update_when), ("delete", self.delete_when))
        if vendor == "sqlite":
            return [
                f"CREATE TRIGGER {self.table}_{self.name}_{event} BEFORE {event.upper()} ON {self.table} "
                f"FOR EACH ROW WHEN {condition} BEGIN SELECT RAISE(ABORT, '{self.message}'); END"
                for event, condition in events
            ]
        function = f"{self.table}_{self.name}_refuse"
        return [
            f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{self.message}' "
            "USING ERRCODE = 'integrity_constraint_violation'; END $$",
            *(
                f"CREATE TRIGGER {self.table}_{self.name}_{event} BEFORE {event.upper()} ON {self.table} "
                f"FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION {function}()"
                for event, condition in events
            ),
            f"CREATE TRIGGER {self.table}_{self.name}_truncate BEFORE TRUNCATE ON {self.table} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {function}()",
        ]

    def remove_statements(self, vendor: str) -> Sequence[str]:
        """DROP statements for `sqlite` or `postgresql`."""
        on_table = "" if vendor == "sqlite" else f" ON {self.table}"
        events = ("update", "delete") if vendor == "sqlite" else ("update", "delete", "truncate")
        return [f"DROP TRIGGER {self.table}_{self.name}_{event}{on_table}" for event in events]

    def operation(self) -> migrations.RunPython:
        """A reversible migration operation that installs the guard."""

        def install(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
            for statement in self.install_statements(editor.connection.vendor):
                editor.execute(statement)

        def remove(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
            for statement in self.remove_statements(editor.connection.vendor):
                editor.execute(statement)

        return migrations.RunPython(install, remove)
