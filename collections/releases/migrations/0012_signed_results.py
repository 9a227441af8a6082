"""Results are signed documents. Releases from before are signed by the next ticks, each with an entry."""

import django.db.models.deletion
from django.db import migrations, models

from releases.guards import SIGNED


class Migration(migrations.Migration):
    dependencies = [("releases", "0011_words_of_causes")]
    operations = [
        migrations.CreateModel(
            name="SignedResult",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("document", models.TextField(help_text="Canonical JSON (RFC 8785).")),
                ("signature", models.BinaryField(max_length=64)),
                (
                    "release",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="signed",
                        to="releases.release",
                    ),
                ),
            ],
        ),
        SIGNED.operation(),
    ]
