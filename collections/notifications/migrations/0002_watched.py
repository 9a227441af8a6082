"""Notifications begin with what happens after the installation was upgraded."""

from django.db import migrations


def begin(apps, editor):
    head = apps.get_model("audit", "Head").objects.first()
    if head is not None:
        apps.get_model("notifications", "Watched").objects.get_or_create(pk=1, defaults={"log_index": head.index})


class Migration(migrations.Migration):
    dependencies = [("notifications", "0001_initial"), ("audit", "0009_declared_actions")]

    operations = [migrations.RunPython(begin, migrations.RunPython.noop)]
