"""The key that signed the newest checkpoint, to notice when another one does."""

from django.db import migrations, models

from public_log.guards import TREE

INSTALL = TREE.operation()


class Migration(migrations.Migration):
    dependencies = [("public_log", "0004_computed_hashes_of_leaves")]
    operations = [
        # SQLite makes the table anew, without what guards it.
        INSTALL.reversed(),
        migrations.AddField(
            model_name="tree",
            name="key",
            field=models.CharField(blank=True, default="", max_length=44),
        ),
        TREE.operation(),
    ]
