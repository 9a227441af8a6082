import django.db.models.deletion
from django.db import migrations, models
from dap.partitions import IDENTIFIERS
from storage.partition_functions import partition


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='HpkeKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('config_id', models.PositiveSmallIntegerField(help_text='0 to 255.', unique=True)),
                ('kem', models.CharField(choices=[('x-wing', 'x-wing'), ('x25519', 'x25519')], max_length=10)),
                ('config', models.BinaryField(help_text='What is handed out, encoded.')),
                ('sealed', models.BinaryField(help_text='Private key, under the key-encryption key.')),
                ('created_at', models.DateTimeField()),
                ('retired_at', models.DateTimeField(null=True)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Task',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('task_id', models.BinaryField(max_length=32)),
                ('side', models.CharField(choices=[('leader', 'Leader'), ('helper', 'Helper')], help_text='What this process is in the task.', max_length=6)),
                ('state', models.CharField(choices=[('open', 'Takes reports'), ('closed', 'Takes no more reports'), ('ended', 'Ended')], default='open', max_length=6)),
                ('configuration', models.BinaryField(help_text='Encoded TaskConfiguration.')),
                ('collector_config', models.BinaryField(help_text='Encoded HpkeConfig of the collector.')),
                ('peer_url', models.CharField(help_text='Base address of the other aggregator.', max_length=500)),
                ('peer_key', models.BinaryField(help_text='Its Ed25519 verification key; empty if it bears a token.', max_length=32)),
                ('dialect', models.CharField(default='draft-18', help_text='How both speak.', max_length=10)),
                ('document', models.TextField(blank=True, help_text='Canonical JSON of the recipe; empty for a plain task.')),
                ('verify_key', models.BinaryField(help_text='VDAF verification key, sealed.', null=True)),
                ('share_key', models.BinaryField(help_text='Private key of pan-private shares, sealed; a plain task has none.', null=True)),
                ('peer_token', models.BinaryField(help_text="The leader's token for the helper, or the helper's hash of it, sealed.", null=True)),
                ('created_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('outcome', models.CharField(blank=True, help_text='Why it ended, or cannot but end, in words.', max_length=300)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('task_id', 'side'), name='one_task_per_side')],
            },
        ),
        migrations.CreateModel(
            name='AggregatedReport',
            fields=[
                ('pk', models.CompositePrimaryKey('task_id', 'report_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('report_id', models.BinaryField(max_length=16)),
                ('task', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='dap.task')),
            ],
        ),
        migrations.CreateModel(
            name='ReportRejection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('side', models.CharField(choices=[('leader', 'Leader'), ('helper', 'Helper')], help_text='Who rejected them.', max_length=6)),
                ('reason', models.CharField(max_length=40)),
                ('count', models.PositiveBigIntegerField(default=0)),
                ('task', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='rejections', to='dap.task')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('task', 'side', 'reason'), name='one_count_per_side_and_reason')],
            },
        ),
        migrations.CreateModel(
            name='CollectedInterval',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('start', models.PositiveBigIntegerField(help_text='First time, in units of the time precision.')),
                ('end', models.PositiveBigIntegerField(help_text='First time after it.')),
                ('task', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='collected_intervals', to='dap.task')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('start__lt', models.F('end'))), name='interval_is_not_empty'), models.UniqueConstraint(fields=('task', 'start'), name='one_collection_per_start')],
            },
        ),
        migrations.CreateModel(
            name='BatchBucket',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('identifier', models.BinaryField(help_text='Encoded Interval, or the 32-byte batch identifier.', max_length=32)),
                ('aggregate_share', models.BinaryField(help_text='Encoded; empty once the task has ended.')),
                ('report_count', models.PositiveBigIntegerField(default=0)),
                ('checksum', models.BinaryField(help_text='XOR of the SHA-256 of every report identifier.', max_length=32)),
                ('first_time', models.PositiveBigIntegerField(help_text='In units of the time precision.', null=True)),
                ('last_time', models.PositiveBigIntegerField(null=True)),
                ('collected', models.BooleanField(default=False, help_text='It is complete: nothing is added.')),
                ('task', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='buckets', to='dap.task')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('task', 'identifier'), name='one_bucket_per_identifier')],
            },
        ),
        partition(IDENTIFIERS),
    ]
