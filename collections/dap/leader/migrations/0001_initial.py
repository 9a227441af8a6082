import django.db.models.deletion
import uuid
from django.db import migrations, models
from dap.leader.partitions import WAITING
from storage.partition_functions import partition


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('dap', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Collector',
            fields=[
                ('task', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='collector', serialize=False, to='dap.task')),
                ('hpke_key', models.BinaryField(help_text='HPKE private key, sealed, if this process is the collector.', null=True)),
                ('verification_key', models.BinaryField(help_text='Ed25519 key of a collector elsewhere, who signs its requests.', max_length=32, null=True)),
                ('token', models.BinaryField(help_text='Hash of the token that a collector elsewhere bears instead, sealed.', null=True)),
                ('collects_on_close', models.BooleanField(default=False, help_text='Collected by itself, once, when it takes no more reports.')),
            ],
        ),
        migrations.CreateModel(
            name='CountNoise',
            fields=[
                ('task', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='+', serialize=False, to='dap.task')),
                ('noise', models.BigIntegerField()),
                ('margin', models.PositiveBigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='EndNotice',
            fields=[
                ('send_after', models.DateTimeField()),
                ('attempts', models.PositiveIntegerField(default=0, help_text='That failed, one after the other.')),
                ('waiting_since', models.DateTimeField(help_text='When the helper first promised its answer for later.', null=True)),
                ('failing_since', models.DateTimeField(null=True)),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('location', models.CharField(blank=True, help_text="Where the helper's answer will be, if it answers later.", max_length=500)),
                ('task', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='+', serialize=False, to='dap.task')),
                ('reason', models.CharField(max_length=300)),
            ],
            options={
                'db_table': 'leader_farewell',
            },
        ),
        migrations.CreateModel(
            name='HelperCount',
            fields=[
                ('task', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='+', serialize=False, to='dap.task')),
                ('report_count', models.PositiveBigIntegerField()),
                ('signature', models.BinaryField(help_text='Of the number that is published, by the helper; as it came.', max_length=64, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Planning',
            fields=[
                ('task', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='+', serialize=False, to='dap.task')),
                ('planned_at', models.DateTimeField(help_text='When all that waited was put into jobs.')),
                ('batch_id', models.BinaryField(help_text='The batch to which jobs add now (leader-selected mode).', max_length=32, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Registration',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('task_id', models.BinaryField(max_length=32, unique=True)),
                ('helper_url', models.CharField(max_length=500)),
                ('helper_key', models.BinaryField(help_text="The helper's Ed25519 verification key.", max_length=32)),
                ('leader_url', models.CharField(help_text='Our own base address, as it was told.', max_length=500)),
                ('created_at', models.DateTimeField()),
                ('abandoned_at', models.DateTimeField(help_text='From when on it can be begun no more.', null=True)),
            ],
        ),
        migrations.CreateModel(
            name='AggregationJob',
            fields=[
                ('send_after', models.DateTimeField()),
                ('attempts', models.PositiveIntegerField(default=0, help_text='That failed, one after the other.')),
                ('waiting_since', models.DateTimeField(help_text='When the helper first promised its answer for later.', null=True)),
                ('failing_since', models.DateTimeField(null=True)),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('location', models.CharField(blank=True, help_text="Where the helper's answer will be, if it answers later.", max_length=500)),
                ('id', models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ('batch_id', models.BinaryField(help_text='Of the leader-selected batch mode.', max_length=32, null=True)),
                ('count', models.PositiveIntegerField(help_text='Reports taken in; once prepared, reports in the request.')),
                ('first_time', models.PositiveBigIntegerField()),
                ('last_time', models.PositiveBigIntegerField()),
                ('request', models.BinaryField(help_text='Encoded AggregationJobInitReq, as it is sent.', null=True)),
                ('states', models.BinaryField(help_text="The leader's state of every report of the request.", null=True)),
                ('task', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='dap.task')),
            ],
            options={
                'indexes': [models.Index(fields=['send_after'], name='leader_aggr_send_af_1c008e_idx')],
            },
        ),
        migrations.CreateModel(
            name='CollectionJob',
            fields=[
                ('send_after', models.DateTimeField()),
                ('attempts', models.PositiveIntegerField(default=0, help_text='That failed, one after the other.')),
                ('waiting_since', models.DateTimeField(help_text='When the helper first promised its answer for later.', null=True)),
                ('failing_since', models.DateTimeField(null=True)),
                ('last_error', models.CharField(blank=True, max_length=300)),
                ('location', models.CharField(blank=True, help_text="Where the helper's answer will be, if it answers later.", max_length=500)),
                ('id', models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ('state', models.CharField(choices=[('waiting', 'Waits for reports'), ('asking', 'Asks the helper for its share'), ('ready', 'Ready'), ('failed', 'Refused'), ('deleted', 'Deleted by the collector')], default='waiting', max_length=7)),
                ('request', models.BinaryField(help_text='Encoded CollectionJobReq.')),
                ('digest', models.BinaryField(help_text='SHA-256 of `request`, and the identifier if the collector chose one.', max_length=32)),
                ('start', models.PositiveBigIntegerField(help_text='In units of the time precision.', null=True)),
                ('end', models.PositiveBigIntegerField(help_text='First time after it.', null=True)),
                ('batch_id', models.BinaryField(max_length=32, null=True)),
                ('uploads_until', models.PositiveBigIntegerField(default=0, help_text='Uploads up to this key are waited for, while the task takes more.')),
                ('share_request', models.BinaryField(help_text='Encoded AggregateShareReq, as it is sent.', null=True)),
                ('leader_share', models.BinaryField(help_text='HpkeCiphertext to the collector.', null=True)),
                ('report_count', models.PositiveBigIntegerField(null=True)),
                ('first_time', models.PositiveBigIntegerField(null=True)),
                ('span', models.PositiveBigIntegerField(help_text='Of the times of its reports.', null=True)),
                ('response', models.BinaryField(help_text='Encoded CollectionJobResp.', null=True)),
                ('problem', models.CharField(blank=True, help_text='A DAP error, e.g. invalidBatchSize.', max_length=40)),
                ('detail', models.CharField(blank=True, help_text='In words.', max_length=300)),
                ('task', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='collection_jobs', to='dap.task')),
            ],
            options={
                'indexes': [models.Index(fields=['state', 'send_after'], name='leader_coll_state_f6fae1_idx')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'deleted'), _negated=True), fields=('task', 'digest'), name='one_collection_job_per_request')],
            },
        ),
        migrations.CreateModel(
            name='Uploads',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('job', models.UUIDField(db_index=True, help_text='The aggregation job that takes them in.', null=True)),
                ('count', models.PositiveIntegerField()),
                ('size', models.PositiveIntegerField(help_text='Bytes of `payload`.')),
                ('first_time', models.PositiveBigIntegerField(help_text='In units of the time precision.')),
                ('last_time', models.PositiveBigIntegerField()),
                ('not_before', models.DateTimeField(help_text='Not planned earlier: they came too early.', null=True)),
                ('config_ids', models.BinaryField(help_text='HPKE configurations to which they are sealed for us, a byte each.', max_length=256)),
                ('payload', models.BinaryField()),
                ('task', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='dap.task')),
            ],
            options={
                'indexes': [models.Index(fields=['task', 'job'], name='leader_uplo_task_id_4cab02_idx')],
            },
        ),
        partition(WAITING),
    ]
