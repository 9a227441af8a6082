from django.db import migrations

from leader.partitions import WAITING
from storage.partition_functions import partition


class Migration(migrations.Migration):

    dependencies = [
        ('dap', '0002_rotating_keys'),
        ('leader', '0005_signed_counts'),
    ]

    operations = [partition(WAITING, owners="dap_task")]
