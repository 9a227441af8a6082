from django.db import migrations

from reports.partitions import REPORTS
from storage.partition_functions import partition


class Migration(migrations.Migration):

    dependencies = [
        ('releases', '0001_initial'),
        ('reports', '0003_report_segments'),
    ]

    operations = [partition(REPORTS, owners="recipes_recipe")]
