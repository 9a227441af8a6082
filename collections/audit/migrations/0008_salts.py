"""Hashes that confirm no guess: from now on each covers a salt. Entries from before have none, and keep theirs.

Going back drops the salts for good, and entries that had one no longer fit their hashes.
"""

from django.db import migrations, models

from audit.guards import ENTRIES

INSTALL = ENTRIES.operation()


class Migration(migrations.Migration):
    dependencies = [("audit", "0007_shuffled_batches")]
    operations = [
        # SQLite makes the table anew, without its triggers.
        INSTALL.reversed(),
        migrations.AddField(
            model_name="entry",
            name="salt",
            field=models.CharField(
                blank=True,
                help_text="Random digits, a part of what is hashed; empty in entries from before there were any.",
                max_length=32,
            ),
        ),
        ENTRIES.operation(),
    ]
