"""The stored tree, and what the database refuses to change in it."""

from django.db import migrations, models

from public_log.guards import CHECKPOINTS, LEAVES, TREE


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        migrations.CreateModel(
            name="Leaf",
            fields=[
                (
                    "position",
                    models.BigIntegerField(
                        help_text="From 0; the entry's index less one.", primary_key=True, serialize=False
                    ),
                ),
                ("content", models.TextField(help_text="Canonical JSON (RFC 8785).")),
            ],
            options={"verbose_name_plural": "leaves", "ordering": ("position",)},
        ),
        migrations.CreateModel(
            name="SignedCheckpoint",
            fields=[
                ("size", models.BigIntegerField(primary_key=True, serialize=False)),
                ("note", models.TextField(help_text="The checkpoint and the log's signature.")),
            ],
            options={"ordering": ("-size",)},
        ),
        migrations.CreateModel(
            name="Tree",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("origin", models.CharField(max_length=200)),
                ("size", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="Tile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("level", models.PositiveSmallIntegerField()),
                ("index", models.BigIntegerField()),
                ("hashes", models.BinaryField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("level", "index"), name="one_tile_per_place")
                ]
            },
        ),
        *(guard.operation() for guard in (LEAVES, CHECKPOINTS, TREE)),
    ]
