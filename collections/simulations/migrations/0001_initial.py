import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('recipes', '0001_initial'),
        ('series', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Simulation',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ('state', models.CharField(choices=[('running', 'Running'), ('reported', 'Reported'), ('cancelled', 'Cancelled'), ('failed', 'Failed')], default='running', max_length=10)),
                ('workload', models.JSONField(help_text='As asked for, but without the rows of a file.')),
                ('seed', models.TextField(help_text='Of all that the devices do: a whole number.')),
                ('seed_given', models.BooleanField(help_text='Whether it was chosen; else it is from `secrets`.')),
                ('at_once', models.PositiveIntegerField(help_text='Most chunks that workers have in hand; empty: as of recipes.', null=True)),
                ('devices', models.PositiveIntegerField(help_text='0 until a worker has read their file.')),
                ('done', models.PositiveIntegerField(default=0, help_text='Devices that have been simulated.')),
                ('totals', models.JSONField(default=dict, help_text='What they did, as `counted.as_json`.')),
                ('problem', models.CharField(blank=True, help_text='What went wrong last, as a clause.', max_length=300)),
                ('started_at', models.DateTimeField()),
                ('begun_at', models.DateTimeField(help_text='When workers were first sent its devices; empty while it is in line.', null=True)),
                ('estimated_seconds', models.FloatField(default=0.0, help_text='Work of its devices for one process, by constants; 0 if their number is unknown.')),
                ('try_number', models.PositiveIntegerField(help_text="Of a try, which browsers join: one more than the last one's.", null=True, unique=True)),
                ('ended_at', models.DateTimeField(help_text='When the last device had reported, or none will.', null=True)),
                ('recipe', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='recipes.recipe')),
            ],
            options={
                'ordering': ('-started_at',),
            },
        ),
        migrations.CreateModel(
            name='DeviceChunk',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ('first', models.PositiveIntegerField(help_text='Index of its first device, from 0.')),
                ('count', models.PositiveIntegerField(help_text='0 of a file that was not read yet.')),
                ('listed', models.BinaryField(help_text='The file, or devices of it in JSON.', null=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('send_after', models.DateTimeField(help_text='When to send its task again; empty before.', null=True)),
                ('simulation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to='simulations.simulation')),
            ],
            options={
                'ordering': ('first',),
            },
        ),
        migrations.AddIndex(
            model_name='simulation',
            index=models.Index(fields=['state'], name='simulations_state_985da1_idx'),
        ),
        migrations.AddIndex(
            model_name='devicechunk',
            index=models.Index(fields=['simulation', 'send_after'], name='simulations_simulat_2ab67c_idx'),
        ),
        migrations.CreateModel(
            name='SeriesSimulation',
            fields=[
                ('series', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='simulated_by', serialize=False, to='series.series')),
                ('draft', models.ForeignKey(help_text='Whose review it was started from; empty if there is none.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='recipes.recipe')),
                ('state', models.CharField(choices=[('running', 'Running'), ('finished', 'Finished'), ('cancelled', 'Cancelled'), ('failed', 'Failed')], default='running', max_length=10)),
                ('workload', models.JSONField(help_text='As asked for.')),
                ('seed', models.TextField(blank=True, help_text='Of the first round, then one more each; empty: random.')),
                ('problem', models.CharField(blank=True, help_text='What went wrong last, as a clause.', max_length=300)),
                ('started_at', models.DateTimeField()),
                ('failures', models.PositiveIntegerField(default=0, help_text='Failed attempts to begin the next round.')),
                ('retry_at', models.DateTimeField(help_text='When that is tried again; empty if none failed.', null=True)),
                ('ended_at', models.DateTimeField(null=True)),
            ],
            options={
                'ordering': ('-started_at',),
                'indexes': [models.Index(fields=['state'], name='simulations_state_4e2bde_idx')],
            },
        ),
    ]
