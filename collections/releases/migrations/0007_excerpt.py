"""What pages show of a release's numbers becomes a column of its own, so that no page loads them all."""

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from releases.excerpt import excerpt_made
from releases.guards import RELEASES

NUMBERS = ("values", "standard_errors", "projection", "error_bounds")


def fill(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    released = apps.get_model("releases", "Release").objects.filter(outcome="released")
    # One at a time: of 100,000 estimates each has megabytes.
    for pk in list(released.values_list("pk", flat=True)):
        row = released.filter(pk=pk)
        row.update(excerpt=excerpt_made(**row.values(*NUMBERS).get()))


INSTALL = RELEASES.operation()


class Migration(migrations.Migration):
    dependencies = [("releases", "0006_error_bounds")]
    operations = [
        # The guard would refuse the update.
        INSTALL.reversed(),
        migrations.AddField(
            model_name="release",
            name="excerpt",
            field=models.JSONField(
                help_text="What pages show of all these numbers; none where nothing was released.", null=True
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        RELEASES.operation(),
    ]
