"""The public log takes the place of the chain: new entries no longer have the hash of the one before. Entries
that have one keep it. Going back leaves entries without one, which no chain holds together."""

from django.db import migrations, models

from audit.guards import ENTRIES, HEAD

GUARDS = (ENTRIES.operation(), HEAD.operation())


class Migration(migrations.Migration):
    dependencies = [("audit", "0009_declared_actions")]
    operations = [
        # SQLite makes both tables anew, without their triggers.
        *(guard.reversed() for guard in GUARDS),
        migrations.AlterField(
            model_name="entry",
            name="previous_hash",
            field=models.CharField(
                blank=True,
                help_text="Hash of the entry before, in entries from before there was a tree; empty since.",
                max_length=64,
            ),
        ),
        # So that going back finds a value.
        migrations.AlterField(
            model_name="head", name="entry_hash", field=models.CharField(default="", max_length=64)
        ),
        migrations.RemoveField(model_name="head", name="entry_hash"),
        ENTRIES.operation(),
        HEAD.operation(),
    ]
