"""Whether publishing for a population needs another analyst."""

from django.db import migrations, models

from ledger.guards import POPULATIONS

INSTALL = POPULATIONS.operation()


class Migration(migrations.Migration):
    dependencies = [("ledger", "0006_reservations")]
    operations = [
        # SQLite makes the table anew, without its triggers.
        INSTALL.reversed(),
        migrations.AddField(
            model_name="population",
            name="four_eyes",
            field=models.BooleanField(
                default=False,
                help_text="Publishing for it needs the approval of another analyst, whatever the site says.",
            ),
        ),
        POPULATIONS.operation(),
    ]
