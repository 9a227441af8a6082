"""Other names in code; table and columns stay as they are."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("analyzer", "0001_intakes")]

    operations = [
        migrations.AlterModelTable("intake", "analyzer_intake"),
        migrations.RenameModel("Intake", "BatchFetch"),
        migrations.AlterField(
            "batchfetch",
            "farewell",
            models.CharField(
                blank=True,
                db_column="farewell",
                help_text="Why the shuffler is to delete it; empty while it is not.",
                max_length=200,
            ),
        ),
        migrations.RenameField("batchfetch", "farewell", "deletion_reason"),
    ]
