"""Intervals become a column: they come from exact tests now, which standard errors do not tell.

Earlier releases keep the normal approximation, but where they have several values it is of all together.
"""

from dataclasses import asdict

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from panprivacy.estimate import Estimate
from releases.excerpt import excerpt_made
from releases.guards import RELEASES


def fill(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    released = apps.get_model("releases", "Release").objects.filter(outcome="released")
    # One at a time: of 100,000 estimates each has megabytes.
    for pk in list(released.values_list("pk", flat=True)):
        row = released.filter(pk=pk)
        numbers = row.values("values", "standard_errors", "projection", "error_bounds").get()
        stated = row.values("standard_error_note", "confidence", "details").get()
        estimate = Estimate(
            **{name: tuple(found or ()) for name, found in numbers.items()},
            **{**stated, "details": stated["details"] or {}},
        )
        intervals = [asdict(interval) for interval in estimate.stated_intervals()]
        row.update(intervals=intervals, excerpt=excerpt_made(**numbers, intervals=intervals))


INSTALL = RELEASES.operation()


class Migration(migrations.Migration):
    dependencies = [("releases", "0007_excerpt")]
    operations = [
        # The guard would refuse the update.
        INSTALL.reversed(),
        migrations.AddField(
            model_name="release",
            name="intervals",
            field=models.JSONField(
                default=list, help_text="Each of all values together, with its `level`; the widest first."
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        RELEASES.operation(),
    ]
