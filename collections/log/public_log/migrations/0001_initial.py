import django.db.models.deletion
from django.db import migrations, models
from log.public_log.guards import GUARDS


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='AskedWitness',
            fields=[
                ('witness', models.CharField(max_length=200, primary_key=True, serialize=False)),
                ('size', models.BigIntegerField(default=0)),
                ('failing_since', models.DateTimeField(null=True)),
                ('last_error', models.CharField(blank=True, max_length=200)),
            ],
        ),
        migrations.CreateModel(
            name='Fork',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('origin', models.CharField(max_length=200)),
                ('size', models.BigIntegerField()),
                ('known', models.TextField()),
                ('other', models.TextField()),
                ('found_at', models.DateTimeField()),
            ],
            options={
                'ordering': ('pk',),
            },
        ),
        migrations.CreateModel(
            name='Leaf',
            fields=[
                ('position', models.BigIntegerField(help_text="From 0; the entry's index less one.", primary_key=True, serialize=False)),
                ('content', models.TextField(help_text='Canonical JSON (RFC 8785).')),
            ],
            options={
                'verbose_name_plural': 'leaves',
                'ordering': ('position',),
            },
        ),
        migrations.CreateModel(
            name='SignedCheckpoint',
            fields=[
                ('size', models.BigIntegerField(primary_key=True, serialize=False)),
                ('note', models.TextField(help_text="The checkpoint and the log's signature.")),
            ],
            options={
                'ordering': ('-size',),
            },
        ),
        migrations.CreateModel(
            name='Tree',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('origin', models.CharField(max_length=200)),
                ('size', models.BigIntegerField(default=0)),
                ('key', models.CharField(blank=True, default='', max_length=44)),
            ],
        ),
        migrations.CreateModel(
            name='WitnessedLog',
            fields=[
                ('origin', models.CharField(max_length=200, primary_key=True, serialize=False)),
                ('size', models.BigIntegerField(default=0)),
                ('note', models.TextField(blank=True, help_text='The checkpoint with its signatures, ours among them.')),
            ],
        ),
        migrations.CreateModel(
            name='LostState',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('size', models.BigIntegerField()),
                ('witness', models.CharField(max_length=200)),
                ('note', models.TextField()),
                ('found_at', models.DateTimeField()),
                ('decided_at', models.DateTimeField(null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('size', 'witness'), name='one_lost_state_per_witness')],
            },
        ),
        migrations.CreateModel(
            name='Tile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('level', models.PositiveSmallIntegerField()),
                ('index', models.BigIntegerField()),
                ('hashes', models.BinaryField()),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('level', 'index'), name='one_tile_per_place')],
            },
        ),
        migrations.CreateModel(
            name='Cosignature',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('witness', models.CharField(max_length=200)),
                ('line', models.TextField(help_text='Exactly as below the checkpoint.')),
                ('checkpoint', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='cosignatures', to='public_log.signedcheckpoint')),
            ],
            options={
                'ordering': ('witness',),
                'constraints': [models.UniqueConstraint(fields=('checkpoint', 'witness'), name='one_cosignature_per_witness')],
            },
        ),
        *(guard.operation() for guard in GUARDS),
    ]
