"""What an event relies on, beside the event. Lines from before have none: only statistics that came later do."""

from django.db import migrations, models

from ledger.guards import SPENDINGS

INSTALL = SPENDINGS.operation()


class Migration(migrations.Migration):
    dependencies = [("ledger", "0002_everyone_and_guards")]
    operations = [
        # SQLite makes the table anew, without its triggers.
        INSTALL.reversed(),
        migrations.AddField(
            model_name="spending",
            name="condition",
            field=models.CharField(
                blank=True,
                default="",
                help_text="What both events rely on, as a clause; empty where they hold as they are.",
                max_length=200,
            ),
        ),
        SPENDINGS.operation(),
    ]
