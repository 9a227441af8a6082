"""The triggers that keep a published recipe as it was published."""

from django.db import migrations

from recipes.guards import PUBLISHED


class Migration(migrations.Migration):
    dependencies = [("recipes", "0001_initial")]
    operations = [PUBLISHED.operation()]
