"""Witnesses: those that sign our checkpoints, and what this installation saw as a witness of others."""

import django.db.models.deletion
from django.db import migrations, models

from public_log.guards import FORKS, WITNESSED

_ID = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")
_SEEN = "The checkpoint with its signatures, ours among them."


class Migration(migrations.Migration):
    dependencies = [("public_log", "0001_initial")]
    operations = [
        migrations.CreateModel(
            name="AskedWitness",
            fields=[
                ("witness", models.CharField(max_length=200, primary_key=True, serialize=False)),
                ("size", models.BigIntegerField(default=0)),
                ("failing_since", models.DateTimeField(null=True)),
                ("last_error", models.CharField(blank=True, max_length=200)),
            ],
        ),
        migrations.CreateModel(
            name="Fork",
            fields=[
                ("id", _ID.clone()),
                ("origin", models.CharField(max_length=200)),
                ("size", models.BigIntegerField()),
                ("known", models.TextField()),
                ("other", models.TextField()),
                ("found_at", models.DateTimeField()),
            ],
            options={"ordering": ("pk",)},
        ),
        migrations.CreateModel(
            name="WitnessedLog",
            fields=[
                ("origin", models.CharField(max_length=200, primary_key=True, serialize=False)),
                ("size", models.BigIntegerField(default=0)),
                ("note", models.TextField(blank=True, help_text=_SEEN)),
            ],
        ),
        migrations.CreateModel(
            name="Cosignature",
            fields=[
                ("id", _ID.clone()),
                ("witness", models.CharField(max_length=200)),
                ("line", models.TextField(help_text="As it stands below the checkpoint.")),
                (
                    "checkpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="cosignatures",
                        to="public_log.signedcheckpoint",
                    ),
                ),
            ],
            options={
                "ordering": ("witness",),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("checkpoint", "witness"), name="one_cosignature_per_witness"
                    )
                ],
            },
        ),
        WITNESSED.operation(),
        FORKS.operation(),
    ]
