from django.db import migrations

from dap.partitions import IDENTIFIERS
from storage.partition_functions import partition


class Migration(migrations.Migration):

    dependencies = [
        ('dap', '0002_rotating_keys'),
    ]

    operations = [partition(IDENTIFIERS, owners="dap_task")]
