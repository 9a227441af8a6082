"""The triggers that keep a release as it was released."""

from django.db import migrations

from releases.guards import RELEASES


class Migration(migrations.Migration):
    dependencies = [("releases", "0001_initial")]
    operations = [RELEASES.operation()]
