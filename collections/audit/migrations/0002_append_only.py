"""The chain's first head, and the triggers that keep the log append-only."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from audit.guards import ENTRIES, HEAD

GENESIS = "0" * 64
"""Stood for the hash before the first entry."""


def make_head(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    apps.get_model("audit", "Head").objects.create(pk=1, index=0, entry_hash=GENESIS)


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]
    operations = [
        migrations.RunPython(make_head, migrations.RunPython.noop),
        ENTRIES.operation(),
        HEAD.operation(),
    ]
