"""The rule of a budget. Budgets that stand keep theirs: what was composed within them goes on being composed."""

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from ledger.guards import POPULATIONS

INSTALL = POPULATIONS.operation()


def keep_composing(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    apps.get_model("ledger", "Population").objects.filter(epsilon__isnull=False).update(rule="composed")


class Migration(migrations.Migration):
    dependencies = [("ledger", "0003_condition_of_spending")]
    operations = [
        # SQLite makes the table anew, without its triggers.
        INSTALL.reversed(),
        migrations.AddField(
            model_name="population",
            name="rule",
            field=models.CharField(
                max_length=8,
                default="filter",
                choices=[("filter", "filter"), ("composed", "composed")],
                help_text="What may be published within the budget.",
            ),
        ),
        POPULATIONS.operation(),
        migrations.RunPython(keep_composing, migrations.RunPython.noop),
    ]
