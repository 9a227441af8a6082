"""Another name in code; the table stays as it is."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("leader", "0001_initial")]

    operations = [
        migrations.AlterModelTable("farewell", "leader_farewell"),
        migrations.RenameModel("Farewell", "EndNotice"),
    ]
