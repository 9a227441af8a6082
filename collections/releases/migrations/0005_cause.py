"""Why nothing was released becomes a column of its own; so far the beginning of the sentence told."""

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from releases.guards import RELEASES

TOO_FEW = "fewer valid reports than the cohort size"
INCOMPUTABLE = "the estimate cannot be computed with these parameters"


def fill(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    withheld = apps.get_model("releases", "Release").objects.filter(outcome="withheld")
    withheld.update(cause="refused")
    withheld.filter(reason=INCOMPUTABLE).update(cause="incomputable")
    withheld.filter(reason__startswith=TOO_FEW).update(cause="too_few")


INSTALL = RELEASES.operation()


class Migration(migrations.Migration):
    dependencies = [("releases", "0004_servers")]
    operations = [
        # SQLite makes the table anew, and the guard would refuse the update.
        INSTALL.reversed(),
        migrations.AddField(
            model_name="release",
            name="cause",
            field=models.CharField(
                blank=True,
                choices=[
                    ("too_few", "Fewer valid reports than the cohort size"),
                    ("refused", "No sum can be had"),
                    ("given_up", "Given up by whoever runs the collection"),
                    ("incomputable", "No estimate can be computed"),
                ],
                default="",
                help_text="Kind of withholding; empty if released.",
                max_length=12,
            ),
            preserve_default=False,
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        RELEASES.operation(),
    ]
