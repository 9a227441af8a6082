from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

PARAMETERS = ("toast.autovacuum_vacuum_scale_factor", "toast.autovacuum_vacuum_threshold")
DEAD_PIECES = 1_000
"""Of 2 kB each, as PostgreSQL stores a state."""


def take_the_place_of_older_states(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Have PostgreSQL clear the place of a state's predecessors within a minute, so that the next one goes
    there. By default it waits until they are a part of all that is stored. SQLite does so by itself."""
    if editor.connection.vendor == "postgresql":
        factor, threshold = PARAMETERS
        editor.execute(f"ALTER TABLE streams_stream SET ({factor} = 0, {threshold} = {DEAD_PIECES})")


def as_before(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    if editor.connection.vendor == "postgresql":
        editor.execute(f"ALTER TABLE streams_stream RESET ({', '.join(PARAMETERS)})")


class Migration(migrations.Migration):
    dependencies = [("streams", "0002_estimates")]

    operations = [migrations.RunPython(take_the_place_of_older_states, as_before)]
