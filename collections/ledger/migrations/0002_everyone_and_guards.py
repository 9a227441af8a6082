"""The population of recipes that name none, and the triggers that keep the book as it was written."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from ledger.guards import POPULATIONS, SPENDINGS


def make_everyone(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    apps.get_model("ledger", "Population").objects.create(name="everyone", description="Every device.")


class Migration(migrations.Migration):
    dependencies = [("ledger", "0001_initial")]
    operations = [
        migrations.RunPython(make_everyone, migrations.RunPython.noop),
        POPULATIONS.operation(),
        SPENDINGS.operation(),
    ]
