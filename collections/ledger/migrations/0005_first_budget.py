"""A budget for everyone, where nothing was ever spent: what one recipe after another tells of a device adds up."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

EPSILON, DELTA = 4.0, 1e-5


def give_a_budget(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    if apps.get_model("ledger", "Spending").objects.exists():
        return
    rows = apps.get_model("ledger", "Population").objects.filter(name="everyone", epsilon=None)
    rows.update(epsilon=EPSILON, delta=DELTA)


class Migration(migrations.Migration):
    dependencies = [("ledger", "0004_rule_of_population")]
    operations = [migrations.RunPython(give_a_budget, migrations.RunPython.noop)]
