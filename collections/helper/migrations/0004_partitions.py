from django.db import migrations

from helper.partitions import ANSWERS
from storage.partition_functions import partition


class Migration(migrations.Migration):

    dependencies = [
        ('dap', '0002_rotating_keys'),
        ('helper', '0003_rounds'),
    ]

    operations = [partition(ANSWERS, owners="dap_task")]
