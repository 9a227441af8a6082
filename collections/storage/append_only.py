"""SQL that makes the database itself refuse changes to append-only tables.

`Guard.operation` is a migration operation; the same rules work for any table. On PostgreSQL
trigger functions raise, on SQLite RAISE(ABORT) does. A migration that makes SQLite rebuild a
guarded table drops its triggers: install them again after it (a test notices).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import ProjectState, StateApps

ALWAYS = "1 = 1"
NEVER = "1 = 0"


class WithoutModels(migrations.RunPython):
    """Code that asks for no model. Django would build those of all apps anew for each such operation, which
    took half of the time of all migrations."""

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        super().database_forwards(app_label, schema_editor, ProjectState(), to_state)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        super().database_backwards(app_label, schema_editor, ProjectState(), to_state)


@dataclass(frozen=True)
class Guard:
    """One table and the changes that are refused.

    Attributes:
        table: name of the table.
        name: short name of the rule, part of the triggers' names.
        message: what the database answers.
        key: the primary key's column.
        unique: other columns in which no two rows have the same value, or tuples of columns together.
        insert_when: SQL condition over NEW under which an insertion is refused.
        update_when: SQL condition over OLD and NEW under which an update is refused.
        delete_when: SQL condition over OLD under which a deletion is refused.
        delete_unless: SQL condition over OLD under which it is allowed all the same. Unlike the others, it
            may ask other tables.
    """

    table: str
    name: str
    message: str
    key: str
    unique: tuple[str | tuple[str, ...], ...] = ()
    insert_when: str = NEVER
    update_when: str = ALWAYS
    delete_when: str = ALWAYS
    delete_unless: str = NEVER

    def install_statements(self, vendor: str) -> Sequence[str]:
        """CREATE statements for `sqlite` or `postgresql`."""
        if vendor == "sqlite":
            return [
                f"CREATE TRIGGER {self._trigger(event)} BEFORE {event.split('_')[0].upper()} ON {self.table} "
                f"FOR EACH ROW WHEN {condition} BEGIN SELECT RAISE(ABORT, '{self.message}'); END"
                for event, condition in self._conditions(vendor)
            ]
        function = f"{self.table}_{self.name}_refuse"
        return [
            # WHEN of a trigger may not ask other tables; its function may.
            f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN IF TG_OP = 'DELETE' THEN IF {self.delete_unless} THEN RETURN OLD; END IF; END IF; "
            f"RAISE EXCEPTION '{self.message}' "
            "USING ERRCODE = 'integrity_constraint_violation'; END $$",
            *(
                f"CREATE TRIGGER {self._trigger(event)} BEFORE {event.upper()} ON {self.table} "
                f"FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION {function}()"
                for event, condition in self._conditions(vendor)
            ),
            f"CREATE TRIGGER {self._trigger('truncate')} BEFORE TRUNCATE ON {self.table} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {function}()",
        ]

    def remove_statements(self, vendor: str) -> Sequence[str]:
        """DROP statements for `sqlite` or `postgresql`."""
        on_table = "" if vendor == "sqlite" else f" ON {self.table}"
        return [f"DROP TRIGGER {name}{on_table}" for name in sorted(self.trigger_names(vendor))]

    def trigger_names(self, vendor: str) -> set[str]:
        """Of all triggers that the guard consists of."""
        events = [event for event, _ in self._conditions(vendor)]
        if vendor != "sqlite":
            events.append("truncate")
        return {self._trigger(event) for event in events}

    def operation(self) -> WithoutModels:
        """A reversible migration operation that installs the guard."""

        def install(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
            for statement in self.install_statements(editor.connection.vendor):
                editor.execute(statement)

        def remove(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
            for statement in self.remove_statements(editor.connection.vendor):
                editor.execute(statement)

        return WithoutModels(install, remove)

    def _trigger(self, event: str) -> str:
        return f"{self.table}_{self.name}_{event}"

    def _conditions(self, vendor: str) -> Iterator[tuple[str, str]]:
        yield "insert", self.insert_when
        yield "update", self.update_when
        allowed = f" AND NOT ({self.delete_unless})" if vendor == "sqlite" else ""
        yield "delete", f"({self.delete_when}){allowed}"
        if vendor == "sqlite":
            # INSERT OR REPLACE and UPDATE OR REPLACE delete the rows in their way without firing
            # any trigger for it. So whatever would push a protected row aside is refused itself.
            yield "insert_over", self._pushes_aside(other_than_old=False)
            yield "update_over", self._pushes_aside(other_than_old=True)

    def _pushes_aside(self, *, other_than_old: bool) -> str:
        same = " OR ".join(map(_same, (self.key, *self.unique)))
        protected = self.delete_when.replace("OLD.", "kept.")
        other = f" AND kept.{self.key} <> OLD.{self.key}" if other_than_old else ""
        wanted = f"({same}) AND ({protected}){other}"
        return f"EXISTS (SELECT 1 FROM {self.table} AS kept WHERE {wanted})"  # noqa: S608  # our names


def _same(columns: str | tuple[str, ...]) -> str:
    together = (columns,) if isinstance(columns, str) else columns
    return " AND ".join(f"kept.{column} = NEW.{column}" for column in together)
