"""The triggers that keep a release, and the truth of a simulation, as they were."""

from django.db import migrations

from releases.guards import RELEASES, TRUTHS


class Migration(migrations.Migration):
    dependencies = [("releases", "0001_initial")]
    operations = [RELEASES.operation(), TRUTHS.operation()]
