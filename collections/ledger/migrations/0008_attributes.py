"""The attributes by which a recipe can choose devices of a population."""

from django.db import migrations, models

from ledger.guards import POPULATIONS

INSTALL = POPULATIONS.operation()


class Migration(migrations.Migration):
    dependencies = [("ledger", "0007_four_eyes")]
    operations = [
        # SQLite makes the table anew, without its triggers.
        INSTALL.reversed(),
        migrations.AddField(
            model_name="population",
            name="attributes",
            field=models.JSONField(
                default=dict, help_text="What devices know of themselves: by name, its values in their order."
            ),
        ),
        POPULATIONS.operation(),
    ]
