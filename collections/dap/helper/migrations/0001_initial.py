import django.db.models.deletion
from django.db import migrations, models
from dap.helper.partitions import ANSWERS
from storage.partition_functions import partition


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('dap', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='ShareKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('request', models.BinaryField(help_text='Chosen by the leader.', max_length=16, unique=True)),
                ('scheme', models.CharField(max_length=40)),
                ('public', models.JSONField(help_text='Public key, as in a recipe.')),
                ('sealed', models.BinaryField(help_text='Private key, under the key-encryption key.')),
                ('created_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='SignedCount',
            fields=[
                ('task', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='+', serialize=False, to='dap.task')),
                ('reports', models.PositiveBigIntegerField(help_text="As published, with the leader's noise.")),
            ],
        ),
        migrations.CreateModel(
            name='AggregationJob',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('resource_id', models.BinaryField(help_text='Chosen by the leader, or beginning of the SHA-256 of task and request.', max_length=16)),
                ('digest', models.BinaryField(default=b'', help_text='SHA-256 of task and request, if the leader chose.', max_length=32)),
                ('answer', models.BinaryField()),
                ('task', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='dap.task')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('task', 'resource_id'), name='one_answer_per_job')],
            },
        ),
        migrations.CreateModel(
            name='ReleasedShare',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('resource_id', models.BinaryField(help_text='Chosen by the leader, or beginning of the SHA-256 of task and request.', max_length=16)),
                ('digest', models.BinaryField(default=b'', help_text='SHA-256 of task and request, if the leader chose.', max_length=32)),
                ('answer', models.BinaryField()),
                ('task', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='dap.task')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('task', 'resource_id'), name='one_answer_per_share')],
            },
        ),
        migrations.CreateModel(
            name='RoundTask',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rounds', models.BinaryField(help_text='SHA-256 of the document of all rounds.', max_length=32)),
                ('number', models.PositiveIntegerField(help_text='Of the round, from 1.')),
                ('task', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='dap.task')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('rounds', 'number'), name='one_task_per_round')],
            },
        ),
        partition(ANSWERS),
    ]
