"""What is told of each segment, and what is true of it in a simulation; nothing in results from before."""

from django.db import migrations, models

from releases.guards import RELEASES, TRUTHS


class Migration(migrations.Migration):
    dependencies = [("releases", "0008_intervals")]
    operations = [
        # SQLite makes the tables anew, without their triggers.
        *(
            guard.operation().reversed()
            for guard in (RELEASES, TRUTHS)
        ),
        migrations.AddField(
            model_name="release",
            name="segments",
            field=models.JSONField(
                help_text="What is told of each segment; none where the recipe asks by none.", null=True
            ),
        ),
        migrations.AddField(
            model_name="simulatedtruth",
            name="segments",
            field=models.JSONField(
                help_text="Of each segment; none where the recipe asks by none.", null=True
            ),
        ),
        RELEASES.operation(),
        TRUTHS.operation(),
    ]
