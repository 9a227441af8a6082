"""What a release says of its tokens, nothing in those from before; and results that are held."""

import django.db.models.deletion
from django.db import migrations, models

from releases.guards import RELEASES


class Migration(migrations.Migration):
    dependencies = [("recipes", "0008_approvals"), ("releases", "0009_segments")]
    operations = [
        # SQLite makes the table anew, without its triggers.
        RELEASES.operation().reversed(),
        migrations.AddField(
            model_name="release",
            name="admission",
            field=models.JSONField(
                help_text="Reports against tokens; none where anybody may report, or nothing was released.",
                null=True,
            ),
        ),
        RELEASES.operation(),
        migrations.CreateModel(
            name="HeldResult",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("issued", models.PositiveBigIntegerField(help_text="Tokens, as the issuer signed.")),
                ("expected", models.FloatField(help_text="Expected number of reports.")),
                ("most", models.PositiveBigIntegerField(help_text="Upper end of the interval for it.")),
                ("held_at", models.DateTimeField()),
                (
                    "allowed_at",
                    models.DateTimeField(
                        help_text="When somebody let it pass; none while it waits.", null=True
                    ),
                ),
                ("allowed_reason", models.CharField(blank=True, help_text="Why; public.", max_length=200)),
                (
                    "recipe",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="held",
                        to="recipes.recipe",
                    ),
                ),
            ],
        ),
    ]
