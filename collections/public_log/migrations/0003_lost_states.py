"""States that the log signed and lost, and the name that it then may get."""

from django.db import migrations, models

from public_log.guards import LOST, TREE

INSTALL = TREE.operation()


class Migration(migrations.Migration):
    dependencies = [("public_log", "0002_witnesses")]
    operations = [
        migrations.CreateModel(
            name="LostState",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("size", models.BigIntegerField()),
                ("witness", models.CharField(max_length=200)),
                ("note", models.TextField()),
                ("found_at", models.DateTimeField()),
                ("decided_at", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("size", "witness"), name="one_lost_state_per_witness")
                ]
            },
        ),
        LOST.operation(),
        # With what it refuses now.
        INSTALL.reversed(),
        TREE.operation(),
    ]
