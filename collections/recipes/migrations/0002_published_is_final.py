"""The triggers that keep a published recipe as it was published."""

from django.db import migrations

from recipes.guards import PUBLISHED_AT_FIRST


class Migration(migrations.Migration):
    dependencies = [("recipes", "0001_initial")]
    operations = [PUBLISHED_AT_FIRST.operation()]
