"""Apps declare the actions: a new one is no change of the model from now on. The table stays as it is."""

from django.db import migrations, models

from audit.registry import action_choices


class Migration(migrations.Migration):
    dependencies = [("audit", "0008_salts")]
    operations = [
        migrations.AlterField(
            model_name="entry",
            name="action",
            field=models.CharField(choices=action_choices, max_length=40),
        ),
    ]
